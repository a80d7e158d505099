#pragma once

#include "codegen/schedule/facts.h"
#include "codegen/schedule/schedule.h"

// The schedules of kernels that reduce.

namespace ingot::codegen {

/// A kernel that reduces, as the rules see it.
struct ReductionKernel {
  const ir::Graph& graph;
  const KernelOutline& outline;
  const KernelLayout& layout;  ///< as `relevant_to` the target
  const KernelFacts& facts;    ///< on the target, with the kernel's lazy `where`s
  const Target& target;
};

/// The schedule that the rules choose (row_policy.h).
Schedule reduction_schedule(const ReductionKernel& kernel);

/// Adds the accesses and the cached values to a schedule whose loop maps and residency are known.
Schedule completed(Schedule schedule, const ReductionKernel& kernel);

}  // namespace ingot::codegen
