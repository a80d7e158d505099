#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <vector>

#include "codegen/schedule/allowed.h"
#include "codegen/schedule/cost.h"
#include "codegen/schedule/reduction_schedule.h"
#include "codegen/schedule/row_policy.h"
#include "codegen/schedule/valid.h"

// The schedules that a layout allows. All give the same bits.

namespace ingot::codegen {

/// The most elements of a row that a thread caches in the enumerated schedules, and the most accumulators that it has.
/// More would take long to compile.
inline constexpr uint32_t kMostElements = 64;

/// The numbers of a schedule of rows of which adjacent threads have adjacent elements.
struct AlongChoice {
  RowsAlong rows;
  Residency residency = {};
  bool has_partial_vectors = false;
  uint32_t speculative_phase = 0;

  Schedule schedule(const ReductionKernel& kernel) const {
    const uint32_t rank = kernel.layout.rank, reduced_axes = kernel.layout.reduced_axes;
    Schedule schedule{.loop_maps = loop_maps_of(rows, rank, reduced_axes),
                      .has_partial_vectors = has_partial_vectors,
                      .index_bits = kernel.layout.index_bits,
                      .residency = residency,
                      .speculative_phase = speculative_phase};
    if (rows.chunks > 1) schedule.finalize_maps = finalize_maps_along(rows.chunks, rank, reduced_axes);
    return schedule;
  }
  uint64_t elements_of_step() const {
    return residency.has_blocked_accumulators ? rows.accumulators : uint64_t{rows.threads} * rows.cluster * rows.lanes;
  }
  /// Sets the steps to as few as cover a row, and the unguarded steps to as many as possible.
  void cover_row(const KernelLayout& layout) {
    const auto [most, least] = lengths_of(layout);
    const uint64_t step = elements_of_step();
    residency.steps = static_cast<uint32_t>((most + step - 1) / step);
    residency.unguarded_steps = static_cast<uint32_t>(least / step);
  }
  /// Whether each element of a thread's vector has an accumulator of its own, and the thread has so few accumulators
  /// that compilers can keep them in registers, in little time.
  bool has_suitable_accumulators() const {
    const uint32_t accumulators = rows.accumulators / rows.chunks, threads = rows.threads * rows.cluster;
    return threads * rows.lanes <= accumulators && accumulators <= threads * kMostElements;
  }
};

/// Replaces each choice by the choices that one of the changes makes of it.
template <typename Choice>
void vary(std::vector<Choice>& choices, const std::vector<std::function<void(Choice&)>>& changes) {
  std::vector<Choice> varied;
  for (const Choice& choice : choices)
    for (const auto& change : changes) change(varied.emplace_back(choice));
  choices = std::move(varied);
}

/// As above, with one change for each number.
template <typename Choice, typename Change>
void vary(std::vector<Choice>& choices, std::initializer_list<uint32_t> numbers, Change change) {
  std::vector<std::function<void(Choice&)>> changes;
  for (const uint32_t number : numbers) changes.push_back([=](Choice& choice) { change(choice, number); });
  vary(choices, changes);
}

/// Where the elements of a row are between phases: in memory, in registers, partly in shared memory, or, with blocked
/// accumulators, in the registers of one run; or in shared memory for a warp's rows.
inline std::vector<std::function<void(AlongChoice&)>> residencies(const KernelLayout& layout) {
  const auto registers = [&layout](AlongChoice& choice) { choice.cover_row(layout); };
  const auto shared = [&layout](AlongChoice& choice) {
    choice.cover_row(layout);
    choice.residency.shared_steps = choice.residency.steps / 2;
  };
  const auto most_shared = [&layout](AlongChoice& choice) {
    choice.cover_row(layout);
    choice.residency.shared_steps = choice.residency.steps - 1;
  };
  const auto blocked = [&layout](AlongChoice& choice) {
    choice.residency.has_blocked_accumulators = true;
    choice.cover_row(layout);
  };
  const auto batched = [&layout](AlongChoice& choice) {
    choice.residency.batch = std::max(1u, 32 / choice.rows.threads);
    choice.cover_row(layout);
  };
  return {[](AlongChoice&) {}, registers, shared, most_shared, blocked, batched};
}

inline std::vector<Schedule> mappings_along(const ReductionKernel& kernel) {
  const KernelFacts& facts = kernel.facts;
  const uint32_t column_chunks = facts.column_partial_bytes > 0 ? kernel.layout.column_chunks : 0;
  std::vector<AlongChoice> all = {
      {{.accumulators = cuda_accumulators(kernel.layout.length_bits, facts.loads), .column_chunks = column_chunks}}};
  vary(all, {1, 2, 4, 8, 16}, [](AlongChoice& choice, uint32_t lanes) { choice.rows.lanes = lanes; });
  vary(all, {0, 1}, [](AlongChoice& choice, uint32_t partial) {
    choice.has_partial_vectors = partial != 0 && choice.rows.lanes > 1;
  });
  vary(all, {1, 2, 8, 32, 64, 256, 512}, [](AlongChoice& choice, uint32_t threads) { choice.rows.threads = threads; });
  if (facts.result_bytes == 0)
    for (AlongChoice& choice : all) choice.rows.accumulators = choice.rows.threads * choice.rows.lanes;
  vary(all, {32, 256}, [](AlongChoice& choice, uint32_t threads) {
    choice.rows.block_rows = std::max(1u, threads / choice.rows.threads);
  });
  vary(all, {1, 2, 8}, [](AlongChoice& choice, uint32_t blocks) { choice.rows.cluster = blocks; });
  vary(all, {1, 2, 16}, [](AlongChoice& choice, uint32_t chunks) { choice.rows.chunks = chunks; });
  std::erase_if(all, [](const AlongChoice& choice) { return !choice.has_suitable_accumulators(); });
  if (facts.speculative_phase > 0)
    vary(all, {0, facts.speculative_phase},
         [](AlongChoice& choice, uint32_t phase) { choice.speculative_phase = phase; });
  vary(all, residencies(kernel.layout));
  std::erase_if(all,
                [](const AlongChoice& choice) { return choice.residency.steps * choice.rows.lanes > kMostElements; });
  if (column_chunks > 0)
    vary(all, {0, 1}, [](AlongChoice& choice, uint32_t prefetches) { choice.residency.prefetches = prefetches != 0; });
  std::vector<Schedule> schedules;
  for (const AlongChoice& choice : all) schedules.push_back(choice.schedule(kernel));
  return schedules;
}

inline std::vector<Schedule> mappings_across(const ReductionKernel& kernel) {
  const KernelLayout& layout = kernel.layout;
  std::vector<RowsAcross> all = {{.accumulators = cuda_accumulators(layout.length_bits, kernel.facts.loads)}};
  vary(all, {1, 2, 4, 8, 16}, [](RowsAcross& rows, uint32_t lanes) { rows.lanes = lanes; });
  vary(all, {2, 8, 32, 128}, [](RowsAcross& rows, uint32_t threads) { rows.threads_across = threads; });
  vary(all, {1, 2, 8, 32, 128}, [](RowsAcross& rows, uint32_t threads) { rows.threads = threads; });
  vary(all, {1, 2, 16}, [](RowsAcross& rows, uint32_t chunks) { rows.chunks = chunks; });
  vary(all, {1, 2, 4, 16}, [](RowsAcross& rows, uint32_t group) { rows.group = group; });
  if (kernel.facts.ordered_bytes == 0)
    vary(all,
         {[](RowsAcross&) {}, [](RowsAcross& rows) { rows.accumulators = rows.chunks * rows.threads * rows.group; }});
  std::vector<Schedule> schedules;
  for (const RowsAcross& rows : all) {
    Schedule& schedule = schedules.emplace_back();
    schedule.loop_maps = loop_maps_of(rows, layout.rank, layout.reduced_axes);
    if (rows.chunks > 1)
      schedule.finalize_maps =
          finalize_maps_across(rows.chunks, rows.group, rows.threads_across, layout.rank, layout.reduced_axes);
    Schedule cached = schedule;
    cached.residency.steps = steps_across(rows, layout);
    if (cached.residency.steps * rows.group * rows.lanes <= kMostElements) schedules.push_back(std::move(cached));
  }
  return schedules;
}

/// The loop maps and residencies of a kernel that reduces; many break a rule.
inline std::vector<Schedule> mappings(const ReductionKernel& kernel) {
  const KernelLayout& layout = kernel.layout;
  std::vector<Schedule> all;
  if (!kernel.target.cuda()) {
    for (const uint32_t lanes : {1u, 2u, 4u, 16u, 64u})
      for (const bool is_split : {false, true}) all.push_back({.loop_maps = cpu_loop_maps(layout, lanes, is_split)});
  } else if (kernel.facts.finalizes_partials) {
    for (const uint32_t group : {1u, 2u, 4u, 16u})
      all.push_back(
          {.loop_maps = finalize_maps_across(layout.column_chunks, group, 32, layout.rank, layout.reduced_axes)});
  } else {
    all = mappings_along(kernel);
    std::ranges::move(mappings_across(kernel), std::back_inserter(all));
  }
  return all;
}

/// Changes of how elements are loaded, stored and cached, one at a time.
inline std::vector<std::function<void(Schedule&)>> access_changes(const ReductionKernel& kernel) {
  using How = AccessSchedule::How;
  std::vector<std::function<void(Schedule&)>> changes = {[](Schedule&) {}};
  changes.emplace_back([](Schedule& schedule) {
    for (AccessSchedule& access : schedule.accesses) {
      if (access.how != How::Fixed && access.how != How::Batched) access.how = How::Single;
      access.group_vectors.clear();
      access.is_hoisted = false;
    }
  });
  changes.emplace_back([](Schedule& schedule) { schedule.residency.cached.clear(); });
  changes.emplace_back([&kernel](Schedule& schedule) {
    schedule.residency.cached =
        shared_by_phases(kernel.graph, kernel.outline, kernel.layout, schedule.speculative_phase);
  });
  if (!kernel.target.cuda()) {
    changes.emplace_back([](Schedule& schedule) {
      schedule.residency.has_blocked_accumulators = !schedule.residency.has_blocked_accumulators;
    });
    return changes;
  }
  changes.emplace_back([](Schedule& schedule) {
    for (AccessSchedule& access : schedule.accesses) access.is_loaded_ahead = false;
  });
  changes.emplace_back([&kernel](Schedule& schedule) {
    for (size_t a = 0; a < schedule.accesses.size(); ++a)
      schedule.accesses[a].is_loaded_ahead = kernel.facts.accesses[a].kind == AccessUse::Kind::Load &&
                                             kernel.facts.accesses[a].varies_in_row &&
                                             schedule.accesses[a].how != How::Grouped;
  });
  changes.emplace_back([](Schedule& schedule) { schedule.residency.unguarded_steps = 0; });
  changes.emplace_back([](Schedule& schedule) { schedule.residency.computes_past_end ^= true; });
  changes.emplace_back([](Schedule& schedule) {
    schedule.residency.unguarded_steps = 0;
    schedule.residency.computes_past_end = true;
  });
  changes.emplace_back([](Schedule& schedule) { schedule.index_bits = 64; });
  return changes;
}

inline std::vector<Schedule> allowed_reduction_schedules(const ReductionKernel& kernel) {
  const std::vector<std::function<void(Schedule&)>> changes = access_changes(kernel);
  std::vector<Schedule> all = {reduction_schedule(kernel)};
  for (const Schedule& mapping : mappings(kernel)) {
    if (broken_mapping_rule(mapping, kernel.facts, kernel.layout, kernel.target)) continue;
    std::vector<Schedule> changed = {completed(mapping, kernel)};
    vary(changed, changes);
    for (Schedule& schedule : changed)
      if (!broken_rule(schedule, kernel.facts, kernel.layout, kernel.target) &&
          std::ranges::find(all, schedule) == all.end())
        all.push_back(std::move(schedule));
  }
  return all;
}

/// All schedules of a kernel that the layout allows; the first one is the one that the rules choose, if the kernel
/// reduces. `graph` must be the graph from which the outline was made.
inline std::vector<Schedule> allowed_schedules(const ir::Graph& graph, const KernelOutline& outline,
                                               const KernelLayout& full_layout, const Target& target) {
  const KernelLayout layout = relevant_to(target, full_layout);
  std::vector<Schedule> all;
  std::vector<std::vector<ir::NodeId>> seen;  // the lazy `where`s of the schedules so far
  for (const Lazy lazy : {Lazy::Never, Lazy::Always, Lazy::Auto}) {
    const KernelProperties properties = properties_of(graph, outline, layout, target, lazy);
    if (std::ranges::find(seen, properties.wheres) != seen.end()) continue;
    seen.push_back(properties.wheres);
    std::vector<Schedule> schedules =
        outline.reduces() ? allowed_reduction_schedules({graph, outline, layout, properties.facts, target})
                          : allowed_pointwise_schedules(outline, layout, properties.facts, target);
    for (Schedule& schedule : schedules) {
      schedule.lazy = properties.wheres;
      all.push_back(std::move(schedule));
    }
  }
  return all;
}

}  // namespace ingot::codegen
