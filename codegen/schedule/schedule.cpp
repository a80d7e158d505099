#include "codegen/schedule/schedule.h"

#include <algorithm>
#include <set>

#include "codegen/schedule/allowed.h"
#include "codegen/schedule/cost.h"
#include "codegen/schedule/policy.h"
#include "codegen/schedule/reduction_schedule.h"
#include "codegen/schedule/regions.h"

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

/// The `where`s that are lazy, in the graph's order.
std::vector<ir::NodeId> lazy_wheres(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout,
                                    const KernelFacts& facts, const Target& target, Lazy lazy) {
  const auto may_profit = [&](const AccessFacts& access) { return access.is_grouped || access.kind == Kind::Gather; };
  if (lazy == Lazy::Never || (lazy == Lazy::Auto && std::ranges::none_of(facts.accesses, may_profit))) return {};
  std::vector<ir::NodeId> wheres;
  const std::vector<ir::NodeId> nodes = nodes_of(graph, outline);
  std::ranges::copy_if(nodes, std::back_inserter(wheres), [&](ir::NodeId id) {
    return graph[id].op == ir::Op::Where && graph[id].attr != ir::kEagerArms;
  });
  const Regions regions(graph, outline, layout, roots_of(graph, outline), wheres);
  std::vector<ArmFacts> arms(regions.decisions().size());
  const auto for_each_enclosing_arm = [&](const std::vector<Region>& inner, const auto& mark) {
    for (Region region : inner)
      for (; region != kAlways; region = regions.outer(region)) mark(arms[Regions::decision_of(region)]);
  };
  for (const ir::NodeId id : nodes)
    if (!graph[id].args.empty()) for_each_enclosing_arm(regions.of(id), [](ArmFacts& arm) { arm.computes = true; });
  const std::vector<std::vector<Region>> access_regions = regions_of_accesses(regions, graph, outline, layout);
  for (size_t a = 0; a < access_regions.size(); ++a) {
    const AccessFacts& access = facts.accesses[a];
    const bool reads = access.kind == Kind::Load && is_masked(access, facts, lazy, target.cuda());
    for_each_enclosing_arm(access_regions[a], [&](ArmFacts& arm) {
      arm.gathers |= access.kind == Kind::Gather;
      arm.reads_groups |= access.is_grouped && reads;
      arm.computes |= reads;
    });
  }
  std::vector<ir::NodeId> chosen;
  for (uint32_t d = 0; d < arms.size(); ++d)
    if (is_lazy(arms[d], lazy, target.cuda()))
      chosen.insert(chosen.end(), regions.decisions()[d].wheres.begin(), regions.decisions()[d].wheres.end());
  std::ranges::sort(chosen);
  const auto repeats = std::ranges::unique(chosen);  // a `where` may be in several regions
  chosen.erase(repeats.begin(), repeats.end());
  return chosen;
}

/// One flag per access: AccessFacts::skips_rows. The access is a gather that only one region needs; either all or none
/// of a row's elements are in that region; and the indices are computed unconditionally, once for the row.
std::vector<bool> gathers_that_skip_rows(const ir::Graph& graph, const KernelOutline& outline,
                                         const KernelLayout& layout, const Regions& regions) {
  const std::set<ir::NodeId> varying = varying_in_rows(graph, outline, layout);
  const auto is_shared = [&](Region region) {
    for (; region != kAlways; region = regions.outer(region))
      if (varying.contains(regions.decisions()[Regions::decision_of(region)].condition)) return false;
    return true;
  };
  const auto is_ahead = [&](ir::NodeId index) {
    return !varying.contains(index) && regions.of(index).front() == kAlways;
  };
  return flag_gathers(graph, outline, [&](ir::NodeId id) {
    const std::vector<Region>& id_regions = regions.of(id);
    return id_regions.size() == 1 && is_shared(id_regions.front()) && std::ranges::all_of(graph.indices(id), is_ahead);
  });
}

/// One flag per access: whether it is a gather with an index that depends on a lazy `where`. The result of a lazy
/// `where` is a separate variable for each element. The gather therefore cannot load a vector, even if all elements of
/// a row have the same index.
std::vector<bool> gathers_with_lazy_indices(const ir::Graph& graph, const KernelOutline& outline,
                                            const Regions& regions) {
  std::set<ir::NodeId> chosen;
  for (const Decision& decision : regions.decisions()) chosen.insert(decision.wheres.begin(), decision.wheres.end());
  const auto depends = [&](ir::NodeId index) {
    return std::ranges::any_of(nodes_of(graph, std::vector{index}), [&](ir::NodeId id) { return chosen.contains(id); });
  };
  return flag_gathers(graph, outline, [&](ir::NodeId id) { return std::ranges::any_of(graph.indices(id), depends); });
}

/// The properties of a kernel, completed once the lazy `where`s are known.
KernelFacts with_regions(KernelFacts facts, const ir::Graph& graph, const KernelOutline& outline,
                         const KernelLayout& layout, const std::vector<ir::NodeId>& wheres, const Target& target,
                         Lazy lazy) {
  facts.has_regions = !wheres.empty();
  if (facts.has_regions) facts.speculative_phase = 0;
  const Regions regions(graph, outline, layout, roots_of(graph, outline), wheres);
  const std::vector<std::vector<Region>> access_regions = regions_of_accesses(regions, graph, outline, layout);
  for (size_t a = 0; a < access_regions.size(); ++a) {
    AccessFacts& access = facts.accesses[a];
    access.is_masked = access_regions[a].front() != kAlways && is_masked(access, facts, lazy, target.cuda());
    access.is_hoistable = access.is_masked && hoisted_predicate(regions, access_regions[a], graph, outline).has_value();
  }
  const std::vector<bool> skips_rows = gathers_that_skip_rows(graph, outline, layout, regions);
  const std::vector<bool> has_lazy_index = gathers_with_lazy_indices(graph, outline, regions);
  for (size_t a = 0; a < skips_rows.size(); ++a) {
    facts.accesses[a].skips_rows = skips_rows[a];
    if (has_lazy_index[a]) facts.accesses[a].row_shares_index = false;
  }
  return facts;
}

/// The loop map of all axes, merged into one: a block has adjacent elements, and so does a thread, unless its elements
/// are interleaved.
LoopMap loop_map_of(Preset preset, uint32_t rank, Steps steps, uint32_t lanes) {
  LoopMap loop_map{0, rank, {{Scope::Grid}, {Scope::Block, steps.threads}}};
  std::vector<MappedLoop>& loops = loop_map.loops;
  if (steps.count > 1) loops.insert(loops.begin() + 1, {Scope::Serial, steps.count});
  if (lanes > 1) loops.insert(preset == Preset::Interleaved ? loops.end() - 1 : loops.end(), {Scope::Vector, lanes});
  return loop_map;
}

Coordinates coordinates_of(Preset preset, uint32_t rank) {
  if (rank <= 1) return Coordinates::None;
  return preset == Preset::RowByRow      ? Coordinates::Row
         : preset == Preset::Carried     ? Coordinates::Carry
         : preset == Preset::Interleaved ? Coordinates::Lane
                                         : Coordinates::Thread;
}

/// A thread has `lanes` adjacent elements along the innermost axis, in several rows of the tile. Blocks are numbered in
/// the order of the domain's axes, so that blocks that run at once write long contiguous ranges (docs/performance.md:
/// tile-block-order).
LoopMaps maps_of_tile(uint32_t rank, uint32_t across, TileSize size, uint32_t threads, uint32_t lanes) {
  const uint32_t columns = size.columns / lanes, rows = std::min(size.rows, threads / columns);
  LoopMaps maps;
  for (uint32_t d = 0; d + 1 < rank; ++d) maps.push_back({d, 1, {{Scope::Grid}}});
  maps[across].loops = {{Scope::Grid}, {Scope::Vector, size.rows / rows}, {Scope::Block, rows}};
  maps.push_back({rank - 1, 1, {{Scope::Grid}, {Scope::Block, columns}, {Scope::Vector, lanes}}});
  return maps;
}

/// The loop maps of the preset RowByRow: one for the rows, and one for a row's elements, of which each block has a
/// part.
LoopMaps maps_of_rows(uint32_t rank, Steps steps, uint32_t lanes) {
  LoopMap row{rank - 1, 1, {{Scope::Grid}, {Scope::Block, steps.threads}, {Scope::Vector, lanes}}};
  if (steps.count > 1) row.loops.insert(row.loops.begin() + 1, {Scope::Serial, steps.count});
  return {{0, rank - 1, {{Scope::Grid}}}, std::move(row)};
}

Schedule on_cuda(const KernelOutline& outline, const KernelLayout& layout, const KernelFacts& facts, Preset preset,
                 uint32_t lanes, Steps steps) {
  Schedule schedule;
  schedule.index_bits = layout.index_bits;
  if (preset == Preset::Single) lanes = 1;
  for (uint32_t a = 0; a < facts.accesses.size(); ++a) {
    AccessSchedule access{how_for(facts.accesses[a], facts, preset, lanes)};
    if (access.how == How::Grouped && layout.accesses[a].leader == a)
      access.group_vectors = group_vectors_of(outline, layout, a);
    access.is_masked = facts.accesses[a].is_masked;
    access.is_hoisted = lanes > 1 && should_hoist(facts.accesses[a], access.group_vectors, lanes);
    schedule.accesses.push_back(std::move(access));
  }
  if (layout.rank == 0) return schedule;
  if (preset == Preset::Tile) {
    schedule.tile_axis = axis_across(facts);
    schedule.loop_maps = maps_of_tile(layout.rank, schedule.tile_axis, tile_size_for(facts), steps.threads, lanes);
    return schedule;
  }
  schedule.uses_quotient_of = uses_quotient_of(facts);
  if (preset == Preset::RowByRow)
    schedule.loop_maps = maps_of_rows(layout.rank, steps, lanes);
  else
    schedule.loop_maps = {loop_map_of(preset, layout.rank, steps, lanes)};
  schedule.coordinates = coordinates_of(preset, layout.rank);
  schedule.has_partial_vectors = lanes > 1 && schedule.coordinates != Coordinates::Thread;
  return schedule;
}

Schedule on_cuda(const KernelOutline& outline, const KernelLayout& layout, const KernelFacts& facts, Preset preset,
                 uint32_t lanes) {
  return on_cuda(outline, layout, facts, preset, lanes, steps_for(facts, preset, lanes));
}

/// CPU: a loop over rows, and within it a loop over a row's elements.
Schedule in_rows(const KernelOutline& outline, const KernelLayout& layout, const KernelFacts& facts) {
  Schedule schedule;
  schedule.index_bits = 64;
  schedule.simd = cpu_simd(facts);
  schedule.weight = cpu_weight(facts.cost, static_cast<uint32_t>(outline.accesses.size()));
  for (const AccessFacts& access : facts.accesses)
    schedule.accesses.push_back(
        {.how = access.inner == StrideClass::Zero ? How::Fixed : How::Single, .is_masked = access.is_masked});
  if (layout.rank > 1) schedule.loop_maps.push_back({0, layout.rank - 1, {{Scope::Grid}, {Scope::Serial}}});
  schedule.loop_maps.push_back({std::max(layout.rank, 1u) - 1, 1, {{Scope::Grid}, {Scope::Vector}}});
  return schedule;
}

/// CPU: tiles with `Staged` loads (cpu_axis_across).
Schedule in_tiles(const KernelOutline& outline, const KernelLayout& layout, const KernelFacts& facts) {
  Schedule schedule = in_rows(outline, layout, facts);
  schedule.tile_axis = cpu_axis_across(facts);
  schedule.loop_maps.clear();
  for (uint32_t d = 0; d + 1 < layout.rank; ++d)
    if (d != schedule.tile_axis) schedule.loop_maps.push_back({d, 1, {{Scope::Grid}}});
  schedule.loop_maps.push_back({schedule.tile_axis, 1, {{Scope::Grid}, {Scope::Serial, cpu_tile_rows(facts)}}});
  schedule.loop_maps.push_back({layout.rank - 1, 1, {{Scope::Grid}, {Scope::Vector, kCpuTileColumns}}});
  for (uint32_t a = 0; a < facts.accesses.size(); ++a)
    if (is_transposed(facts.accesses[a], schedule.tile_axis)) schedule.accesses[a].how = How::Staged;
  return schedule;
}

/// CPU: a batch of short rows at a time, in one loop.
Schedule short_rows_schedule(const KernelOutline& outline, const KernelLayout& layout, const KernelFacts& facts) {
  Schedule schedule = in_rows(outline, layout, facts);
  schedule.loop_maps = {{0, layout.rank, {{Scope::Grid}, {Scope::Vector, cpu_short_row_elements(facts)}}}};
  for (uint32_t a = 0; a < facts.accesses.size(); ++a)
    schedule.accesses[a].how = *how_in_short_rows(facts.accesses[a], facts);
  return schedule;
}

/// CPU: the schedule with float16 converted in bulk: a part of a row at a time, unless the elements are in buffers
/// already.
Schedule widened(Schedule schedule, const KernelFacts& facts) {
  bool is_any_widened = false;
  for (uint32_t a = 0; a < facts.accesses.size(); ++a)
    is_any_widened |= schedule.accesses[a].is_widened =
        !schedule.accesses[a].is_masked && is_widened(facts.accesses[a], schedule.accesses[a].how);
  if (is_any_widened && !schedule.joins_short_rows())
    schedule.loop_maps.back().loops = {{Scope::Grid}, {Scope::Serial}, {Scope::Vector, kCpuConversionBlock}};
  return schedule;
}

/// All allowed schedules, the best one last.
std::vector<Schedule> allowed_on_cpu(const KernelOutline& outline, const KernelLayout& layout,
                                     const KernelFacts& facts) {
  std::vector<Schedule> all = {in_rows(outline, layout, facts)};
  if (Schedule wide = widened(all[0], facts); wide != all[0]) all.push_back(std::move(wide));
  if (facts.has_regions) return all;
  if (cpu_axis_across(facts) != kNoAxis) all.push_back(in_tiles(outline, layout, facts));
  if (cpu_short_row_elements(facts) != 0) all.push_back(widened(short_rows_schedule(outline, layout, facts), facts));
  return all;
}

Schedule best_on_cuda(const KernelOutline& outline, const KernelLayout& layout, const KernelFacts& facts) {
  const uint32_t lanes = lanes_for(facts);
  const Preset preset = preset_for(facts, lanes);
  if (preset == Preset::Tile) return on_cuda(outline, layout, facts, preset, tile_size_for(facts).lanes);
  return on_cuda(outline, layout, facts, preset, lanes);
}

std::vector<Schedule> allowed_on_cuda(const KernelOutline& outline, const KernelLayout& layout,
                                      const KernelFacts& facts) {
  std::vector<Schedule> all = {on_cuda(outline, layout, facts, Preset::Single, 1)};
  if (lanes_for(facts) == 1) return all;
  const bool is_interleaved = std::ranges::count(facts.accesses, true, &AccessFacts::is_grouped) > 0;
  for (const Preset preset : {Preset::Flat, Preset::RowByRow, Preset::Carried, Preset::Interleaved})
    for (const uint32_t lanes : {2u, 4u, 8u, 16u}) {
      if (!allows(preset, facts, lanes) || (is_interleaved && preset != Preset::Interleaved)) continue;
      all.push_back(on_cuda(outline, layout, facts, preset, lanes, {128, 1}));
      if (preset == Preset::Flat && may_take_steps(facts, lanes))
        all.push_back(on_cuda(outline, layout, facts, preset, lanes, {64, 2}));
      if (preset == Preset::RowByRow) all.push_back(on_cuda(outline, layout, facts, preset, lanes, {128, 4}));
    }
  if (allows(Preset::Tile, facts, 1))
    for (const uint32_t lanes : {1u, tile_size_for(facts).lanes})
      all.push_back(on_cuda(outline, layout, facts, Preset::Tile, lanes));
  all.push_back(best_on_cuda(outline, layout, facts));
  return all;
}

}  // namespace

bool Schedule::is_split() const {
  return std::ranges::any_of(reduced().loops,
                             [](const MappedLoop& loop) { return loop.scope == Scope::Grid && loop.count != 1; });
}

uint32_t Schedule::chunk_length() const {
  const std::vector<MappedLoop>& loops = reduced().loops;
  const auto fold = std::ranges::find(loops, Scope::Fold, &MappedLoop::scope);
  return fold == loops.begin() || fold == loops.end() ? 0 : fold->count * reduced().accumulators();
}

uint32_t Schedule::column_chunks() const {
  const bool is_in_chunks = kept().loops.front().scope == Scope::Serial;
  return is_in_chunks ? kept().count(Scope::Grid) * kept().count(Scope::Block) : 0;
}

KernelProperties properties_of(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout,
                               const Target& target, Lazy lazy) {
  KernelFacts facts = facts_of(graph, outline, layout, target);
  std::vector<ir::NodeId> wheres = lazy_wheres(graph, outline, layout, facts, target, lazy);
  facts = with_regions(std::move(facts), graph, outline, layout, wheres, target, lazy);
  return {std::move(facts), std::move(wheres)};
}

std::vector<Schedule> allowed_pointwise_schedules(const KernelOutline& outline, const KernelLayout& layout,
                                                  const KernelFacts& facts, const Target& target) {
  return target.cuda() ? allowed_on_cuda(outline, layout, facts) : allowed_on_cpu(outline, layout, facts);
}

Schedule schedule(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& full_layout,
                  const Target& target, const Options& options) {
  const KernelLayout layout = relevant_to(target, full_layout);
  const KernelProperties properties = properties_of(graph, outline, layout, target, options.lazy);
  Schedule best = outline.reduces() ? reduction_schedule({graph, outline, layout, properties.facts, target})
                  : target.cuda()   ? best_on_cuda(outline, layout, properties.facts)
                                    : allowed_on_cpu(outline, layout, properties.facts).back();
  best.lazy = properties.wheres;
  if (options.fast_math)
    best.uses_quotient_of = false;  // with fast math, the processor's approximate division is shorter
  return best;
}

}  // namespace ingot::codegen
