#pragma once

#include "codegen/kernel/kernel.h"
#include "codegen/schedule/schedule.h"

namespace ingot::codegen {

/// The kernel that a schedule says. `graph` must be the one that the outline was made of. Errors: Error(Author) where
/// it would take more arguments than the target can pass.
Kernel build(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout, const Schedule& schedule,
             const Target& target, const Options& options);

}  // namespace ingot::codegen
