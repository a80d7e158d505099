#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/shape/layout.h"
#include "codegen/target/target.h"
#include "ir/graph.h"

// Every decision about speed, as data: which steps of which axis are taken by whom, and how each access is made. It is
// made by pure functions (policy.h) of a kernel's outline, its layout, what its ops cost and the target. The rooms
// behind it decide nothing. Any schedule that a layout allows gives the same bits.

namespace ingot::codegen {

/// Who takes the steps of a part of an axis.
enum class Scope : uint8_t {
  Grid,    ///< blocks; on the CPU the pieces that the pool's threads are given
  Block,   ///< the threads of a block
  Warp,    ///< the warps of a block
  Lane,    ///< the threads of a warp
  Vector,  ///< one thread, unrolled; on the CPU a loop for vector instructions
  Serial,  ///< one thread, a loop
};

/// One part of a walk: `count` steps, each as long as all parts within it together. 0: as many as there are.
struct Step {
  Scope scope;
  uint32_t count = 0;
  bool operator==(const Step&) const = default;
};

/// How `axes` neighbouring axes from `first` on, taken as one, are walked: outermost part first. With
///   grid · 256 block · 4 vector      a thread takes four neighbours;
///   grid · 4 vector · 256 block      it takes four elements that lie 256 apart: its lanes are interleaved.
struct Walk {
  uint32_t first = 0, axes = 1;
  std::vector<Step> steps;
  bool operator==(const Walk&) const = default;
};

/// How a thread finds the coordinates of its elements along axes that are walked as one.
enum class Coordinates : uint8_t {
  None,    ///< nothing asks for them
  Thread,  ///< by division, of its first element; its other lanes follow along the innermost axis, whose end they share
  Lane,    ///< by division, for each lane
  Row,     ///< by division, of its block; those of its lanes that are not of the block's row are nobody's
  Carry,   ///< by division, of its first element; from lane to lane they are counted on
};

/// Neighbours of one access group that are read or written at once.
struct Chunk {
  uint32_t first, width;  ///< in elements from the group's leader
  bool operator==(const Chunk&) const = default;
};

/// CUDA: of groups of neighbours, the vectors of so many runs a thread reads at once: more had better not be held.
inline constexpr uint32_t kRunsAhead = 4;

/// How one access is made.
struct AccessSchedule {
  enum class How : uint8_t {
    Fixed,     ///< the same element for all lanes of a thread, and of a row on the CPU
    Single,    ///< each lane for itself
    Vector,    ///< a thread's lanes at once
    Shifted,   ///< the same, out of the two aligned vectors around them
    Grouped,   ///< with the neighbours of its group, in the leader's chunks
    Batched,   ///< CUDA: with the other rows of the warp, by vectors through shared memory
    Staged,    ///< with the two innermost walks exchanged, and turned in shared memory, or in a buffer on the CPU
    Spread,    ///< CPU: each element as a row of a buffer
    Repeated,  ///< CPU: the elements of a row as all rows of a buffer
  } how = How::Single;
  std::vector<Chunk> chunks = {};  ///< of a leader
  bool widened = false;            ///< CPU: float16 is converted by runs, the loop reads or writes their float32
  bool masked = false;             ///< read only where an arm of a `where` that needs it is taken
  bool foreseen = false;           ///< CUDA: and with those of all runs, where it is known which arms are taken
  bool ahead = false;              ///< CUDA: read once, ahead of all phases, whichever needs it first
  bool operator==(const AccessSchedule&) const = default;
};

/// How a kernel goes through its rows. What a row comes to depends on `classes` and `piece` alone, which follow from
/// its length, and of very long ones from how many elements of tensors one of its elements is made of: element i
/// belongs to class i mod classes, of a row or of the piece of it that i lies in; a class takes its elements in order,
/// and classes are combined along the bits of their numbers (on CUDA lowest first, on the CPU highest first), as pieces
/// are after that.
struct RowSchedule {
  uint32_t classes = 0;  ///< a power of two; 0 where nothing is reduced
  uint32_t piece = 0;    ///< CPU: elements of a piece; 0: a row is one
  bool splits = false;   ///< pieces are shared out, and a second launch makes one of them
  uint32_t pieces = 1;   ///< CUDA: of a row that is split: neighbouring classes, a block's
  uint32_t threads = 1;  ///< CUDA: of a row, or of its piece, in a block; a power of two
  uint32_t cluster = 1;  ///< CUDA: blocks of a row, that share what they find; a power of two
  bool across = false;   ///< lanes, and on CUDA neighbouring threads, have neighbouring rows
  uint32_t group = 0;    ///< CUDA, across: neighbouring classes that a thread has at a time; a power of two
  uint32_t batch = 0;    ///< CUDA: that a warp takes and leaves as one piece of memory; 0: none are
  uint32_t steps = 0;   ///< CUDA: in which a thread reads its elements of a row, and keeps them; 0: it reads them again
  uint32_t full = 0;    ///< CUDA: of these steps the first, in which there are elements for all threads
  uint32_t shared = 0;  ///< CUDA: of these steps the last, whose elements lie in shared memory
  uint32_t blocks = 0;  ///< CUDA: that a multiprocessor shall have room for at once; 0: as it comes
  uint32_t early =
      0;  ///< CUDA: a phase whose sums are taken in the one before, and again where a row asks for it; 0: none
  uint32_t passing = 0;     ///< CUDA: pieces that rows are dealt out into, of whose columns each finds sums in passing
  bool prefetches = false;  ///< CUDA: and the next row is on its way while one is computed
  bool by_runs = false;     ///< CUDA: a thread has a run of its classes at a time, and reads its elements in `steps`
  std::vector<ir::NodeId> kept;  ///< values of elements that it keeps as well, from the phase that computes them on
  bool operator==(const RowSchedule&) const = default;
};

struct Schedule {
  /// Of all axes, outermost first, but that the two of a tile on the CPU come last; none for a single element. Blocks,
  /// and the threads of a block, are counted along the walks as digits are, the last one's first.
  std::vector<Walk> walks;
  Coordinates coordinates = Coordinates::None;
  bool ragged = false;         ///< a thread's lanes may reach past the end of the domain
  uint8_t index_bits = 32;     ///< of index arithmetic
  uint32_t across = 0;         ///< of a tile, the axis that spans it beside the innermost one
  uint32_t threads = 1;        ///< of a block
  uint32_t lanes = 1;          ///< elements a thread takes
  bool own_quotients = false;  ///< CUDA: float32 is divided by steps of the kernel's own
  uint32_t simd = 0;           ///< CPU: elements of a vector; 0: as many as the machine's have room for
  uint32_t weight = 1;  ///< CPU: the cost of an element, in eighths of a nanosecond, for the grain of parallel_for
  std::vector<AccessSchedule> accesses;  ///< one for each of the outline's
  RowSchedule rows = {};
  std::vector<ir::NodeId> lazy;  ///< the `where`s that compute an arm only where it is taken, in the graph's order
  bool operator==(const Schedule&) const = default;

  /// Whether a block takes a square of the domain, not neighbours along it.
  bool is_tile() const {
    return walks.size() > 1 && std::ranges::count(accesses, AccessSchedule::How::Staged, &AccessSchedule::how) > 0;
  }
  /// CPU: whether rows are so short that many of them make a chunk.
  bool is_chunk() const {
    return threads == 1 && walks.size() == 1 && walks[0].axes > 1 && walks[0].steps.back().count > 0;
  }
};

/// The schedule of a kernel. `graph` must be the one that the outline was made of.
Schedule schedule(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout,
                  const Target& target, const Options& options);
/// All that the layout allows, for tests: they mean the same.
std::vector<Schedule> allowed_schedules(const ir::Graph& graph, const KernelOutline& outline,
                                        const KernelLayout& layout, const Target& target);

/// For a person.
std::string print(const AccessSchedule& access);
/// For a person: `outline` is the kernel's.
std::string print(const Schedule& schedule, const KernelOutline& outline);

}  // namespace ingot::codegen
