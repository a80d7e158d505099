#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/schedule/loop_map.h"
#include "codegen/shape/layout.h"
#include "codegen/target/target.h"
#include "ir/graph.h"

// Every decision about speed, as data: how the axes are distributed over blocks, threads and vectors, and how each
// access is made. Pure functions (policy.h) choose it from a kernel's outline, its layout, the cost of its ops and the
// target. Later stages decide nothing about speed. All schedules that a layout allows give the same bits.

namespace ingot::codegen {

/// How a thread computes the coordinates of its elements along merged axes. Here, a row is a line of elements along the
/// innermost axis. "By division": from a linear index, by division and remainder.
enum class Coordinates : uint8_t {
  None,    ///< not computed, because they are not needed
  Thread,  ///< computed by division for its first element; its other elements are the next ones in the same row
  Lane,    ///< computed by division for each of a thread's elements
  Row,     ///< computed by division once per block, which has one row; a vector's elements outside the row are ignored
  Carry,   ///< computed by division for its first element; incremented with carry for its other elements
};

/// Adjacent elements of one access group that are loaded or stored as a vector. An access group consists of the
/// accesses of one tensor at neighbouring elements; its leader is the access with the smallest offset
/// (AccessLayout::leader).
struct GroupVector {
  uint32_t first, width;  ///< in elements from the group's leader
  bool operator==(const GroupVector&) const = default;
};

/// CUDA: the largest number of runs for which a thread loads its vectors in advance; more would need too many
/// registers. A run has one vector of adjacent accumulators for each thread of a row.
inline constexpr uint32_t kRunsAhead = 4;

/// How an access is made.
struct AccessSchedule {
  enum class How : uint8_t {
    Fixed,     ///< uniform: one element is used for all elements of a thread, or on the CPU, for all elements of a row
    Single,    ///< one access per element
    Vector,    ///< one vector for the elements of a thread
    Shifted,   ///< as Vector, but taken from the two aligned vectors that contain the elements
    Grouped,   ///< together with the other accesses of its group, in the `group_vectors` of the leader
    Batched,   ///< CUDA: together with the other rows of the warp, in vectors that are copied through shared memory
    Staged,    ///< transposed: accessed with the two innermost loop maps exchanged, through shared memory, or on the
               ///< CPU through a buffer
    Spread,    ///< CPU: broadcast along rows: each element fills a row of a buffer
    Repeated,  ///< CPU: broadcast over rows: each row of a buffer is a copy of the same elements
  } how = How::Single;
  std::vector<GroupVector> group_vectors = {};  ///< the vectors of the access group, if this access is its leader
  bool is_widened = false;                      ///< CPU: float16 is converted in bulk; the loop reads or writes float32
  bool is_masked = false;                       ///< loaded only if a selected arm of a `where` needs it
  bool is_hoisted = false;                      ///< CUDA: loaded under a hoisted predicate, for all elements of a
                                                ///< thread at once; in reductions, for all its runs
  bool is_loaded_ahead = false;  ///< CUDA: loaded once, ahead of all phases, whichever phase needs it first
  bool is_prefetched = false;    ///< CPU: the memory of a result is prefetched while an earlier phase computes
  bool operator==(const AccessSchedule&) const = default;
};

/// Where the elements of a row are between phases: what is not cached is loaded, or computed, again in each phase.
struct Residency {
  uint32_t steps = 0;            ///< CUDA: register-cached parts of a row per thread: vectors, or, across rows, the
                                 ///< elements of a group of accumulators; 0: none
  uint32_t unguarded_steps = 0;  ///< CUDA: the number of first steps that need no guard, because every thread has
                                 ///< elements
  uint32_t shared_steps = 0;  ///< CUDA: the number of last steps whose elements are in shared memory, not in registers
  uint32_t batch = 0;         ///< CUDA: rows that a warp copies through shared memory together; 0: none
  bool prefetches = false;    ///< CUDA: the next row is loaded while one is computed
  /// CUDA: a thread whose elements of a step are past the row's end computes, but neither loads, accumulates nor
  /// stores. Otherwise there is a branch around the step.
  bool computes_past_end = false;
  /// Blocked accumulators: a thread takes all elements of some accumulators, then those of the next ones. On CUDA it
  /// has the accumulators of one run at a time, whose elements it loads in `steps` vectors; on the CPU, if rows are
  /// across, one accumulator of each row.
  bool has_blocked_accumulators = false;
  std::vector<ir::NodeId> cached;  ///< the nodes whose values, one per element, are kept for later phases
  bool operator==(const Residency&) const = default;
};

/// How a kernel is executed: all decisions about the speed of one kernel.
///
/// In a kernel that reduces, a row's result depends on the number of accumulators and, on the CPU, on the chunk length
/// alone. Both numbers follow from the row's length and, for very long rows, from the number of tensor loads per
/// element. Element i belongs to accumulator i mod `accumulators` of its row, or of its chunk of the row. An
/// accumulator takes its elements in order. Accumulators are combined as a binary tree, along the bits of their
/// indices: lowest first on CUDA (adjacent ones first), highest first on the CPU (halves first). The chunks are then
/// combined in the same way.
struct Schedule {
  /// The two axes of a CPU tile come last. Empty for a kernel of one element. A kernel that reduces has two maps: of
  /// the rows and of the elements of a row, either of which may have no axes.
  LoopMaps loop_maps = {};
  /// CUDA: the loop maps of the launch that combines the partial results of a row, if several blocks compute them; the
  /// map of a row is over its partial results. Otherwise empty.
  LoopMaps finalize_maps = {};
  Coordinates coordinates = Coordinates::None;
  bool has_partial_vectors = false;  ///< some elements of a thread's vector may be outside the domain or the row
  uint8_t index_bits = 32;           ///< the width of the integers in index arithmetic
  uint32_t tile_axis = 0;            ///< if is_tile(): the tile spans this axis and the innermost axis
  bool uses_quotient_of = false;     ///< CUDA: float32 is divided by the prelude's `quotient_of`
  uint32_t simd = 0;                 ///< CPU: elements of a vector; 0: the machine's widest vectors
  uint32_t weight = 1;  ///< CPU: the estimated time per element in 1/8 ns; sets the grain size of parallel_for
  std::vector<AccessSchedule> accesses = {};  ///< one per access of the outline
  Residency residency = {};
  uint32_t min_blocks = 0;            ///< CUDA: minimum of blocks per multiprocessor; 0: the compiler's choice
  uint32_t speculative_phase = 0;     ///< CUDA: the speculative phase: its sums are computed one phase early, and again
                                      ///< for rows that take the other arm; 0: none
  std::vector<ir::NodeId> lazy = {};  ///< the `where`s that compute an arm only if it is selected, in the graph's order
  bool operator==(const Schedule&) const = default;

  uint32_t threads() const { return threads_of(loop_maps); }
  uint32_t lanes() const { return lanes_of(loop_maps); }
  const LoopMap& kept() const { return kept_map(loop_maps); }
  const LoopMap& reduced() const { return reduced_map(loop_maps); }
  bool is_across() const { return are_across(loop_maps); }
  /// Whether several blocks, or units, compute the partial results of a row.
  bool is_split() const;
  /// CPU: the elements of a chunk of a row; 0: a row is one chunk.
  uint32_t chunk_length() const;
  /// CUDA: the number of chunks of each column for fused column partials: row r belongs to chunk r mod this number.
  /// 0: there are no such partials.
  uint32_t column_chunks() const;
  /// Whether a block computes a tile of the domain instead of a linear range.
  bool is_tile() const {
    return loop_maps.size() > 1 && std::ranges::count(accesses, AccessSchedule::How::Staged, &AccessSchedule::how) > 0;
  }
  /// CPU: whether rows are so short that one loop computes several of them.
  bool joins_short_rows() const {
    return threads() == 1 && loop_maps.size() == 1 && loop_maps[0].axes > 1 && loop_maps[0].loops.back().count > 0;
  }
};

/// The schedule of a kernel. `graph` must be the graph from which the outline was made.
Schedule schedule(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout,
                  const Target& target, const Options& options);
/// The text that `ingot emit --stage schedule` prints for an access.
std::string print(const AccessSchedule& access);
/// The text that `ingot emit --stage schedule` prints; `outline` is the outline of the same kernel.
std::string print(const Schedule& schedule, const KernelOutline& outline);

}  // namespace ingot::codegen
