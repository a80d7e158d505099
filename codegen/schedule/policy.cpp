#include "codegen/schedule/policy.h"

#include <algorithm>

namespace ingot::codegen {
namespace {

constexpr uint32_t kUnrolled = 1200;  // what may be compiled, in units of cost
constexpr uint32_t kCostlyRow = 16;   // what may be computed for a row by each thread that has a vector of it

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

/// The same of vectors that begin with each row: of what knows no rows, only the first is known to be aligned.
bool is_aligned_in_rows(const AccessFacts& access, const KernelFacts& facts, uint32_t lanes) {
  return is_aligned(access, lanes) && (!access.linear || facts.inner_multiple >= lanes);
}

/// Whether a load waits for a condition.
bool reads_late(const KernelFacts& facts) {
  return std::ranges::any_of(facts.accesses, [](const AccessFacts& a) { return a.masked && a.kind == Kind::Load; });
}

/// Whether it gathers neighbours: the elements of a row, whose place all of them share.
bool reads_row(const AccessFacts& access) {
  return access.kind == Kind::Gather && access.shares_place && access.inner == StrideClass::One;
}

/// Whether `lanes` neighbours of the domain are as many neighbours in memory, wherever a row ends.
bool runs_along(const AccessFacts& access, const KernelFacts& facts, Preset preset) {
  if (access.inner != StrideClass::One) return false;
  if (access.kind == Kind::Gather)  // along one axis alone the last thread's lanes may reach past the row
    return preset == Preset::Flat && facts.rank > 1 && reads_row(access) && (!access.masked || access.skips_rows);
  return access.linear || facts.rank == 1 || preset == Preset::Flat;
}

/// Whether the processor has so much to do for each byte that it is what a kernel waits for.
bool is_heavy(const KernelFacts& facts) {
  constexpr uint32_t kPerByte = 5;
  uint32_t bytes = 0;
  for (const AccessFacts& access : facts.accesses)
    if (access.kind != Kind::Index && !access.broadcasts) bytes += access.bytes;
  return bytes > 0 && facts.cost >= kPerByte * bytes;
}

// Of copies and of pointwise kernels with 1 to 3 inputs on an H200, blocks of 256 threads that take one 16-byte vector
// a thread are as fast as anything: more vectors a thread, a persistent grid, cache hints and bulk copies lose 1 to 12
// %. Where loads wait for a condition, smaller ones wait less for one another: a loss's backward reaches 0.92 with 64
// threads for 0.89. 128 are what sums over boxes have, and were not timed by themselves.
//
// Where the processor is busy too, smaller ones leave it idle for less of a block's end: with 256 and with 128 threads,
// on two cards, float32 sigmoid is at 0.99 and 1.00 of torch.compile's speed, silu at 0.99 and 1.00, gelu (34) at 0.98
// and 0.99; by hand, in one run, two neighbouring vectors of elu (39) reach 0.97 and 0.99 of a copy, of softplus (46)
// 0.99 and 1.01.
uint32_t threads_of(const KernelFacts& facts, Preset preset) {
  constexpr uint32_t kBusy = 16;
  const bool is_busy =
      preset == Preset::Flat && facts.cost >= kBusy && !std::ranges::any_of(facts.accesses, &AccessFacts::grouped);
  return is_busy || reads_late(facts) ? 128 : 256;
}

// Two vectors a block apart, so that each is whole sectors of a warp's, and no guard between them in blocks that are
// whole, so that they are computed side by side: what the processor has to do for a byte decides. By hand on an H200,
// of blocks of 128 threads with one vector, two of them and two neighbours (instructions a byte): gelu (4.3) 1.00, 1.01
// and 0.92, elu (4.9) 1.00, 1.01 and 0.99, softplus (5.8) 0.97, 1.00 and 1.01, mish (8.3) 0.87, 0.97 and 0.80; in
// bfloat16 gelu (8.5) 0.68 and 0.79, gelu(x + y) (5.8) 0.90 and 0.95. With a guard for each vector mish reaches 0.95,
// gelu in bfloat16 0.74.
//
// An H100 has 0.7 of the bandwidth: there a second vector costs all float32 ones 0.005 to 0.01 and gelu(x + y) in
// bfloat16 0.01, and gives, of one vector, two in 128 threads and two in 64: in bfloat16 gelu 0.94, 0.96 and 0.98,
// selu (9.8) 0.97, 0.97 and 0.99, softplus (11.5) 0.90, 0.96 and 0.96, mish (16.5) 0.75, 0.80 and 0.80, gelu(x + b)
// 0.90, 0.92 and 0.93. Four in 64 are better yet for some (mish 0.83) and worse for others (selu 0.97, softplus 0.94).
//
// Where a result may lie in an input, the second load waits for the first store.
Steps steps_along(const KernelFacts& facts, uint32_t lanes) {
  constexpr uint32_t kThreads = 64, kSteps = 2, kUnrolledSteps = 1600;
  const bool compiles_soon = (kSteps + 1) * lanes * facts.cost <= kUnrolledSteps;
  if (is_heavy(facts) && compiles_soon && !facts.results_alias && may_take_steps(facts, lanes))
    return {kThreads, kSteps};
  return {threads_of(facts, Preset::Flat), 1};
}

// What a row's elements share is computed by each thread, and once for all of its steps: cross_entropy's backward of
// 2^14 rows of 50257 in bfloat16 reaches 0.71 of a copy on an H100 with one step of 256 threads, 0.86 with two, 0.92
// with four, 0.92 with four of 128 and 0.94 with eight; 0.76 where all of these are loaded first. With a loop of its
// own for blocks that lie within the row, four of 128 reach 0.96 (eight 0.94, four of 256 0.98), and of 2^12 rows on an
// H200 0.91 (0.91, 0.90).
//
// Where that is little, steps are only fewer blocks under way: tanh(x - b) over planes of 513 x 513 reaches 0.957 with
// four of 128, 0.984 with two and 0.995 with one of 256 on an H100 (by hand; 1.000 where each lane chooses between two
// rows' numbers).
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
    return is_element_wise(access) && !access.masked && (how == How::Fixed || how == How::Vector);
  });
}

Steps steps_for(const KernelFacts& facts, Preset preset, uint32_t lanes) {
  if (preset == Preset::Flat) return steps_along(facts, lanes);
  if (preset == Preset::RowByRow) return steps_through_row(facts);
  return {threads_of(facts, preset), 1};
}

// 16 bytes of the widest element: bfloat16 swiglu reaches 1.03 of a copy with 8 lanes and 0.94 with 4; uint8 times
// float32 1.01 with 4 and 0.71 with 16.
//
// A heavy body takes twice as many where it cannot take steps: more of its slow paths are in flight. In turns with
// others' kernels (two runs on two cards, torch.compile's at 1.00 in both), in blocks of 256 threads, softplus reaches
// 0.90 of a copy with 4 lanes and 0.99 with 8, mish 0.77 and 0.84; where a body is lighter the second vector costs more
// than it gives, as every other one of a warp is half of each sector (gelu 1.00 and 0.93, tanh 1.02 and 0.75, and
// gelu(x + b) + y, of three tensors, 1.01 and 0.99 on an H100), and 16 lanes lose everywhere. Every lane is a copy of
// the body to compile (mish: 34 and 52 ms), so past a limit there are fewer; and a second vector is not worth leaving a
// row for.
//
// A thread that must know its row before it reads waits twice, and has more in flight with two vectors: `table[i] * s`
// over rows of 1024 floats reaches 0.90 of a copy with 4 lanes, 0.98 with 8.
uint32_t lanes_for(const KernelFacts& facts) {
  if (facts.rank == 0) return 1;
  uint32_t widest = 0;
  for (const AccessFacts& access : facts.accesses) {
    // The neighbours of a group are a thread's vector already.
    if (access.grouped) return reads_late(facts) ? 2 : 1;
    if (is_element_wise(access) && access.inner != StrideClass::Zero) widest = std::max(widest, access.bytes);
  }
  if (widest == 0) return 1;
  uint32_t lanes = kVectorBytes / widest;
  const bool waits = std::ranges::any_of(facts.accesses, reads_row);
  const bool is_busy = is_heavy(facts) && steps_along(facts, lanes).count == 1;
  if ((is_busy || waits) && lanes < 8) lanes *= 2;
  while (lanes > 2 && lanes * facts.cost > kUnrolled) lanes /= 2;
  const bool leaves_row = facts.rank > 1 && facts.inner_multiple < lanes;
  return leaves_row && facts.inner_multiple * widest >= kVectorBytes ? facts.inner_multiple : lanes;
}

// A thread that waits for a condition before it reads on has nothing to do meanwhile but its other lanes: what a warp's
// threads skip together must be worth it. A GIoU a box, whose prediction is read where the target has an area, two
// boxes a thread, a block apart: 1.01 of a copy where all have one, 1.64 padded as real data are, 1.04 where each
// second one at random has. One box a thread 0.95, 1.47 and 0.97; four 1.01, 1.59 and 1.03; a persistent grid
// 0.98, 1.60 and 1.01. So rows of neighbours are. What is an element wide is read in the same sectors whether or not
// its neighbours are needed, and loses its vectors. A gather reads wherever its index says, which need not make sense
// where it is not asked for; on either target.
bool is_lazy(const ArmFacts& arms, Lazy lazy, bool cuda) {
  if (lazy == Lazy::Auto) return arms.gathers || (arms.reads_groups && cuda);
  return lazy == Lazy::Always && arms.computes;
}

// What a result may overwrite is read before anything is written. What is gone through again is read once, ahead of
// what decides, and kept.
bool is_masked(const AccessFacts& access, const KernelFacts& facts, Lazy lazy, bool cuda) {
  if (access.kind == Kind::Gather) return true;
  if (access.kind != Kind::Load || facts.results_alias || access.still) return false;
  return (access.grouped && cuda && !facts.goes_again) || lazy == Lazy::Always;
}

// What the processor does for a/b it leaves to a function where the numerator is 0, as that of boxes is that do not
// meet, and its text is as long: the backward of a GIoU loss, six quotients a box, reaches 0.84 of a copy for 0.78 on
// an H200.
bool divides_by_own_steps(const KernelFacts& facts) {
  constexpr uint32_t kMany = 4;
  return facts.quotients >= kMany;
}

// The same backward, of boxes that are all valid, reaches 0.89 for 0.84 where one box is computed ahead of the next
// one's load, and 0.92 in blocks of 64; a value_and_grad, of 2^22 boxes, 0.90 for 0.82, and on an H100 0.95 for 0.92. A
// loss that stores nothing beside its sums is no faster for it, 0.97, and padded as real data are slower, 1.50
// for 1.59: where it has one box to wait for and not two, registers for more blocks are worth more.
bool foresees(const AccessFacts& access, const std::vector<Chunk>& chunks, uint32_t vectors) {
  constexpr uint32_t kBytes = 32;
  uint32_t bytes = 0;
  for (const Chunk& chunk : chunks)
    if (chunk.width > 1) bytes += chunk.width * access.bytes;
  return access.foreseen && bytes > 0 && bytes * vectors <= kBytes;
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
                      (is_element_wise(access) && !access.grouped &&
                       (access.inner == StrideClass::Zero || (access.linear && is_aligned(access, lanes))));
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

// Flat where every access is a vector, or is shifted out of two. Where rows end within a thread's lanes, the accesses
// that know no rows are vectors all the same and coordinates are counted on: `gelu(x + b) + r` with rows of 1023
// reaches 1.03 of a copy, `tanh(x - b)` over planes of 513 x 513 0.97 (row by row 0.99, interleaved 0.94). What each
// lane loads for itself may only be small then, since 4 neighbours of a thread are 4 requests for the same sectors.
// Else lanes lie a block apart, so that neighbouring threads load neighbours: 1.02 where one scalar a thread gives
// 0.80.
//
// Where all that knows its row is one for it, long rows have blocks of their own: cross_entropy's backward of 2^12 rows
// of 50257 in bfloat16 takes 0.36 ms on an H100, 0.70 where each lane reads its row's numbers for itself. So have rows
// of any length for which more is computed than a vector's worth.
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

// What runs along another axis than the results do is read a sector for each element; through a tile in shared memory
// it is read as fast as anything: relu(x.t()) + y 1.01 of a copy, 0.37 without; channels-last times contiguous 1.01,
// 0.35 without. Where several axes would do, the one for most bytes is taken. Both sides must fill a good part of it.
uint32_t axis_across(const KernelFacts& facts) {
  if (facts.rank < 2 || facts.has_regions) return kNoAxis;
  const auto is_long = [&](uint32_t axis) { return axis < 64 && (facts.long_axes >> axis & 1) != 0; };
  for (const AccessFacts& access : facts.accesses) {
    if (access.grouped || access.kind == Kind::Gather) return kNoAxis;
    if (access.kind == Kind::Store && access.inner != StrideClass::One) return kNoAxis;
  }
  const uint32_t axis = most_turned_axis(facts);
  return axis != kNoAxis && is_long(axis) && is_long(facts.rank - 1) ? axis : kNoAxis;
}

// 64 by 64 elements, unless the tiles would take more shared memory than every GPU gives without being asked. Vectors
// of 16 bytes on both sides where all rows are aligned; with single elements 64 x 64 reaches 0.99.
TileSize tile_size_for(const KernelFacts& facts) {
  constexpr uint32_t kSharedBytes = 48 << 10;
  const uint32_t across = axis_across(facts);
  uint32_t widest = 1;
  bool aligned = true;
  for (const AccessFacts& access : facts.accesses) {
    const bool is_staged = is_turned(access, across);
    const bool is_large = is_element_wise(access) && !access.broadcasts;
    if (!is_large || (!is_staged && access.inner != StrideClass::One)) continue;
    widest = std::max(widest, access.bytes);
    aligned &= is_aligned_in_rows(access, facts, kVectorBytes / access.bytes);
  }
  const uint32_t side = turned_bytes(facts, across) * 64 * 65 <= kSharedBytes ? 64 : 32;
  const uint32_t lanes = aligned ? kVectorBytes / widest : 1;
  return {side, side == 64 ? lanes : std::min(lanes, 4u)};
}

// A load that is not aligned is put together from the two aligned vectors around it, of which the second is another
// thread's first and lies in the cache: 1.03 (float32), 0.96 (bfloat16) and 1.00 (uint8) of a copy, where interleaved
// scalars reach 1.02, 0.91 and 0.78. A row that is gathered is a row like any other, once its place is known.
How how_for(const AccessFacts& access, const KernelFacts& facts, Preset preset, uint32_t lanes) {
  if (access.grouped) return How::Grouped;
  const bool shares_row = preset == Preset::Single || preset == Preset::Flat || preset == Preset::RowByRow;
  if (access.still || (shares_row && access.inner == StrideClass::Zero)) return How::Fixed;
  if (preset == Preset::Tile) {
    if (is_turned(access, axis_across(facts))) return How::Staged;
    const bool is_vector = lanes > 1 && access.inner == StrideClass::One && is_aligned_in_rows(access, facts, lanes);
    return is_vector ? How::Vector : How::Single;
  }
  if (lanes == 1 || preset == Preset::Interleaved || !runs_along(access, facts, preset)) return How::Single;
  if (is_aligned(access, lanes)) return How::Vector;
  const bool shifts = access.kind == Kind::Load && access.linear && lanes * access.bytes >= kWordBytes;
  return shifts ? How::Shifted : How::Single;
}

std::vector<Chunk> chunks_of(const std::vector<uint32_t>& used, uint32_t element_bytes, uint32_t alignment,
                             bool store) {
  std::vector<Chunk> chunks;
  const uint32_t last = used.back();
  for (size_t at = 0; at < used.size();) {
    Chunk chunk{used[at], 1};
    const auto end_of = [&](uint32_t end) { return std::ranges::lower_bound(used, end) - used.begin(); };
    for (uint32_t width = kVectorBytes / element_bytes; width > 1; width /= 2) {
      const uint32_t first = used[at] / width * width;
      // Of a vector's elements, those before the first used one of the row and after the last might lie outside the
      // tensor.
      const bool readable = first >= used.front() && first + width <= last + 1;
      const auto members = static_cast<uint32_t>(end_of(first + width)) - static_cast<uint32_t>(at);
      if (readable && alignment >= width * element_bytes && members > 1 &&
          (!store || (first == used[at] && members == width))) {
        chunk = {first, width};
        break;
      }
    }
    chunks.push_back(chunk);
    at = static_cast<size_t>(end_of(chunk.first + chunk.width));
  }
  return chunks;
}

}  // namespace ingot::codegen
