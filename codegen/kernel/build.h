#pragma once

#include <vector>

#include "codegen/kernel/kernel.h"
#include "codegen/schedule/schedule.h"

namespace ingot::codegen {

/// The kernels that a schedule says, in the order in which they run: one, or two where rows are split. `graph` must be
/// the one that the outline was made of. Errors: Error(Author) where one would take more arguments than the target can
/// pass.
std::vector<Kernel> build(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout,
                          const Schedule& schedule, const Target& target, const Options& options);

}  // namespace ingot::codegen
