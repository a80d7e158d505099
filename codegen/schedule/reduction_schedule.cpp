#include "codegen/schedule/reduction_schedule.h"

#include <utility>

#include "codegen/schedule/cost.h"
#include "codegen/schedule/policy.h"
#include "codegen/schedule/row_policy.h"

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

/// The nodes of `shared` whose values fit, as `fits` says of the bytes of all of them per element.
template <typename Fits>
std::vector<ir::NodeId> cached_values(const ReductionKernel& kernel, const std::vector<ir::NodeId>& shared, Fits fits) {
  std::vector<ir::NodeId> cached;
  uint32_t cached_bytes = 0;
  for (const ir::NodeId id : shared) {
    const auto bytes = static_cast<uint32_t>(ir::size_of(kernel.graph[id].dtype));
    if (kernel.facts.has_regions || !fits(cached_bytes + bytes)) continue;
    cached.push_back(id);
    cached_bytes += bytes;
  }
  return cached;
}

// The CPU

void complete_on_cpu(Schedule& schedule, const ReductionKernel& kernel) {
  const auto& [graph, outline, layout, facts, target] = kernel;
  const bool is_across = schedule.is_across();
  schedule.index_bits = 64;
  schedule.residency.has_blocked_accumulators = cpu_blocks_accumulators(schedule, layout);
  schedule.weight = cpu_weight(facts.cost, static_cast<uint32_t>(outline.accesses.size()));
  schedule.residency.cached = cached_values(kernel, shared_by_phases(graph, outline, layout), [&](uint32_t bytes) {
    return cpu_can_cache(layout, schedule.kept().count(Scope::Vector), bytes);
  });
  for (const AccessFacts& access : facts.accesses)
    schedule.accesses.push_back(
        {.how = is_across && cpu_copies_to_buffer(access, facts, layout) ? How::Staged
                : access.varies_in_row                                   ? How::Single
                                                                         : How::Fixed,
         .is_masked = access.is_masked,
         .is_prefetched = !schedule.residency.cached.empty() && !is_across && cpu_prefetches(access, layout)});
}

// CUDA

How how_on_cuda(const AccessFacts& access, const Schedule& schedule, const ReductionKernel& kernel) {
  const uint32_t lanes = schedule.lanes();
  const bool is_across = schedule.is_across();
  const bool is_vector = is_across ? is_vector_across_rows(access, kernel.layout, lanes)
                                   : access.varies_in_row && is_vector_in_row(access, kernel.facts, lanes);
  if (schedule.residency.batch > 0 && can_be_batched(access, schedule.residency.batch)) return How::Batched;
  if (schedule.has_partial_vectors && access.varies_in_row && access.kind == Kind::Load) return How::Shifted;
  if (!is_across && access.is_grouped && is_element_wise(access)) return How::Grouped;
  if (lanes > 1 && is_vector) return How::Vector;
  return access.varies_in_row ? How::Single : How::Fixed;
}

AccessSchedule access_on_cuda(uint32_t a, const Schedule& schedule, const ReductionKernel& kernel) {
  const auto& [graph, outline, layout, facts, target] = kernel;
  const AccessFacts& access = facts.accesses[a];
  AccessSchedule result{.how = how_on_cuda(access, schedule, kernel),
                        .is_masked = access.is_masked,
                        .is_loaded_ahead = cuda_reads_ahead(access, facts, schedule)};
  const bool is_group = !schedule.is_across() && access.is_grouped && is_element_wise(access);
  if (!is_group || layout.accesses[a].leader != a) return result;
  result.group_vectors = group_vectors_of(outline, layout, a);
  const uint32_t runs = schedule.reduced().count(Scope::Serial);
  const bool loads_together = schedule.residency.steps == 0 && schedule.lanes() == 1 && runs > 1 &&
                              runs <= kRunsAhead && stores_elements(facts);
  result.is_hoisted = loads_together && should_hoist(access, result.group_vectors, runs);
  return result;
}

void complete_on_cuda(Schedule& schedule, const ReductionKernel& kernel) {
  const auto& [graph, outline, layout, facts, target] = kernel;
  schedule.index_bits = layout.index_bits;
  schedule.residency.cached =
      cached_values(kernel, shared_by_phases(graph, outline, layout, schedule.speculative_phase),
                    [&](uint32_t bytes) { return cuda_can_cache(schedule, bytes); });
  for (uint32_t a = 0; a < facts.accesses.size(); ++a) schedule.accesses.push_back(access_on_cuda(a, schedule, kernel));
  schedule.residency.computes_past_end = cuda_computes_past_end(facts, schedule);
}

}  // namespace

Schedule reduction_schedule(const ReductionKernel& kernel) {
  const bool has_several_phases = kernel.outline.phases() > 1;
  if (kernel.target.cuda()) return completed(cuda_rows(kernel.facts, kernel.layout, has_several_phases), kernel);
  return completed({.loop_maps = cpu_rows(kernel.facts, kernel.layout, has_several_phases)}, kernel);
}

Schedule completed(Schedule schedule, const ReductionKernel& kernel) {
  kernel.target.cuda() ? complete_on_cuda(schedule, kernel) : complete_on_cpu(schedule, kernel);
  return schedule;
}

}  // namespace ingot::codegen
