#include "codegen/schedule/row_policy.h"

#include <algorithm>

namespace ingot::codegen {
namespace {

using Kind = AccessUse::Kind;

constexpr uint32_t kWarp = 32;
constexpr uint32_t kBatches = 4;         // of a block, a warp's each
constexpr uint32_t kHalfLanes = 8;       // of 16-bit floats
constexpr uint32_t kPassingLanes = 4;    // of rows whose columns are reduced in passing
constexpr uint32_t kPassingBytes = 24;   // that such a thread has room for, of each of its elements of a row
constexpr uint32_t kWaitedRowsBits = 8;  // so few that all wait for one row's time

/// Whether it is read element by element of the whole domain.
bool is_large(const AccessFacts& access) {
  return access.kind == Kind::Load && access.moves_in_row && !access.broadcasts && !access.masked && !access.grouped;
}

uint32_t large_bytes(const KernelFacts& facts) {
  uint32_t bytes = 0;
  for (const AccessFacts& access : facts.accesses)
    if (is_large(access)) bytes += access.bytes;
  return bytes;
}

/// Whether rows are gone through for their columns, and nothing is reduced along them.
bool is_for_columns_alone(const KernelFacts& facts) { return facts.passed_bytes > 0 && facts.found_bytes == 0; }

}  // namespace

bool lies_across(const KernelFacts& facts) {
  const auto is_read = [](const AccessFacts& access) { return access.moves_in_row && access.kind == Kind::Load; };
  const bool any_large = std::ranges::any_of(
      facts.accesses, [&](const AccessFacts& access) { return is_read(access) && !access.broadcasts; });
  int64_t across = 0, along = 0;
  for (const AccessFacts& access : facts.accesses) {
    if (!is_read(access) || (any_large && access.broadcasts)) continue;
    if (access.inner == StrideClass::One)
      along += access.bytes;
    else if (access.along_rows == StrideClass::One)
      across += access.bytes;
  }
  return across > along;
}

// Of a long row whose elements take long the blocks take several turns, the more the sooner they end together: a GIoU
// loss with its gradient of 2^22 boxes reaches 0.92 of a copy on an H100 with 2^21 classes and 0.88 with 2^20, of 2^24
// boxes 0.98 with 2^22 and 0.91. But a sum of 10^7 floats, which lie in the cache, takes 8.9 µs with 2^20 and 13.4 with
// 2^22.
uint32_t cuda_classes(uint32_t length_bits, uint32_t loads) {
  constexpr uint32_t kLongBits = 22, kManyLoads = 8;
  if (length_bits <= 10) return 1u << (length_bits == 0 ? 0 : length_bits - 1);
  if (length_bits >= kLongBits && loads >= kManyLoads) return 1u << std::min(length_bits - 1, kLongBits);
  return length_bits == 11 ? 512 : 1u << std::min(length_bits - 2, 20u);
}

bool runs_in_rows(const AccessFacts& access, const KernelFacts& facts, uint32_t lanes) {
  return is_element_wise(access) && !access.masked && access.inner == StrideClass::One && is_aligned(access, lanes) &&
         facts.inner_multiple >= lanes;
}

bool runs_across_rows(const AccessFacts& access, const KernelLayout& layout, uint32_t lanes) {
  return is_element_wise(access) && !access.masked && access.along_rows == StrideClass::One &&
         is_aligned(access, lanes) && layout.rows_multiple >= lanes;
}

namespace {

/// Whether a thread can take so many neighbours of an access at a time; what stands still, and what is gathered, it can
/// in any case.
bool suits(const AccessFacts& access, const KernelFacts& facts, const KernelLayout& layout, const RowSchedule& rows,
           uint32_t lanes) {
  if (!access.moves_in_row || !is_element_wise(access)) return true;
  if (rows.across) return access.along_rows != StrideClass::One || runs_across_rows(access, layout, lanes);
  return access.inner == StrideClass::Zero ? facts.inner_multiple >= lanes : runs_in_rows(access, facts, lanes);
}

/// Few short rows, of which latency is what a kernel takes.
bool has_few_elements(const KernelLayout& layout) { return layout.rows_bits <= 10 && layout.length_bits <= 11; }

/// Whether vectors that begin anywhere can be shifted out of the aligned ones around them: nothing is stored of
/// elements, and nothing is read that must not be past a row's end. Few elements arrive sooner one by one: sums of 30
/// rows of 333 take 1.3 µs for 1.6, of 1000 rows of 2001 2.4 for 2.9.
bool can_shift(const KernelFacts& facts, const KernelLayout& layout, const RowSchedule& rows, uint32_t lanes) {
  if (rows.across || rows.passing > 0 || layout.reduced_axes != 1 || has_few_elements(layout) || facts.reads_exactly)
    return false;
  return std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
    if (access.kind == Kind::Gather && !access.shares_place) return false;  // an index past the end is out of range
    if (!access.moves_in_row || access.kind == Kind::Index) return true;
    return access.kind == Kind::Load && !access.masked && access.inner == StrideClass::One &&
           lanes * access.bytes >= kWordBytes;
  });
}

}  // namespace

uint32_t cuda_row_lanes(const KernelFacts& facts, const KernelLayout& layout, const RowSchedule& rows) {
  if (!rows.across && layout.reduced_axes == 0) return 1;
  uint32_t widest = 0;
  for (const AccessFacts& access : facts.accesses)
    if (access.moves_in_row && is_element_wise(access)) widest = std::max(widest, access.bytes);
  if (widest == 0) return 1;
  uint32_t lanes = kVectorBytes / widest;
  if (rows.passing > 0 && !is_for_columns_alone(facts)) lanes = std::min(lanes, kPassingLanes);
  // Few rows had better be shared out to all threads of a warp.
  lanes = rows.across ? std::min(lanes, std::max(1u, (1u << layout.rows_bits) / kWarp))
                      : std::min(lanes, rows.classes / rows.pieces);
  const bool suit = std::ranges::all_of(
      facts.accesses, [&](const AccessFacts& access) { return suits(access, facts, layout, rows, lanes); });
  return suit || can_shift(facts, layout, rows, lanes) ? lanes : 1;
}

bool cuda_rows_are_ragged(const KernelFacts& facts, const KernelLayout& layout, const RowSchedule& rows,
                          uint32_t lanes) {
  return lanes > 1 && std::ranges::any_of(facts.accesses, [&](const AccessFacts& access) {
           return !suits(access, facts, layout, rows, lanes);
         });
}

bool comes_in_batches(const AccessFacts& access, uint32_t rows) {
  return is_element_wise(access) && access.moves_in_row && !access.masked && access.linear &&
         access.alignment >= kVectorBytes && rows * access.bytes % kVectorBytes == 0;
}

uint32_t cuda_rows_of_block(const RowSchedule& rows, uint32_t lanes, bool again) {
  if (rows.across) return kWarp * lanes;
  if (rows.batch > 0) return kBatches * rows.batch;
  return rows.threads >= 64 ? 1 : (again || rows.passing > 0 ? 128 : 256) / rows.threads;
}

namespace {

// Of 2^16 x 4096, 2^20 x 256 and 4096 x 2^16 elements `(x * y).sum(0)` reaches 1.05, 1.01 and 1.04 of a copy with
// 8 threads a row, four classes at a time, 32 or so of a thread; `x.sum(1)` of 256 x 1024 x 1024 1.02. Written by hand
// 1.08, 1.06, 1.08 and 1.03; there eight classes at a time gave 1.03 to 1.07, and two pieces of the last 0.99.
RowSchedule cuda_columns(RowSchedule rows, const KernelFacts& facts, const KernelLayout& layout, bool again) {
  constexpr uint32_t kClassesOfPiece = 256, kPieces = 1024, kEnough = 4, kSharedBytes = 40 << 10;
  rows.group = std::min(rows.classes, 4u);
  rows.threads = std::min(rows.classes / rows.group, again ? 32u : 8u);
  // What all threads have found of a block's rows lies in shared memory.
  const uint32_t found_bytes = kWarp * cuda_row_lanes(facts, layout, rows) * facts.found_bytes;
  while (rows.threads > 1 && rows.threads * found_bytes > kSharedBytes) rows.threads /= 2;
  if (again) return rows;
  // Of few rows, more pieces.
  const uint64_t wanted = uint64_t{rows.classes / kClassesOfPiece} << (kManyRows - layout.rows_bits);
  const uint64_t most = std::min(rows.classes / (rows.threads * rows.group), kPieces);
  const auto pieces = static_cast<uint32_t>(std::min(wanted, most));
  if (pieces < kEnough) return rows;
  rows.splits = true;
  rows.pieces = pieces;
  return rows;
}

}  // namespace

namespace {

struct RowBytes {
  uint32_t of_element = 0, loads = 0;
};

/// What a kernel reads of a row.
RowBytes row_bytes(const KernelFacts& facts) {
  RowBytes bytes;
  for (const AccessFacts& access : facts.accesses) {
    if (!access.moves_in_row || access.kind != Kind::Load) continue;
    bytes.of_element += access.bytes;
    ++bytes.loads;
  }
  return bytes;
}

// In registers that leave a multiprocessor two blocks of 512 threads: softmax of 50257 columns reaches 0.71 of a copy,
// half of it in shared memory of one block of 1024 0.56; of 30011 0.82 and 0.62; in bfloat16 of 50257 0.42 and 0.28.
bool keep_single_elements(RowSchedule& rows, const KernelFacts& facts, uint64_t length, uint32_t bytes) {
  constexpr uint32_t kSteps = 32, kThreads = 512, kBytes = 4;
  if (bytes > kBytes || length <= kSteps * kThreads) return false;
  const uint32_t threads = length <= uint64_t{facts.cluster_blocks} * kSteps * kThreads ? kThreads : 2 * kThreads;
  const uint64_t blocks = length / (threads * kSteps);
  if (blocks > facts.cluster_blocks) return false;
  rows.threads = threads, rows.steps = kSteps, rows.blocks = 2 * kThreads / threads;
  rows.cluster = static_cast<uint32_t>(blocks);
  return true;
}

// Half in registers, half in shared memory. A multiprocessor has one block of 1024 threads, or two of 512, which longer
// rows share out to a cluster: softmax of 65536 columns reaches 0.95 of a copy, of 131072 0.89, of 262144 0.86; by
// clusters of two of the first 0.95 too, by blocks of 1024 of the others 0.89 and 0.85. What 16-bit floats are widened
// to takes registers, too: with four vectors a thread in them 32768 columns of bfloat16 reach 0.98 and 65536 0.96, all
// in registers the first 0.84, with eight the second 0.52.
bool keep_in_shared_memory(RowSchedule& rows, const KernelFacts& facts, uint64_t length, uint32_t lanes,
                           uint32_t bytes) {
  constexpr uint32_t kLongRow = 64 << 10, kBytesOfBlock = 128 << 10, kLongestRow = 256 << 10;
  constexpr uint32_t kOwnBytes = 8 << 10, kVectorsOfHalves = 4;  // the first for what threads tell one another
  const uint64_t row = length * bytes;
  const bool of_halves = lanes == kHalfLanes;
  if (lanes * bytes < kWordBytes || row <= (of_halves ? kLongRow / 2 : kLongRow)) return false;
  if (row > std::max(facts.cluster_blocks * kBytesOfBlock, kLongestRow)) return false;
  const uint32_t blocks = row > kLongestRow ? static_cast<uint32_t>(row / kBytesOfBlock) : 1;
  const uint32_t threads = std::min(rows.threads, row > kBytesOfBlock && blocks == 1 ? 1024u : 512u);
  const auto steps = static_cast<uint32_t>(length / (threads * blocks * lanes));
  const uint32_t shared = of_halves ? std::max(steps / 2, steps - std::min(steps, kVectorsOfHalves)) : steps / 2;
  if (shared * threads * lanes * bytes + kOwnBytes > facts.shared_bytes) return false;
  rows.threads = threads, rows.cluster = blocks, rows.steps = steps, rows.shared = shared;
  rows.blocks = 1024 / threads;
  return true;
}

// What computes much had better have more blocks: mish(group_norm) of rows of 8192 reaches 0.82 with 256 threads and
// 0.78 with 512, but gelu(layer_norm) of as many 0.97 and 0.98. What stands still along the innermost axis is read
// where it is needed.
bool keep_in_more_blocks(RowSchedule& rows, const KernelFacts& facts, uint64_t length, uint32_t lanes) {
  constexpr uint32_t kThreads = 256, kBlocks = 4, kWords = 32;
  const auto runs = [](const AccessFacts& access) {
    return access.kind == Kind::Load && access.moves_in_row && access.inner != StrideClass::Zero;
  };
  const auto word = [](const AccessFacts& access) { return access.bytes <= kWordBytes; };
  if (rows.threads != 2 * kThreads || length > kThreads * kWords || std::ranges::count_if(facts.accesses, runs) != 1 ||
      !std::ranges::all_of(facts.accesses, word))
    return false;
  rows.threads = kThreads, rows.blocks = kBlocks;
  rows.steps = static_cast<uint32_t>(length / (kThreads * lanes));
  return true;
}

// Of few rows that are kept a thread had better have four single elements: softmax of 30 rows of 333 takes 1.6 µs
// for 1.8, of 2001 1.9 for 2.5. Many of up to 512 want no barrier: softmax of 270 columns reaches 0.96 of a copy with a
// warp a row and 0.83 with two, of 333 0.96 and 0.92, of 511 0.96 and 0.98; sums of 1000 rows of 333 take 1.5 µs
// for 1.7.
uint32_t row_threads(const KernelLayout& layout, uint32_t classes, uint32_t lanes, bool has_groups, bool again) {
  constexpr uint32_t kFew = 4, kWarpRowBits = 9;
  const bool has_few_rows = layout.rows_bits <= kWaitedRowsBits;
  if (lanes == 1 && !has_groups) {
    if (again && has_few_rows) return std::clamp((1u << layout.length_bits) / kFew, 1u, classes);
    if (!has_few_rows && layout.length_bits == kWarpRowBits) return kWarp;
  }
  return std::max(1u, classes / std::max(lanes, has_groups ? 2u : kFew));
}

/// Rows that a kernel goes through several times: it reads them once if a block, or a cluster, can hold one.
//
// Of 16-bit floats a thread had better have four vectors: softmax in bfloat16 of 64 columns reaches 0.95 of a copy with
// four and 0.93 with two, of 128 0.97 and 0.92, of 256 0.96 and 0.92, of 512 0.97 and 0.93, of 1024 0.97 and 0.88;
// eight give 0.71.
RowSchedule kept_rows(RowSchedule rows, const KernelFacts& facts, const KernelLayout& layout, uint32_t lanes) {
  constexpr uint32_t kRegisterBytes = 128 << 10, kMostBytes = 256, kVectors = 4, kHeavy = 60;
  const auto [bytes, loads] = row_bytes(facts);
  const uint64_t length = uint64_t{1} << layout.length_bits;
  rows.threads = std::min(rows.threads, layout.length_bits <= 14 ? 512u : 1024u);
  if (lanes == kHalfLanes && length >= 2 * kVectors * lanes)
    rows.threads = std::min(rows.threads, static_cast<uint32_t>(length / (kVectors * lanes)));
  if (loads == 1 && lanes == 1 && keep_single_elements(rows, facts, length, bytes)) return rows;
  if (loads == 1 && keep_in_shared_memory(rows, facts, length, lanes, bytes)) return rows;
  if (facts.cost >= kHeavy && keep_in_more_blocks(rows, facts, length, lanes)) return rows;
  // Half of the registers that so many threads leave each of them.
  const uint64_t elements = length / rows.threads, room = kRegisterBytes / rows.threads;
  if (elements * bytes <= std::min<uint64_t>(room, kMostBytes))
    rows.steps = static_cast<uint32_t>(std::max<uint64_t>(1, elements / lanes));
  return rows;
}

// A run's four vectors are under way at once, and few registers are held, so that many blocks have room: cross_entropy
// of 50257 columns in bfloat16 reaches 0.95 of a copy, with the classes of all runs in registers 0.35.
void go_by_runs(RowSchedule& rows, const KernelFacts& facts, const KernelLayout& layout, uint32_t lanes) {
  constexpr uint32_t kSteps = 4, kThreads = 1536;  // of a multiprocessor, with 40 registers each
  constexpr uint32_t kSharedBytes = 40 << 10;      // for what is found of runs
  const uint64_t steps = (uint64_t{1} << layout.length_bits) / rows.classes;
  if (steps > kSteps || rows.classes / lanes * facts.ordered_bytes > kSharedBytes) return;
  rows.by_runs = true;
  rows.steps = static_cast<uint32_t>(steps);
  rows.blocks = kThreads / rows.threads;
}

bool gathers(const KernelFacts& facts) {
  return std::ranges::count(facts.accesses, Kind::Gather, &AccessFacts::kind) > 0;
}

bool has_groups(const KernelFacts& facts) { return std::ranges::any_of(facts.accesses, &AccessFacts::grouped); }

/// Of how many pieces a row is that is gone through once. A second launch takes longer than one block with 4096
/// classes.
//
// What gathers waits for an index, and then for what that leads to, for one element after another: so it is shared out
// to more threads, whose classes are one vector each. So are groups of neighbours, of which most may not be needed, the
// less the more pieces the second launch has to go through: of 16384 it takes 13 µs. A GIoU loss of 2^24 boxes on an
// H200, both launches together, padded as real data are, reaches 1.50 of a copy with blocks of 256 threads and 1.39
// with 128, of boxes that are all valid 0.97 and 0.92. With its gradient, of 2^22 boxes, 0.92 with 128 and 0.91 with
// 256.
uint32_t pieces_of(const KernelFacts& facts, const KernelLayout& layout, uint32_t classes) {
  constexpr uint32_t kWhole = 4096, kPiece = 1024, kManyRowsBits = 11;
  constexpr uint32_t kWholeOfGathers = 512, kPieceOfGathers = 128, kMostPieces = 1024, kFewRowsBits = 4;
  constexpr uint32_t kPieceOfGroups = 512, kPieceOfStoredGroups = 256, kManyClasses = 1 << 21;
  if (gathers(facts) && classes > kWholeOfGathers && layout.rows_bits <= kFewRowsBits)
    return std::min(classes / kPieceOfGathers, std::max(kMostPieces, classes / kPiece));
  if (classes >= kManyClasses && has_groups(facts))
    return classes / (stores_elements(facts) ? kPieceOfStoredGroups : kPieceOfGroups);
  return classes > kWhole && (layout.rows_bits < kManyRowsBits || classes > 8 * kPiece) ? classes / kPiece : 1;
}

/// Of rows of about this length the most elements, and the least.
struct Lengths {
  uint64_t most, least;
};
Lengths lengths_of(const KernelLayout& layout) {
  const uint32_t eighths = layout.length_eighths;
  const uint64_t room = uint64_t{1} << layout.length_bits;
  if (eighths == 0) return {room, room / 2};
  return {room * eighths / 8, room * (layout.fills_eighths ? eighths : eighths - 1) / 8};
}

// Short rows that begin anywhere are no vectors, but those of a warp together are. Softmax of 9 columns reaches 0.96 of
// a copy for 0.35, of 33 0.98 for 0.68, of 75 0.98 for 0.87, of 127 0.98 for 0.87. The fewer threads a row has the
// fewer values they exchange, up to 28 elements each; with twice as many 65 columns reach 0.91 for 0.97, 75 as much, 97
// 0.86 for 0.89 (kernels by hand).
void take_in_batches(RowSchedule& rows, const KernelFacts& facts, const KernelLayout& layout, uint32_t lanes) {
  constexpr uint32_t kShortBits = 7, kElements = 28, kMostElements = 32;
  constexpr uint32_t kSharedBytes = 28 << 10, kMostSharedBytes = 48 << 10;
  if (lanes > 1 || rows.splits || rows.early > 0 || layout.length_bits > kShortBits || layout.has_empty_rows) return;
  if (layout.rows_bits < kManyRows) return;
  uint32_t read_bytes = 0, stored_bytes = 0;  // of elements
  for (const AccessFacts& access : facts.accesses) {
    if (access.kind == Kind::Gather || access.grouped) return;  // of a row that is not there nothing may be gathered
    if (!access.moves_in_row || !is_element_wise(access)) continue;
    if (access.kind == Kind::Store && !comes_in_batches(access, kWarp)) return;
    if (comes_in_batches(access, kWarp)) (access.kind == Kind::Store ? stored_bytes : read_bytes) += access.bytes;
  }
  if (stored_bytes == 0) return;
  const uint64_t most = lengths_of(layout).most;
  const auto suits = [&](uint32_t threads) {
    return std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
      return access.kind != Kind::Store || !access.moves_in_row || comes_in_batches(access, kWarp / threads);
    });
  };
  // Most of what is stored takes the place of what was read.
  const auto fits = [&](uint32_t threads, uint32_t elements) {
    const uint64_t rooms = kBatches * kWarp / threads * ((most + threads - 1) / threads * threads);
    return most <= threads * elements && rooms * std::max(read_bytes, stored_bytes) <= kSharedBytes &&
           rooms * (read_bytes + stored_bytes) <= kMostSharedBytes;
  };
  uint32_t threads = 1;
  while (!fits(threads, kElements) && 2 * threads <= rows.classes && suits(2 * threads)) threads *= 2;
  if (!fits(threads, kMostElements)) return;
  rows.threads = threads;
  rows.batch = kWarp / threads;
  rows.steps = static_cast<uint32_t>((most + threads - 1) / threads);
}

/// Ends the steps where rows of about this length end, and notes how many of them need no guard.
//
// Without the eighths of a length a row is known to be longer than half of what its classes have room for, and no more.
// Softmax of 9001 columns takes 40 registers for 64 and reaches 0.97 of a copy for 0.87, of 70000 0.86 for 0.76;
// mish(group_norm) of rows of 8192 without a guard 0.90 for 0.87. Beside steps in shared memory the same keeps so much
// under way that registers spill: half of the steps without a guard give 0.95 for 65536 columns, seven eighths 0.84.
void fit_steps(RowSchedule& rows, const KernelLayout& layout, uint32_t lanes) {
  if (rows.steps < 2 && rows.passing == 0) return;
  const auto [most, least] = lengths_of(layout);
  const uint64_t step = rows.by_runs ? rows.classes : uint64_t{rows.threads} * rows.cluster * lanes;
  const uint32_t in_registers = rows.steps - rows.shared;
  rows.steps = static_cast<uint32_t>((most + step - 1) / step);
  rows.shared = rows.steps - std::min(rows.steps, in_registers);
  rows.full = static_cast<uint32_t>(least / step);
  if (rows.shared > 0) rows.full = lanes > 1 ? std::min(rows.full, rows.steps / 2) : 0;
}

// A thread keeps its elements of a row, and for each of them what it has found of their columns. By hand layer_norm's
// backward of 2^16 rows of 4096, with both sums along columns, reaches 0.97 of a copy with 256 threads a row of which a
// multiprocessor has 512, each with room for 128 registers, 0.79 with as few of them as it comes and 0.54 with 1024. Of
// 2^14 such rows, with the row's statistics found as well, 0.84, and 0.98 with the next row on its way; where they are
// kept and a row is gone through twice, 0.97 (on an H100 0.92), and with it 0.87 (0.96). Where nothing is found of a
// row itself, 0.91 for 0.82 on an H100, and vectors of 16 bytes do better: gelu(x + b)'s backward of 2^13 rows of 4096
// in bfloat16, by hand, 0.83 with 512 threads of eight elements, 0.77 with 256 of sixteen, and 0.38 where their
// registers do not suffice.
RowSchedule passing_rows(RowSchedule rows, const KernelFacts& facts, const KernelLayout& layout) {
  constexpr uint32_t kRegisters = 1 << 16, kFewBytes = 192, kManyBytes = 512, kHeavy = 60;
  const uint64_t length = uint64_t{1} << layout.length_bits;
  rows.passing = layout.pieces;
  rows.threads = std::max(1u, rows.classes / kPassingLanes);
  if (is_for_columns_alone(facts)) rows.threads = static_cast<uint32_t>(std::clamp<uint64_t>(length / 8, 1, 512));
  const uint32_t lanes = cuda_row_lanes(facts, layout, rows);
  if (is_for_columns_alone(facts)) rows.classes = rows.threads * lanes;
  rows.steps = static_cast<uint32_t>(std::max<uint64_t>(1, length / (rows.threads * lanes)));
  const uint32_t threads = cuda_rows_of_block(rows, lanes, true) * rows.threads;
  const uint32_t bytes = 2 * large_bytes(facts) + facts.passed_bytes, of_all = rows.steps * lanes * bytes;
  const uint32_t registers = of_all > kManyBytes ? 255 : of_all > kFewBytes || facts.cost >= kHeavy ? 128 : 64;
  rows.blocks = std::max(1u, kRegisters / (registers * threads));
  rows.prefetches = facts.phases != 2 && large_bytes(facts) > 0 && bytes <= kPassingBytes;
  fit_steps(rows, layout, lanes);
  return rows;
}

/// What another kernel has found of pieces, to be put together.
RowSchedule passed_columns(RowSchedule rows, const KernelLayout& layout) {
  rows.across = true;
  rows.splits = true;
  rows.pieces = layout.pieces;
  rows.group = 4;
  return rows;
}

}  // namespace

uint32_t cuda_shared_bytes(uint32_t architecture) {
  switch (architecture) {
    case 80:
    case 87:
      return 163 << 10;
    case 90:
    case 100:
    case 103:
      return 227 << 10;
    case 75:
      return 64 << 10;
    default:
      return architecture < 80 ? 48 << 10 : 99 << 10;
  }
}

uint32_t cuda_cluster_blocks(uint32_t architecture) { return architecture >= 90 ? 8 : 1; }

RowSchedule cuda_rows(const KernelFacts& facts, const KernelLayout& layout, bool again) {
  const uint32_t length_bits = layout.length_bits;
  RowSchedule rows;
  rows.classes = cuda_classes(length_bits, facts.loads);
  if (facts.passed_bytes > 0) return passing_rows(rows, facts, layout);
  if (facts.is_passed) return passed_columns(rows, layout);
  rows.across = lies_across(facts);
  if (rows.across) return cuda_columns(rows, facts, layout, again);
  rows.early = facts.early_phase;
  if (rows.early > 0) again = facts.phases > 2;
  if (!again && rows.early == 0) rows.pieces = pieces_of(facts, layout, rows.classes);
  rows.splits = rows.pieces > 1;
  const uint32_t lanes = cuda_row_lanes(facts, layout, rows);
  // Groups of neighbours are a thread's vectors: it has the next two under way while it computes, of which the second
  // may be read in vain. A GIoU loss of boxes that are all valid reaches 0.99 of a copy, padded as real data are 1.75,
  // with four of them 0.79 and 1.55, one at a time, as they come, 0.96 and 0.97.
  const bool in_groups = has_groups(facts);
  rows.threads = rows.splits && gathers(facts)
                     ? rows.classes / rows.pieces / lanes
                     : row_threads(layout, rows.classes / rows.pieces, lanes, in_groups, again);
  if (again) {
    rows = kept_rows(rows, facts, layout, lanes);
    take_in_batches(rows, facts, layout, lanes);
    fit_steps(rows, layout, lanes);
    return rows;
  }
  rows.threads = std::min(rows.threads, in_groups ? 512u : layout.rows_bits <= kWaitedRowsBits ? 1024u : 256u);
  const uint64_t elements = (uint64_t{1} << length_bits) / rows.threads;
  // Few elements a thread are loaded at once: sums of 32 columns reach 1.01 of a copy for 0.91.
  const uint32_t at_once = has_few_elements(layout) ? std::max(4 * lanes, 16u) : 4 * lanes;
  if (!rows.splits && elements <= at_once) rows.steps = static_cast<uint32_t>(std::max<uint64_t>(1, elements / lanes));
  if (rows.early > 0 && elements > at_once && lanes > 1 && !in_groups) go_by_runs(rows, facts, layout, lanes);
  take_in_batches(rows, facts, layout, lanes);
  fit_steps(rows, layout, lanes);
  return rows;
}

// What a later phase is the first to need had better be on its way while the first one computes. In passing all is read
// once, as far as a thread has room for it.
bool cuda_reads_ahead(const AccessFacts& access, const KernelFacts& facts, const RowSchedule& rows, uint32_t lanes) {
  constexpr uint32_t kBytes = 128;
  if (rows.steps == 0 || rows.by_runs || rows.shared > 0 || rows.batch > 0 || rows.early > 0) return false;
  if (!is_large(access)) return false;
  if (rows.passing > 0) return large_bytes(facts) + facts.passed_bytes <= kPassingBytes;
  return access.phase > 0 && rows.steps * lanes * large_bytes(facts) <= kBytes;
}

bool cuda_keeps(const RowSchedule& rows, uint32_t lanes, uint32_t bytes) {
  constexpr uint32_t kBytes = 128;
  if (rows.passing > 0) return bytes <= kWordBytes;  // most likely in the place of what was read
  return rows.steps > 0 && !rows.by_runs && (rows.steps - rows.shared) * lanes * bytes <= kBytes;
}

}  // namespace ingot::codegen
