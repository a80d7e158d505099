#include "codegen/schedule/policy.h"

#include <algorithm>

namespace ingot::codegen {
namespace {

constexpr uint32_t kUnrolled = 1200;  // limit of the cost of a thread's elements, whose code is unrolled
constexpr uint32_t kCostlyRow = 16;   // least cost of a row's shared values for which several vectors should use them

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

/// Whether vectors that start with each row are aligned. For a linear access, only the first row is known to be
/// aligned.
bool is_aligned_in_rows(const AccessFacts& access, const KernelFacts& facts, uint32_t lanes) {
  return is_aligned(access, lanes) && (!access.is_linear || facts.inner_multiple >= lanes);
}

/// Whether a load waits for a condition.
bool reads_late(const KernelFacts& facts) {
  return std::ranges::any_of(facts.accesses, [](const AccessFacts& a) { return a.is_masked && a.kind == Kind::Load; });
}

/// Whether the access gathers a row: adjacent elements at indices that the row's elements share.
bool reads_row(const AccessFacts& access) {
  return access.kind == Kind::Gather && access.row_shares_index && access.inner == StrideClass::One;
}

/// Whether `lanes` adjacent elements of the domain are adjacent in memory, even across ends of rows.
bool is_vector_along(const AccessFacts& access, const KernelFacts& facts, Preset preset) {
  if (access.inner != StrideClass::One) return false;
  if (access.kind == Kind::Gather)  // with a single axis, the last thread's vector may cross the row's end
    return preset == Preset::Flat && facts.rank > 1 && reads_row(access) && (!access.is_masked || access.skips_rows);
  return access.is_linear || facts.rank == 1 || preset == Preset::Flat;
}

/// Whether arithmetic limits the kernel: its arithmetic intensity (FLOP/byte) is high.
bool is_heavy(const KernelFacts& facts) {
  constexpr uint32_t kPerByte = 5;
  const uint32_t bytes = bytes_per_element(facts);
  return bytes > 0 && facts.cost >= kPerByte * bytes;
}

// Blocks of 256 threads with one 16-byte vector per thread are fastest for copies and pointwise kernels
// (docs/performance.md: block-size). If loads wait for a condition, smaller blocks wait less for one another. If
// arithmetic matters too, smaller blocks leave less of a multiprocessor idle at a block's end (docs/performance.md:
// small-blocks).
uint32_t threads_of(const KernelFacts& facts, Preset preset) {
  constexpr uint32_t kBusy = 16;
  const bool is_busy =
      preset == Preset::Flat && facts.cost >= kBusy && !std::ranges::any_of(facts.accesses, &AccessFacts::is_grouped);
  return is_busy || reads_late(facts) ? 128 : 256;
}

// Heavy kernels take two vectors per thread, in two steps, so that a warp accesses whole sectors in each step. Without
// a guard between the steps their computations overlap. Blocks have fewer threads then (docs/performance.md:
// two-vectors-per-thread).
//
// If a result may alias an input, the second load would wait for the first store.
Steps steps_along(const KernelFacts& facts, uint32_t lanes) {
  constexpr uint32_t kThreads = 64, kSteps = 2, kUnrolledSteps = 1600;
  const bool is_quick_to_compile = (kSteps + 1) * lanes * facts.cost <= kUnrolledSteps;
  if (is_heavy(facts) && is_quick_to_compile && !facts.results_alias && may_take_steps(facts, lanes))
    return {kThreads, kSteps};
  return {threads_of(facts, Preset::Flat), 1};
}

// Each thread computes the values that a row's elements share once, for all of its steps. So it takes several steps if
// these values are expensive (docs/performance.md: row-shared-work). If they are cheap, steps only reduce the number of
// blocks in flight (docs/performance.md: one-row-per-block).
Steps steps_through_row(const KernelFacts& facts) {
  if (facts.has_many_steps && facts.row_cost >= kCostlyRow) return {128, 4};
  return {threads_of(facts, Preset::RowByRow), 1};
}

}  // namespace

bool may_take_steps(const KernelFacts& facts, uint32_t lanes) {
  if (facts.has_regions || !allows(Preset::Flat, facts, lanes)) return false;
  return std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
    if (access.kind == Kind::Index) return true;
    const How how = how_for(access, facts, Preset::Flat, lanes);
    return is_element_wise(access) && !access.is_masked && (how == How::Fixed || how == How::Vector);
  });
}

Steps steps_for(const KernelFacts& facts, Preset preset, uint32_t lanes) {
  if (preset == Preset::Flat) return steps_along(facts, lanes);
  if (preset == Preset::RowByRow) return steps_through_row(facts);
  return {threads_of(facts, preset), 1};
}

// A thread has 16 bytes of the widest element type (docs/performance.md: vector-width).
//
// If a heavy kernel cannot take steps, a thread has twice as many bytes: the slow paths of functions then overlap. For
// lighter kernels the second vector costs more than it gains, as each load of a warp then covers only half of each
// sector (docs/performance.md: adjacent-vectors). Each element is a copy of the computation to compile, so large
// computations have fewer elements. A thread does not cross a row's end only to have a second vector.
//
// A thread that gathers a row waits twice: for the index, then for the row. It has more loads in flight with two
// vectors (docs/performance.md: gathered-rows).
uint32_t lanes_for(const KernelFacts& facts) {
  if (facts.rank == 0) return 1;
  uint32_t widest = 0;
  for (const AccessFacts& access : facts.accesses) {
    // The neighbours of a group already form a vector.
    if (access.is_grouped) return reads_late(facts) ? 2 : 1;
    if (is_element_wise(access) && access.inner != StrideClass::Zero) widest = std::max(widest, access.bytes);
  }
  if (widest == 0) return 1;
  uint32_t lanes = kVectorBytes / widest;
  const bool waits = std::ranges::any_of(facts.accesses, reads_row);
  const bool is_busy = is_heavy(facts) && steps_along(facts, lanes).count == 1;
  if ((is_busy || waits) && lanes < 8) lanes *= 2;
  while (lanes > 2 && lanes * facts.cost > kUnrolled) lanes /= 2;
  const bool crosses_row_end = facts.rank > 1 && facts.inner_multiple < lanes;
  return crosses_row_end && facts.inner_multiple * widest >= kVectorBytes ? facts.inner_multiple : lanes;
}

// A thread that waits for a condition can only work on its other elements. The threads of a warp must therefore save
// enough memory traffic by skipping loads: skipping whole access groups does. An operand with one element per element
// of the domain is read in the same sectors whether or not an adjacent element is needed, and could not be loaded as a
// vector (docs/performance.md: lazy-where). A gather is always lazy: its index need not be valid if the arm is not
// selected.
bool is_lazy(const ArmFacts& arms, Lazy lazy, bool is_cuda) {
  if (lazy == Lazy::Auto) return arms.gathers || (arms.reads_groups && is_cuda);
  return lazy == Lazy::Always && arms.computes;
}

// If a result may overwrite an operand, the operand is loaded before anything is stored. If the kernel has several
// phases, operands are loaded once, before the condition is known, and cached.
bool is_masked(const AccessFacts& access, const KernelFacts& facts, Lazy lazy, bool is_cuda) {
  if (access.kind == Kind::Gather) return true;
  if (access.kind != Kind::Load || facts.results_alias || access.is_uniform) return false;
  return (access.is_grouped && is_cuda && !facts.has_several_phases) || lazy == Lazy::Always;
}

// The GPU's division calls a function if the numerator is 0, for example for boxes that do not overlap. `quotient_of`
// takes as many instructions and handles zeros without a call (docs/performance.md: zero-division).
bool uses_quotient_of(const KernelFacts& facts) {
  constexpr uint32_t kMany = 4;
  return facts.quotients >= kMany;
}

// With a hoisted predicate, the loads of all elements are issued before any element is computed. The loaded vectors
// take registers until then, so their bytes are limited. A reduction that stores no elements gains more from more
// blocks, and does not hoist (reducing_on_cuda, docs/performance.md: hoisted-predicate).
bool should_hoist(const AccessFacts& access, const std::vector<GroupVector>& group_vectors, uint32_t group_count) {
  constexpr uint32_t kBytes = 32;
  uint32_t bytes = 0;
  for (const GroupVector& group_vector : group_vectors)
    if (group_vector.width > 1) bytes += group_vector.width * access.bytes;
  return access.is_hoistable && bytes > 0 && bytes * group_count <= kBytes;
}

bool allows(Preset preset, const KernelFacts& facts, uint32_t lanes) {
  switch (preset) {
    case Preset::Single:
      return true;
    case Preset::Flat:
      return lanes > 1 && (facts.rank == 1 || facts.inner_multiple >= lanes);
    case Preset::RowByRow:
      return lanes > 1 && (facts.has_long_rows || facts.has_many_steps) && !facts.has_regions &&
             std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
               return access.kind == Kind::Index ||
                      (is_element_wise(access) && !access.is_grouped &&
                       (access.inner == StrideClass::Zero || (access.is_linear && is_aligned(access, lanes))));
             });
    case Preset::Carried:
      return lanes > 1 && facts.rank > 1;
    case Preset::Tile:
      return axis_across(facts) != kNoAxis;
    case Preset::Interleaved:
      return lanes > 1;
  }
  return false;
}

// Flat if every access is a vector, or a shifted vector. If rows end within a thread's vector, linear accesses are
// still vectors, and coordinates are carried from element to element (Carried). Operands that are loaded element by
// element must then be small: 4 adjacent elements of a thread are 4 requests for the same sectors. Otherwise the
// elements of a thread are as far apart as the block has threads (Interleaved), so that loads are coalesced
// (docs/performance.md: carried-coordinates).
//
// If every access is linear or uniform within a row, long rows whose length is no multiple of a vector get blocks of
// their own. So do long rows of any multiple for which an expensive value is computed once per row
// (docs/performance.md: row-shared-work).
Preset preset_for(const KernelFacts& facts, uint32_t lanes) {
  if (lanes == 1) return Preset::Single;
  if (reads_late(facts)) return Preset::Interleaved;
  const auto suits = [&](Preset preset) {
    return allows(preset, facts, lanes) && std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
             const How how = how_for(access, facts, preset, lanes);
             const bool is_small = access.kind == Kind::Load && access.broadcasts && preset == Preset::Carried;
             return how != How::Single || is_small || !is_element_wise(access);
           });
  };
  if (facts.has_many_steps && facts.row_cost >= kCostlyRow && suits(Preset::RowByRow)) return Preset::RowByRow;
  for (const Preset preset : {Preset::Flat, Preset::RowByRow, Preset::Carried})
    if (suits(preset)) return preset;
  return axis_across(facts) != kNoAxis ? Preset::Tile : Preset::Interleaved;
}

namespace {

constexpr uint32_t kTileBytes = 48 << 10;  // of shared memory
constexpr uint32_t kSmallTile = 32 * 33;   // elements, with those of the padding column

}  // namespace

// A load that is contiguous along another axis than the results reads a sector per element. A load through a tile in
// shared memory is coalesced (docs/performance.md: shared-memory-tile). If several axes qualify, the one with most
// bytes is chosen. No tile is used in three cases. If the innermost axis has at most 16 elements, a warp's loads are
// nearly coalesced without one. If the product of both extents is small, a block uses whole cache lines anyway. And
// many transposed operands may need more shared memory than every GPU provides by default, even for small tiles.
uint32_t axis_across(const KernelFacts& facts) {
  if (facts.rank < 2 || facts.has_regions) return kNoAxis;
  constexpr uint32_t kShortBits = 4, kSmallBits = 12;
  static_assert(kSmallBits <= 2 * kLargeTileBits, "large matrices have tiles");
  for (const AccessFacts& access : facts.accesses) {
    if (access.is_grouped || access.kind == Kind::Gather) return kNoAxis;
    if (access.kind == Kind::Store && access.inner != StrideClass::One) return kNoAxis;
  }
  if (facts.inner_bits <= kShortBits || facts.inner_bits + facts.transposed_bits < kSmallBits) return kNoAxis;
  const uint32_t axis = most_transposed_axis(facts);
  return transposed_bytes(facts, axis) * kSmallTile <= kTileBytes ? axis : kNoAxis;
}

// A square of 64 by 64 elements; of 32 by 32 if the tiles would otherwise need more shared memory than every GPU
// provides by default. If one axis is shorter, the other side is longer, up to 256. Vectors of 16 bytes on both sides
// if all rows are aligned (docs/performance.md: shared-memory-tile).
TileSize tile_size_for(const KernelFacts& facts) {
  const uint32_t across = axis_across(facts);
  uint32_t widest = 1;
  bool are_aligned = true;
  for (const AccessFacts& access : facts.accesses) {
    const bool is_staged = is_transposed(access, across);
    const bool is_large = is_element_wise(access) && !access.broadcasts;
    if (!is_large || (!is_staged && access.inner != StrideClass::One)) continue;
    widest = std::max(widest, access.bytes);
    are_aligned &= is_aligned_in_rows(access, facts, kVectorBytes / access.bytes);
  }
  constexpr uint32_t kLongestSide = 256;
  const uint32_t bytes = transposed_bytes(facts, across),
                 most_rows = std::min(kLongestSide, 1u << facts.transposed_bits),
                 most_columns = std::min(kLongestSide, 1u << facts.inner_bits);
  TileSize size{64, 64, are_aligned ? kVectorBytes / widest : 1};
  const auto fit = [&](uint32_t side) {
    size.rows = std::min(most_rows, std::max(side, side * side / most_columns));
    size.columns = std::min(most_columns, std::max(side, side * side / most_rows));
  };
  fit(64);
  if (bytes * size.rows * (size.columns + 1) > kTileBytes) fit(32);
  size.lanes = std::min(
      {size.lanes, size.rows, size.columns, std::max(1u, size.rows * size.columns / threads_of(facts, Preset::Tile))});
  return size;
}

// An unaligned load is assembled from the two aligned vectors around it; the second one is also another thread's first
// and so is cached (docs/performance.md: unaligned-loads). A gathered row is loaded like any other row once its index
// is known.
How how_for(const AccessFacts& access, const KernelFacts& facts, Preset preset, uint32_t lanes) {
  if (access.is_grouped) return How::Grouped;
  const bool shares_row = preset == Preset::Single || preset == Preset::Flat || preset == Preset::RowByRow;
  if (access.is_uniform || (shares_row && access.inner == StrideClass::Zero)) return How::Fixed;
  if (preset == Preset::Tile) {
    const uint32_t across = axis_across(facts);
    if (is_transposed(access, across)) return How::Staged;
    if (access.inner == StrideClass::Zero && across < 64 && (access.constant_axes >> across & 1) != 0)
      return How::Fixed;
    const bool is_vector = lanes > 1 && access.inner == StrideClass::One && is_aligned_in_rows(access, facts, lanes);
    return is_vector ? How::Vector : How::Single;
  }
  if (lanes == 1 || preset == Preset::Interleaved || !is_vector_along(access, facts, preset)) return How::Single;
  if (is_aligned(access, lanes)) return How::Vector;
  const bool shifts = access.kind == Kind::Load && access.is_linear && lanes * access.bytes >= kWordBytes;
  return shifts ? How::Shifted : How::Single;
}

std::vector<GroupVector> vectors_of_group(const std::vector<uint32_t>& used, uint32_t element_bytes, uint32_t alignment,
                                          bool store) {
  std::vector<GroupVector> group_vectors;
  const uint32_t last = used.back();
  for (size_t next = 0; next < used.size();) {
    GroupVector group_vector{used[next], 1};
    const auto end_of = [&](uint32_t end) { return std::ranges::lower_bound(used, end) - used.begin(); };
    for (uint32_t width = kVectorBytes / element_bytes; width > 1; width /= 2) {
      const uint32_t first = used[next] / width * width;
      // Elements of the vector before the first used one and after the last one might be outside the tensor.
      const bool is_readable = first >= used.front() && first + width <= last + 1;
      const auto members = static_cast<uint32_t>(end_of(first + width)) - static_cast<uint32_t>(next);
      if (is_readable && alignment >= width * element_bytes && members > 1 &&
          (!store || (first == used[next] && members == width))) {
        group_vector = {first, width};
        break;
      }
    }
    group_vectors.push_back(group_vector);
    next = static_cast<size_t>(end_of(group_vector.first + group_vector.width));
  }
  return group_vectors;
}

std::vector<GroupVector> group_vectors_of(const KernelOutline& outline, const KernelLayout& layout, uint32_t leader) {
  std::vector<uint32_t> used;
  for (const AccessLayout& access : layout.accesses)
    if (access.leader == leader) used.push_back(access.neighbour);
  std::ranges::sort(used);
  const auto repeats = std::ranges::unique(used);
  used.erase(repeats.begin(), repeats.end());
  const AccessUse& use = outline.accesses[leader];
  return vectors_of_group(used, static_cast<uint32_t>(ir::size_of(use.dtype)), layout.accesses[leader].alignment,
                          use.kind == Kind::Store);
}

}  // namespace ingot::codegen
