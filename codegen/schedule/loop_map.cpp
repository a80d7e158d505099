#include "codegen/schedule/loop_map.h"

namespace ingot::codegen {
namespace {

constexpr uint32_t kWarp = 32;

LoopMap kept(uint32_t rank, uint32_t reduced_axes, std::vector<MappedLoop> loops) {
  return {.first = 0, .axes = rank - reduced_axes, .loops = std::move(loops)};
}

LoopMap reduced(uint32_t rank, uint32_t reduced_axes, std::vector<MappedLoop> loops) {
  return {.first = rank - reduced_axes, .axes = reduced_axes, .loops = std::move(loops), .is_reduced = true};
}

}  // namespace

uint32_t LoopMap::count(Scope scope) const {
  uint32_t count = 1;
  for (const MappedLoop& loop : loops)
    if (loop.scope == scope) count *= std::max(1u, loop.count);
  return count;
}

uint32_t LoopMap::accumulators() const {
  uint32_t count = 1;
  for (const MappedLoop& loop : loops) count = loop.scope == Scope::Fold ? 1 : count * std::max(1u, loop.count);
  return count;
}

uint32_t threads_of(const LoopMaps& maps) {
  uint32_t threads = 1;
  for (const LoopMap& loop_map : maps) threads *= loop_map.count(Scope::Block);
  return threads;
}

uint32_t lanes_of(const LoopMaps& maps) { return maps.empty() ? 1 : maps.back().count(Scope::Vector); }

const LoopMap& kept_map(const LoopMaps& maps) { return *std::ranges::find(maps, false, &LoopMap::is_reduced); }

const LoopMap& reduced_map(const LoopMaps& maps) { return *std::ranges::find(maps, true, &LoopMap::is_reduced); }

bool are_across(const LoopMaps& maps) { return maps.front().is_reduced; }

LoopMaps loop_maps_of(const RowsAlong& rows, uint32_t rank, uint32_t reduced_axes) {
  const uint32_t runs = rows.accumulators / (rows.chunks * rows.cluster * rows.threads * rows.lanes);
  std::vector<MappedLoop> kept_loops = {{Scope::Grid}, {Scope::Block, rows.block_rows}};
  // A block with fused column partials has one row, or a few, of its chunk after the other.
  if (rows.column_chunks > 0)
    kept_loops = {
        {Scope::Serial}, {Scope::Grid, rows.column_chunks / rows.block_rows}, {Scope::Block, rows.block_rows}};
  return {kept(rank, reduced_axes, std::move(kept_loops)), reduced(rank, reduced_axes,
                                                                   {{Scope::Fold},
                                                                    {Scope::Grid, rows.chunks},
                                                                    {Scope::Serial, runs},
                                                                    {Scope::Cluster, rows.cluster},
                                                                    {Scope::Block, rows.threads},
                                                                    {Scope::Vector, rows.lanes}})};
}

uint32_t groups_across(const RowsAcross& rows) { return rows.accumulators / (rows.chunks * rows.threads * rows.group); }

LoopMaps loop_maps_of(const RowsAcross& rows, uint32_t rank, uint32_t reduced_axes) {
  return {reduced(rank, reduced_axes,
                  {{Scope::Fold},
                   {Scope::Grid, rows.chunks},
                   {Scope::Block, rows.threads},
                   {Scope::Serial, groups_across(rows)},
                   {Scope::Vector, rows.group}}),
          kept(rank, reduced_axes, {{Scope::Grid}, {Scope::Block, rows.threads_across}, {Scope::Vector, rows.lanes}})};
}

LoopMaps finalize_maps_along(uint32_t chunks, uint32_t rank, uint32_t reduced_axes) {
  constexpr uint32_t kLeastThreads = 128, kMostThreads = 1024;  // of a block
  const uint32_t threads = std::min(chunks, kMostThreads);
  return {kept(rank, reduced_axes, {{Scope::Grid}, {Scope::Block, std::max(1u, kLeastThreads / threads)}}),
          reduced(rank, reduced_axes, {{Scope::Serial, chunks / threads}, {Scope::Block, threads}})};
}

// More threads if there are many chunks (docs/performance.md: column-sums-second-launch).
LoopMaps finalize_maps_across(uint32_t chunks, uint32_t group, uint32_t threads_across, uint32_t rank,
                              uint32_t reduced_axes) {
  threads_across = std::min(threads_across, kWarp);
  constexpr uint32_t kFewestWarps = 8, kMostWarps = 32;
  const uint32_t warps = std::clamp(chunks / kWarp, kFewestWarps, kMostWarps),
                 threads = std::min(chunks, warps * kWarp / threads_across);
  threads_across = std::max(threads_across, kWarp / threads), group = std::min(group, chunks / threads);
  return {reduced(rank, reduced_axes,
                  {{Scope::Block, threads}, {Scope::Serial, chunks / threads / group}, {Scope::Vector, group}}),
          kept(rank, reduced_axes, {{Scope::Grid}, {Scope::Block, threads_across}})};
}

}  // namespace ingot::codegen
