#pragma once

#include <vector>

#include "codegen/kernel/kernel.h"
#include "codegen/schedule/schedule.h"

namespace ingot::codegen {

/// Builds the kernels of a schedule, in launch order: one, or two if rows are split. `graph` must be the graph from
/// which the outline was made. Errors: Error(Author) if a kernel would take more arguments than the target can pass;
/// Error(Internal) if the schedule breaks a rule (schedule/valid.h), which the message names.
std::vector<Kernel> build(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout,
                          const Schedule& schedule, const Target& target, const Options& options);

}  // namespace ingot::codegen
