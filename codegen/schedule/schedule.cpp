#include "codegen/schedule/schedule.h"

#include <algorithm>

#include "codegen/schedule/policy.h"

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

std::vector<Chunk> chunks_of_group(const KernelOutline& outline, const KernelLayout& layout, uint32_t leader) {
  std::vector<uint32_t> used;
  for (const AccessLayout& access : layout.accesses)
    if (access.leader == leader) used.push_back(access.neighbour);
  std::ranges::sort(used);
  const auto repeats = std::ranges::unique(used);
  used.erase(repeats.begin(), repeats.end());
  const AccessUse& use = outline.accesses[leader];
  return chunks_of(used, static_cast<uint32_t>(ir::size_of(use.dtype)), layout.accesses[leader].alignment,
                   use.kind == Kind::Store);
}

/// All axes as one: a block takes neighbours, and so does a thread, unless its lanes are interleaved.
Walk walk_of(Preset preset, uint32_t rank, uint32_t threads, uint32_t lanes) {
  Walk walk{0, rank, {{Scope::Grid}, {Scope::Block, threads}}};
  if (lanes == 1) return walk;
  const auto place = preset == Preset::Interleaved ? walk.steps.end() - 1 : walk.steps.end();
  walk.steps.insert(place, {Scope::Vector, lanes});
  return walk;
}

Coordinates coordinates_of(Preset preset, uint32_t rank) {
  if (rank <= 1) return Coordinates::None;
  return preset == Preset::Carried       ? Coordinates::Carry
         : preset == Preset::Interleaved ? Coordinates::Lane
                                         : Coordinates::Thread;
}

/// A thread takes `lanes` neighbours along the innermost axis, in as many rows as the block's threads leave it. Blocks
/// are counted in the order of the domain's axes, so that those which run at once write long runs of memory:
/// `x.permute(2, 1, 0) + y` of 512 x 640 x 832 reaches 0.987 of a copy, 0.978 with the tile's two axes counted first;
/// of 256 x 256 x 4096 0.975 and 0.955.
Schedule with_tile(Schedule schedule, uint32_t rank, uint32_t across, uint32_t side) {
  schedule.across = across;
  const uint32_t columns = side / schedule.lanes, rows = schedule.threads / columns;
  for (uint32_t d = 0; d + 1 < rank; ++d) {
    schedule.walks.push_back({d, 1, {{Scope::Grid}}});
    if (d == across) schedule.walks.back().steps = {{Scope::Grid}, {Scope::Vector, side / rows}, {Scope::Block, rows}};
  }
  schedule.walks.push_back({rank - 1, 1, {{Scope::Grid}, {Scope::Block, columns}, {Scope::Vector, schedule.lanes}}});
  schedule.coordinates = Coordinates::None;
  return schedule;
}

Schedule on_cuda(const KernelOutline& outline, const KernelLayout& layout, const KernelFacts& facts, Preset preset,
                 uint32_t lanes) {
  Schedule schedule;
  schedule.index_bits = layout.index_bits;
  schedule.lanes = preset == Preset::Single ? 1 : lanes;
  for (uint32_t a = 0; a < facts.accesses.size(); ++a) {
    AccessSchedule access{how_for(facts.accesses[a], facts, preset, schedule.lanes)};
    if (access.how == How::Grouped && layout.accesses[a].leader == a)
      access.chunks = chunks_of_group(outline, layout, a);
    schedule.accesses.push_back(std::move(access));
  }
  if (layout.rank == 0) return schedule;
  schedule.threads = block_threads();
  if (preset == Preset::Tile)
    return with_tile(std::move(schedule), layout.rank, axis_across(facts), tile_size_for(facts).side);
  schedule.walks.push_back(walk_of(preset, layout.rank, schedule.threads, schedule.lanes));
  schedule.coordinates = coordinates_of(preset, layout.rank);
  schedule.ragged = schedule.lanes > 1 && schedule.coordinates != Coordinates::Thread;
  return schedule;
}

/// In the order of memory: a loop over rows, and one over the elements of each.
Schedule in_rows(const KernelOutline& outline, const KernelLayout& layout, const KernelFacts& facts) {
  Schedule schedule;
  schedule.index_bits = 64;
  schedule.weight = cpu_weight(facts.cost, static_cast<uint32_t>(outline.accesses.size()));
  for (const AccessFacts& access : facts.accesses)
    schedule.accesses.push_back({access.inner == StrideClass::Zero ? How::Fixed : How::Single});
  if (layout.rank > 1) schedule.walks.push_back({0, layout.rank - 1, {{Scope::Grid}, {Scope::Serial}}});
  schedule.walks.push_back({std::max(layout.rank, 1u) - 1, 1, {{Scope::Grid}, {Scope::Vector}}});
  return schedule;
}

Schedule in_tiles(const KernelOutline& outline, const KernelLayout& layout, const KernelFacts& facts) {
  Schedule schedule = in_rows(outline, layout, facts);
  schedule.across = cpu_axis_across(facts);
  schedule.walks.clear();
  for (uint32_t d = 0; d + 1 < layout.rank; ++d)
    if (d != schedule.across) schedule.walks.push_back({d, 1, {{Scope::Grid}}});
  schedule.walks.push_back({schedule.across, 1, {{Scope::Grid}, {Scope::Serial, cpu_tile_rows(facts)}}});
  schedule.walks.push_back({layout.rank - 1, 1, {{Scope::Grid}, {Scope::Vector, kCpuTileColumns}}});
  for (uint32_t a = 0; a < facts.accesses.size(); ++a)
    if (is_turned(facts.accesses[a], schedule.across)) schedule.accesses[a].how = How::Staged;
  return schedule;
}

/// Many rows at a time, as one loop.
Schedule in_chunks(const KernelOutline& outline, const KernelLayout& layout, const KernelFacts& facts) {
  Schedule schedule = in_rows(outline, layout, facts);
  schedule.walks = {{0, layout.rank, {{Scope::Grid}, {Scope::Vector, cpu_chunk(facts)}}}};
  for (uint32_t a = 0; a < facts.accesses.size(); ++a)
    schedule.accesses[a].how = *how_in_chunk(facts.accesses[a], facts);
  return schedule;
}

/// With what is float16 converted by runs: the elements of a row in pieces, unless they are in buffers already.
Schedule widened(Schedule schedule, const KernelFacts& facts) {
  bool any = false;
  for (uint32_t a = 0; a < facts.accesses.size(); ++a)
    any |= schedule.accesses[a].widened = is_widened(facts.accesses[a], schedule.accesses[a].how);
  if (any && !schedule.is_chunk())
    schedule.walks.back().steps = {{Scope::Grid}, {Scope::Serial}, {Scope::Vector, kCpuPiece}};
  return schedule;
}

/// The best one last.
std::vector<Schedule> allowed_on_cpu(const KernelOutline& outline, const KernelLayout& layout,
                                     const KernelFacts& facts) {
  std::vector<Schedule> all = {in_rows(outline, layout, facts)};
  if (Schedule wide = widened(all[0], facts); wide != all[0]) all.push_back(std::move(wide));
  if (cpu_axis_across(facts) != kNoAxis) all.push_back(in_tiles(outline, layout, facts));
  if (cpu_chunk(facts) != 0) all.push_back(widened(in_chunks(outline, layout, facts), facts));
  return all;
}

}  // namespace

Schedule schedule(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& known,
                  const Target& target) {
  const KernelLayout layout = read_by(target, known);
  const KernelFacts facts = facts_of(graph, outline, layout);
  if (!target.cuda()) return allowed_on_cpu(outline, layout, facts).back();
  const uint32_t lanes = lanes_for(facts);
  const Preset preset = preset_for(facts, lanes);
  return on_cuda(outline, layout, facts, preset, preset == Preset::Tile ? tile_size_for(facts).lanes : lanes);
}

std::vector<Schedule> allowed_schedules(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& known,
                                        const Target& target) {
  const KernelLayout layout = read_by(target, known);
  const KernelFacts facts = facts_of(graph, outline, layout);
  if (!target.cuda()) return allowed_on_cpu(outline, layout, facts);
  std::vector<Schedule> all = {on_cuda(outline, layout, facts, Preset::Single, 1)};
  if (lanes_for(facts) == 1) return all;
  for (const Preset preset : {Preset::Flat, Preset::Carried, Preset::Interleaved})
    for (const uint32_t lanes : {2u, 4u, 8u, 16u})
      if (allows(preset, facts, lanes)) all.push_back(on_cuda(outline, layout, facts, preset, lanes));
  if (allows(Preset::Tile, facts, 1))
    for (const uint32_t lanes : {1u, tile_size_for(facts).lanes})
      all.push_back(on_cuda(outline, layout, facts, Preset::Tile, lanes));
  return all;
}

}  // namespace ingot::codegen
