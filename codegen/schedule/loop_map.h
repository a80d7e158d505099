#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

// How the axes of a kernel are distributed over blocks, threads and vectors.

namespace ingot::codegen {

/// The level that executes a part of an axis.
enum class Scope : uint8_t {
  Grid,     ///< blocks; on the CPU, units: the indices of parallel_for
  Cluster,  ///< the blocks of a cluster, which exchange results
  Block,    ///< the threads of a block
  Vector,   ///< one thread, unrolled; on the CPU, a vectorised loop
  Serial,   ///< one thread, a loop
  Fold,     ///< one thread, a loop whose iterations accumulate into the same accumulators
};

/// One loop of a loop map: `count` iterations, each of which covers all inner loops of the map. 0: enough to cover the
/// extent. The generated source need not have a loop statement for it, and may nest loops in another order.
struct MappedLoop {
  Scope scope;
  uint32_t count = 0;
  bool operator==(const MappedLoop&) const = default;
};

/// A loop map: the loop nest (outermost loop first) that iterates over a merged axis, with the level that executes each
/// loop. The merged axis consists of `axes` adjacent axes from `first` on. For example
///  grid · 256 block · 4 vector      a thread has four adjacent elements;
///  grid · 4 vector · 256 block      a thread has four elements that are 256 apart (interleaved).
/// In a kernel that reduces, the elements of a row that differ only in the index of the fold loop belong to the same
/// accumulator. So a row has as many accumulators as the loops within the fold loop have iterations. For example
///  fold · 2 serial · 256 block · 4 vector      2048 accumulators, of which a thread has two groups of four.
struct LoopMap {
  uint32_t first = 0, axes = 1;
  std::vector<MappedLoop> loops;
  bool is_reduced = false;
  bool operator==(const LoopMap&) const = default;

  /// The iterations of all loops of this level together, without those of a loop whose count is 0.
  uint32_t count(Scope scope) const;
  /// The iterations of all loops within the fold loop together; of all loops if there is no fold loop.
  uint32_t accumulators() const;
};

/// The loop maps of all axes, outermost first. Blocks, and the threads of a block, are numbered with the last loop map
/// varying fastest.
using LoopMaps = std::vector<LoopMap>;

/// The threads of a block.
uint32_t threads_of(const LoopMaps& maps);
/// CUDA: the elements that a thread computes together.
uint32_t lanes_of(const LoopMaps& maps);
/// The maps of a kernel that reduces: of the kept axes, whose elements are the rows; and of the reduced axes, whose
/// elements are the elements of a row.
const LoopMap& kept_map(const LoopMaps& maps);
const LoopMap& reduced_map(const LoopMaps& maps);
/// Whether adjacent threads, and the elements of a vector, belong to adjacent rows instead of one row.
bool are_across(const LoopMaps& maps);

/// CUDA: rows of which adjacent threads have adjacent elements.
struct RowsAlong {
  uint32_t accumulators = 1;   ///< of a row; a power of two, as the other numbers
  uint32_t chunks = 1;         ///< parts of a row's accumulators; one block, or one cluster, computes each
  uint32_t cluster = 1;        ///< the blocks that share a row, or a chunk of it
  uint32_t threads = 1;        ///< per row, or chunk, in each of these blocks
  uint32_t lanes = 1;          ///< adjacent elements that a thread computes together
  uint32_t block_rows = 1;     ///< rows of a block
  uint32_t column_chunks = 0;  ///< for fused column partials: see Schedule::column_chunks
};
/// CUDA: rows of which adjacent threads have corresponding elements.
struct RowsAcross {
  uint32_t accumulators = 1;     ///< of a row; a power of two, as the other numbers
  uint32_t chunks = 1;           ///< parts of a row's accumulators; one block computes each
  uint32_t threads = 1;          ///< that share a row, or a chunk of it, in a block
  uint32_t group = 1;            ///< adjacent accumulators that a thread has at a time
  uint32_t threads_across = 32;  ///< adjacent threads with adjacent vectors of rows: 2 to 32; more if `threads` is 1,
                                 ///< because then no threads exchange results. Threads of one row are as many threads
                                 ///< apart
  uint32_t lanes = 1;            ///< adjacent rows that a thread computes together
};

/// The groups of accumulators that a thread has.
uint32_t groups_across(const RowsAcross& rows);

/// The loop maps of a kernel with this number of axes, of which the last `reduced_axes` are reduced.
LoopMaps loop_maps_of(const RowsAlong& rows, uint32_t rank, uint32_t reduced_axes);
LoopMaps loop_maps_of(const RowsAcross& rows, uint32_t rank, uint32_t reduced_axes);
/// The loop maps of the launch that combines the partial results of chunks (Schedule::finalize_maps).
LoopMaps finalize_maps_along(uint32_t chunks, uint32_t rank, uint32_t reduced_axes);
/// `group`, `threads_across`: as in RowsAcross, but at most a warp of threads, because several share a row. If there
/// are few chunks, the group is smaller, and more threads are adjacent.
LoopMaps finalize_maps_across(uint32_t chunks, uint32_t group, uint32_t threads_across, uint32_t rank,
                              uint32_t reduced_axes);

}  // namespace ingot::codegen
