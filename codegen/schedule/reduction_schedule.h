#pragma once

#include <vector>

#include "codegen/schedule/facts.h"
#include "codegen/schedule/schedule.h"

// The schedules of kernels that reduce. `layout` is as `relevant_to` the target, and `facts` are the properties of the
// kernel on the target, with its lazy `where`s.

namespace ingot::codegen {

/// The schedule that the policy chooses (row_policy.h).
Schedule reduction_schedule(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout,
                            const KernelFacts& facts, const Target& target);

/// The policy's schedule, and many others that break no rule (valid.h). All give the same bits.
std::vector<Schedule> allowed_reduction_schedules(const ir::Graph& graph, const KernelOutline& outline,
                                                  const KernelLayout& layout, const KernelFacts& facts,
                                                  const Target& target);

}  // namespace ingot::codegen
