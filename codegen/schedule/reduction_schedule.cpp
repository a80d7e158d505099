#include "codegen/schedule/reduction_schedule.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "codegen/schedule/cost.h"
#include "codegen/schedule/policy.h"
#include "codegen/schedule/row_policy.h"
#include "codegen/schedule/valid.h"

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

/// A kernel, as the rules see it.
struct Reduction {
  const ir::Graph& graph;
  const KernelOutline& outline;
  const KernelLayout& layout;
  const KernelFacts& facts;
  const Target& target;

  uint32_t row_axes() const { return layout.rank - layout.reduced_axes; }
};

/// Adds to `cached` the nodes of `shared` whose values fit, as `fits` says of the bytes of all of them per element.
template <typename Fits>
void cache_while(Fits fits, std::vector<ir::NodeId>& cached, const std::vector<ir::NodeId>& shared,
                 const Reduction& kernel) {
  uint32_t cached_bytes = 0;
  for (const ir::NodeId id : shared) {
    const auto bytes = static_cast<uint32_t>(ir::size_of(kernel.graph[id].dtype));
    if (kernel.facts.has_regions || !fits(cached_bytes + bytes)) continue;
    cached.push_back(id);
    cached_bytes += bytes;
  }
}

// The CPU

/// Completes a schedule whose `rows` and `lanes` are known: its accesses, cached values and loop maps.
Schedule completed_on_cpu(Schedule schedule, const Reduction& kernel) {
  const auto& [graph, outline, layout, facts, target] = kernel;
  schedule.index_bits = 64;
  schedule.weight = cpu_weight(facts.cost, static_cast<uint32_t>(outline.accesses.size()));
  const bool across = schedule.rows.across;
  for (const AccessFacts& access : facts.accesses)
    schedule.accesses.push_back({.how = across && cpu_copies_to_buffer(access, facts, layout) ? How::Staged
                                        : access.varies_in_row                                ? How::Single
                                                                                              : How::Fixed,
                                 .is_masked = access.is_masked});
  cache_while([&](uint32_t bytes) { return cpu_can_cache(layout, schedule.lanes, bytes); }, schedule.rows.cached,
              shared_by_phases(graph, outline, layout), kernel);
  const uint32_t row_axes = kernel.row_axes();
  if (row_axes > 0) schedule.loop_maps.push_back({0, row_axes, {{Scope::Grid}, {Scope::Serial}}});
  if (across) schedule.loop_maps.back().steps.back() = {Scope::Vector, schedule.lanes};
  if (layout.reduced_axes > 0) {
    schedule.loop_maps.push_back({row_axes, layout.reduced_axes, {{Scope::Serial}}});
    if (!across) schedule.loop_maps.back().steps.push_back({Scope::Vector});
  }
  return schedule;
}

Schedule chosen_on_cpu(const Reduction& kernel) {
  Schedule schedule;
  schedule.rows = cpu_rows(kernel.facts, kernel.layout, kernel.outline.phases() > 1);
  schedule.lanes = cpu_row_lanes(kernel.facts, kernel.layout, schedule.rows);
  return completed_on_cpu(std::move(schedule), kernel);
}

// CUDA

AccessSchedule::How how_on_cuda(const AccessFacts& access, const Schedule& schedule, const Reduction& kernel) {
  const bool across = schedule.rows.across;
  const bool is_vector = across ? is_vector_across_rows(access, kernel.layout, schedule.lanes)
                                : access.varies_in_row && is_vector_in_row(access, kernel.facts, schedule.lanes);
  if (schedule.rows.batch > 0 && can_be_batched(access, schedule.rows.batch)) return How::Batched;
  if (schedule.has_partial_vectors && access.varies_in_row && access.kind == Kind::Load) return How::Shifted;
  if (!across && access.is_grouped && is_element_wise(access)) return How::Grouped;
  if (schedule.lanes > 1 && is_vector) return How::Vector;
  return access.varies_in_row ? How::Single : How::Fixed;
}

AccessSchedule access_on_cuda(uint32_t a, const Schedule& schedule, const Reduction& kernel) {
  const auto& [graph, outline, layout, facts, target] = kernel;
  const AccessFacts& access = facts.accesses[a];
  AccessSchedule result{.how = how_on_cuda(access, schedule, kernel),
                        .is_masked = access.is_masked,
                        .is_loaded_ahead = cuda_reads_ahead(access, facts, schedule.rows, schedule.lanes)};
  const bool is_group = !schedule.rows.across && access.is_grouped && is_element_wise(access);
  if (!is_group || layout.accesses[a].leader != a) return result;
  result.group_vectors = group_vectors_of(outline, layout, a);
  const uint32_t vectors = schedule.rows.accumulators / schedule.rows.chunks / schedule.rows.threads;
  const bool loads_together =
      schedule.rows.steps == 0 && schedule.lanes == 1 && vectors > 1 && vectors <= kRunsAhead && stores_elements(facts);
  result.is_hoisted = loads_together && should_hoist(access, result.group_vectors, vectors);
  return result;
}

/// Completes a schedule whose mapping is known (broken_mapping_rule): its accesses, cached values and loop maps.
Schedule completed_on_cuda(Schedule schedule, const Reduction& kernel) {
  const auto& [graph, outline, layout, facts, target] = kernel;
  const bool across = schedule.rows.across;
  const uint32_t row_axes = kernel.row_axes(), rows_of_block = schedule.threads / schedule.rows.threads;
  schedule.index_bits = layout.index_bits;
  cache_while([&](uint32_t bytes) { return cuda_can_cache(schedule.rows, schedule.lanes, bytes); },
              schedule.rows.cached, shared_by_phases(graph, outline, layout, schedule.rows.speculative_phase), kernel);
  for (uint32_t a = 0; a < facts.accesses.size(); ++a) schedule.accesses.push_back(access_on_cuda(a, schedule, kernel));
  if (row_axes > 0) {
    schedule.loop_maps.push_back({0, row_axes, {{Scope::Grid}, {Scope::Block, rows_of_block}}});
    if (across && schedule.lanes > 1) schedule.loop_maps.back().steps.push_back({Scope::Vector, schedule.lanes});
  }
  if (layout.reduced_axes > 0)
    schedule.loop_maps.push_back(
        {row_axes,
         layout.reduced_axes,
         {{Scope::Serial}, {Scope::Block, schedule.rows.threads}, {Scope::Vector, across ? 1 : schedule.lanes}}});
  return schedule;
}

Schedule chosen_on_cuda(const Reduction& kernel) {
  const auto& [graph, outline, layout, facts, target] = kernel;
  Schedule schedule;
  schedule.rows = cuda_rows(facts, layout, outline.phases() > 1);
  const RowSchedule& rows = schedule.rows;
  const bool has_several_phases = rows.speculative_phase > 0 ? outline.phases() > 2 : outline.phases() > 1;
  schedule.lanes = cuda_row_lanes(facts, layout, rows);
  schedule.has_partial_vectors = cuda_vectors_may_cross_rows(facts, layout, rows, schedule.lanes);
  const uint32_t lanes_of_rows = rows.across ? schedule.lanes : 1;
  schedule.threads = cuda_rows_of_block(rows, schedule.lanes, has_several_phases) / lanes_of_rows * rows.threads;
  return completed_on_cuda(std::move(schedule), kernel);
}

// Enumeration: lists of values for each choice, all combinations that break no rule.

/// The most elements of a row that a thread caches in the enumerated schedules, and the most accumulators that it has.
/// More would take long to compile.
constexpr uint32_t kMostElements = 64;

/// A change of a schedule.
using Change = std::function<void(Schedule&)>;

/// Replaces each schedule by the schedules that one of the changes makes of it.
void vary(std::vector<Schedule>& schedules, const std::vector<Change>& changes) {
  std::vector<Schedule> varied;
  for (const Schedule& schedule : schedules)
    for (const Change& change : changes) change(varied.emplace_back(schedule));
  schedules = std::move(varied);
}

/// Changes that set a number of `rows` to one of the values.
std::vector<Change> each_of(uint32_t RowSchedule::*field, std::initializer_list<uint32_t> values) {
  std::vector<Change> changes;
  for (const uint32_t value : values)
    changes.push_back([field, value](Schedule& schedule) { schedule.rows.*field = value; });
  return changes;
}

std::vector<Change> each_lanes(std::initializer_list<uint32_t> values) {
  std::vector<Change> changes;
  for (const uint32_t value : values) changes.push_back([value](Schedule& schedule) { schedule.lanes = value; });
  return changes;
}

/// Sets the steps to as few as cover a row, and the unguarded steps to as many as possible.
void cover_row(Schedule& schedule, const KernelLayout& layout) {
  const auto [most, least] = lengths_of(layout);
  const uint64_t step = elements_of_step(schedule.rows, schedule.lanes);
  schedule.rows.steps = static_cast<uint32_t>((most + step - 1) / step);
  schedule.rows.unguarded_steps = static_cast<uint32_t>(least / step);
}

/// Where the elements of a row are between phases: in memory, in registers, partly in shared memory, or, with blocked
/// accumulators, in the registers of one run; or in shared memory for a warp's rows.
std::vector<Change> each_residency(const KernelLayout& layout) {
  const auto registers = [&layout](Schedule& schedule) { cover_row(schedule, layout); };
  const auto shared = [=](Schedule& schedule) {
    registers(schedule);
    schedule.rows.shared_steps = schedule.rows.steps / 2;
  };
  const auto most_shared = [=](Schedule& schedule) {
    registers(schedule);
    schedule.rows.shared_steps = schedule.rows.steps - 1;
  };
  const auto blocked = [=](Schedule& schedule) {
    schedule.rows.has_blocked_accumulators = true;
    registers(schedule);
  };
  const auto batched = [=](Schedule& schedule) {
    constexpr uint32_t kWarp = 32;
    schedule.rows.batch = std::max(1u, kWarp / schedule.rows.threads);
    registers(schedule);
  };
  return {[](Schedule&) {}, registers, shared, most_shared, blocked, batched};
}

void erase_broken(std::vector<Schedule>& schedules, const Reduction& kernel) {
  std::erase_if(schedules, [&](const Schedule& schedule) {
    return broken_mapping_rule(schedule, kernel.facts, kernel.layout, kernel.target).has_value();
  });
}

/// Whether each element of a thread's vector has an accumulator of its own, and the thread has so few accumulators that
/// compilers can keep them in registers, in little time.
bool has_suitable_accumulators(const Schedule& schedule) {
  const RowSchedule& rows = schedule.rows;
  const uint32_t accumulators = rows.accumulators / rows.chunks, threads = rows.threads * rows.cluster;
  return threads * schedule.lanes <= accumulators && accumulators <= threads * kMostElements;
}

/// CUDA: the mappings of rows of which adjacent threads have adjacent elements.
std::vector<Schedule> mappings_along(const Schedule& chosen, const Reduction& kernel) {
  Schedule first;
  first.index_bits = chosen.index_bits;
  first.rows.accumulators = chosen.rows.accumulators;
  first.rows.column_chunks = chosen.rows.column_chunks;
  std::vector<Schedule> all = {first};
  vary(all, each_lanes({1, 2, 4, 8, 16}));
  vary(all, {[](Schedule&) {}, [](Schedule& schedule) { schedule.has_partial_vectors = schedule.lanes > 1; }});
  vary(all, each_of(&RowSchedule::threads, {1, 2, 8, 32, 64, 256, 512}));
  if (kernel.facts.result_bytes == 0)
    for (Schedule& schedule : all) schedule.rows.accumulators = schedule.rows.threads * schedule.lanes;
  vary(all, {[](Schedule& schedule) { schedule.threads = std::max(32u, schedule.rows.threads); },
             [](Schedule& schedule) { schedule.threads = std::max(256u, schedule.rows.threads); }});
  vary(all, each_of(&RowSchedule::cluster, {1, 2, 8}));
  vary(all, each_of(&RowSchedule::chunks, {1, 2, 16}));
  for (Schedule& schedule : all) schedule.rows.is_split = schedule.rows.chunks > 1;
  std::erase_if(all, std::not_fn(has_suitable_accumulators));
  if (kernel.facts.speculative_phase > 0)
    vary(all, each_of(&RowSchedule::speculative_phase, {0, kernel.facts.speculative_phase}));
  vary(all, each_residency(kernel.layout));
  std::erase_if(all, [](const Schedule& schedule) { return schedule.rows.steps * schedule.lanes > kMostElements; });
  if (chosen.rows.column_chunks > 0)
    vary(all, {[](Schedule&) {}, [](Schedule& schedule) { schedule.rows.prefetches = true; }});
  return all;
}

/// CUDA: the mappings of rows of which adjacent threads have corresponding elements.
std::vector<Schedule> mappings_across(const Schedule& chosen) {
  Schedule first;
  first.index_bits = chosen.index_bits;
  first.rows.accumulators = chosen.rows.accumulators;
  first.rows.across = true;
  std::vector<Schedule> all = {first};
  vary(all, each_lanes({1, 2, 4, 8, 16}));
  vary(all, each_of(&RowSchedule::threads, {1, 2, 8, 32}));
  for (Schedule& schedule : all) schedule.threads = 32 * schedule.rows.threads;
  vary(all, each_of(&RowSchedule::chunks, {1, 2, 16}));
  for (Schedule& schedule : all) schedule.rows.is_split = schedule.rows.chunks > 1;
  vary(all, each_of(&RowSchedule::group_accumulators, {1, 2, 4, 16}));
  return all;
}

/// CUDA: the schedules of a kernel that combines the fused column partials of another one.
std::vector<Schedule> mappings_of_finalize(const Schedule& chosen) {
  std::vector<Schedule> all = {chosen};
  for (Schedule& schedule : all) schedule.accesses.clear(), schedule.loop_maps.clear();
  vary(all, each_of(&RowSchedule::group_accumulators, {1, 2, 4, 16}));
  return all;
}

std::vector<Schedule> mappings_on_cuda(const Schedule& chosen, const Reduction& kernel) {
  if (kernel.facts.finalizes_partials) return mappings_of_finalize(chosen);
  std::vector<Schedule> all = mappings_along(chosen, kernel);
  std::ranges::move(mappings_across(chosen), std::back_inserter(all));
  return all;
}

/// CPU: the mappings of rows to units.
std::vector<Schedule> mappings_on_cpu(const Schedule& chosen) {
  Schedule first;
  first.rows.accumulators = chosen.rows.accumulators;
  first.rows.chunk_length = chosen.rows.chunk_length;
  std::vector<Schedule> all = {first};
  vary(all, each_lanes({1, 2, 4, 16, 64}));
  for (Schedule& schedule : all) schedule.rows.across = schedule.lanes > 1;
  vary(all, {[](Schedule&) {}, [](Schedule& schedule) { schedule.rows.is_split = true; }});
  return all;
}

/// Makes each access that can be made element by element in this way.
void use_single_elements(Schedule& schedule) {
  for (AccessSchedule& access : schedule.accesses) {
    if (access.how != How::Fixed && access.how != How::Batched) access.how = How::Single;
    access.group_vectors.clear();
    access.is_hoisted = false;
  }
}

/// Changes of how elements are loaded, stored and cached, one at a time.
std::vector<Change> access_changes(const Reduction& kernel) {
  const bool is_cuda = kernel.target.cuda();
  std::vector<Change> changes = {[](Schedule&) {}};
  changes.push_back(use_single_elements);
  changes.push_back([](Schedule& schedule) { schedule.rows.cached.clear(); });
  changes.push_back([&kernel](Schedule& schedule) {
    schedule.rows.cached =
        shared_by_phases(kernel.graph, kernel.outline, kernel.layout, schedule.rows.speculative_phase);
  });
  if (!is_cuda) return changes;
  changes.push_back([](Schedule& schedule) {
    for (AccessSchedule& access : schedule.accesses) access.is_loaded_ahead = false;
  });
  changes.push_back([&kernel](Schedule& schedule) {
    for (size_t a = 0; a < schedule.accesses.size(); ++a)
      schedule.accesses[a].is_loaded_ahead = kernel.facts.accesses[a].kind == Kind::Load &&
                                             kernel.facts.accesses[a].varies_in_row &&
                                             schedule.accesses[a].how != How::Grouped;
  });
  changes.push_back([](Schedule& schedule) { schedule.rows.unguarded_steps = 0; });
  changes.push_back([](Schedule& schedule) { schedule.index_bits = 64; });
  return changes;
}

}  // namespace

Schedule reduction_schedule(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout,
                            const KernelFacts& facts, const Target& target) {
  const Reduction kernel{graph, outline, layout, facts, target};
  return target.cuda() ? chosen_on_cuda(kernel) : chosen_on_cpu(kernel);
}

std::vector<Schedule> allowed_reduction_schedules(const ir::Graph& graph, const KernelOutline& outline,
                                                  const KernelLayout& layout, const KernelFacts& facts,
                                                  const Target& target) {
  const Reduction kernel{graph, outline, layout, facts, target};
  const Schedule chosen = reduction_schedule(graph, outline, layout, facts, target);
  std::vector<Schedule> mappings = target.cuda() ? mappings_on_cuda(chosen, kernel) : mappings_on_cpu(chosen);
  erase_broken(mappings, kernel);
  const std::vector<Change> changes = access_changes(kernel);
  std::vector<Schedule> all = {chosen};
  for (Schedule& mapping : mappings) {
    const Schedule completed =
        target.cuda() ? completed_on_cuda(std::move(mapping), kernel) : completed_on_cpu(std::move(mapping), kernel);
    std::vector<Schedule> changed = {completed};
    vary(changed, changes);
    for (Schedule& schedule : changed)
      if (!broken_rule(schedule, facts, layout, target) && std::ranges::find(all, schedule) == all.end())
        all.push_back(std::move(schedule));
  }
  return all;
}

}  // namespace ingot::codegen
