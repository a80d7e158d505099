#pragma once

#include <vector>

#include "codegen/schedule/facts.h"
#include "codegen/schedule/schedule.h"

// For tests that force schedules.

namespace ingot::codegen {

/// The properties of a kernel on a target, and its lazy `where`s.
struct KernelProperties {
  KernelFacts facts;
  std::vector<ir::NodeId> wheres;
};
/// `layout` is as `relevant_to` the target.
KernelProperties properties_of(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout,
                               const Target& target, Lazy lazy);

/// The schedules of a kernel that reduces nothing, with other numbers of threads and elements per thread. All give the
/// same bits.
std::vector<Schedule> allowed_pointwise_schedules(const KernelOutline& outline, const KernelLayout& layout,
                                                  const KernelFacts& facts, const Target& target);

}  // namespace ingot::codegen
