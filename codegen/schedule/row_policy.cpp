#include "codegen/schedule/row_policy.h"

#include <algorithm>

namespace ingot::codegen {
namespace {

using Kind = AccessUse::Kind;

constexpr uint32_t kWarp = 32;
constexpr uint32_t kBatches = 4;              // per block, one per warp
constexpr uint32_t k16BitLanes = 8;           // 16-bit floats per vector
constexpr uint32_t kColumnPartialLanes = 4;   // elements per thread with fused column partials
constexpr uint32_t kColumnPartialBytes = 24;  // bytes of registers per element of a row, with fused column partials
constexpr uint32_t kWaitedRowsBits = 8;       // the number of rows (log2) up to which latency limits the kernel

/// Whether the access is a load with one element per element of the domain.
bool is_large(const AccessFacts& access) {
  return access.kind == Kind::Load && access.varies_in_row && !access.broadcasts && !access.is_masked &&
         !access.is_grouped;
}

uint32_t large_bytes(const KernelFacts& facts) {
  uint32_t bytes = 0;
  for (const AccessFacts& access : facts.accesses)
    if (is_large(access)) bytes += access.bytes;
  return bytes;
}

/// Whether rows are traversed only to reduce their columns: nothing is reduced along the rows.
bool is_for_columns_alone(const KernelFacts& facts) {
  return facts.column_partial_bytes > 0 && facts.result_bytes == 0;
}

}  // namespace

Lengths lengths_of(const KernelLayout& layout) {
  const uint32_t eighths = layout.length_eighths;
  const uint64_t power = uint64_t{1} << layout.length_bits;
  if (eighths == 0) return {power, power / 2};
  return {power * eighths / 8, power * (layout.fills_eighths ? eighths : eighths - 1) / 8};
}

uint64_t elements_of_step(const RowSchedule& rows, uint32_t lanes) {
  return rows.has_blocked_accumulators ? rows.accumulators : uint64_t{rows.threads} * rows.cluster * lanes;
}

bool is_contiguous_across_rows(const KernelFacts& facts) {
  const auto is_read = [](const AccessFacts& access) { return access.varies_in_row && access.kind == Kind::Load; };
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

// Long rows of expensive elements have more accumulators, so that blocks run in several waves and end at about the same
// time. Rows that stay in the cache are faster with fewer (docs/performance.md: accumulator-count).
uint32_t cuda_accumulators(uint32_t length_bits, uint32_t loads) {
  constexpr uint32_t kLongBits = 22, kManyLoads = 8;
  if (length_bits <= 10) return 1u << (length_bits == 0 ? 0 : length_bits - 1);
  if (length_bits >= kLongBits && loads >= kManyLoads) return 1u << std::min(length_bits - 1, kLongBits);
  return length_bits == 11 ? 512 : 1u << std::min(length_bits - 2, 20u);
}

bool is_vector_in_row(const AccessFacts& access, const KernelFacts& facts, uint32_t lanes) {
  return is_element_wise(access) && !access.is_masked && access.inner == StrideClass::One &&
         is_aligned(access, lanes) && facts.inner_multiple >= lanes;
}

bool is_vector_across_rows(const AccessFacts& access, const KernelLayout& layout, uint32_t lanes) {
  return is_element_wise(access) && !access.is_masked && access.along_rows == StrideClass::One &&
         is_aligned(access, lanes) && layout.row_axis_multiple >= lanes;
}

namespace {

/// Whether an access allows a thread to handle `lanes` elements, or rows, at a time: a load or store that varies along
/// the row must be able to access these elements as a vector. Other accesses always allow it.
bool suits(const AccessFacts& access, const KernelFacts& facts, const KernelLayout& layout, const RowSchedule& rows,
           uint32_t lanes) {
  if (!access.varies_in_row || !is_element_wise(access)) return true;
  if (rows.across) return access.along_rows != StrideClass::One || is_vector_across_rows(access, layout, lanes);
  return access.inner == StrideClass::Zero ? facts.inner_multiple >= lanes : is_vector_in_row(access, facts, lanes);
}

/// Whether there are few short rows, for which latency limits the kernel.
bool has_few_elements(const KernelLayout& layout) { return layout.rows_bits <= 10 && layout.length_bits <= 11; }

/// Whether vectors of unaligned rows can be shifted out of the aligned vectors around them: no element is stored, and
/// no load must stay within its row. If there are few elements, single loads are faster (docs/performance.md:
/// few-elements-load-singly).
bool can_shift(const KernelFacts& facts, const KernelLayout& layout, const RowSchedule& rows, uint32_t lanes) {
  if (rows.across || rows.column_chunks > 0 || layout.reduced_axes != 1 || has_few_elements(layout) ||
      facts.never_reads_past_end)
    return false;
  return std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
    if (access.kind == Kind::Gather && !access.row_shares_index)
      return false;  // an index past the row's end may be out of range
    if (!access.varies_in_row || access.kind == Kind::Index) return true;
    return access.kind == Kind::Load && !access.is_masked && access.inner == StrideClass::One &&
           lanes * access.bytes >= kWordBytes;
  });
}

}  // namespace

uint32_t cuda_row_lanes(const KernelFacts& facts, const KernelLayout& layout, const RowSchedule& rows) {
  if (!rows.across && layout.reduced_axes == 0) return 1;
  uint32_t widest = 0;
  for (const AccessFacts& access : facts.accesses)
    if (access.varies_in_row && is_element_wise(access)) widest = std::max(widest, access.bytes);
  if (widest == 0) return 1;
  uint32_t lanes = kVectorBytes / widest;
  if (rows.column_chunks > 0 && !is_for_columns_alone(facts)) lanes = std::min(lanes, kColumnPartialLanes);
  // Few rows are distributed over all threads of a warp.
  lanes = rows.across ? std::min(lanes, std::max(1u, (1u << layout.rows_bits) / kWarp))
                      : std::min(lanes, rows.accumulators / rows.chunks);
  const bool all_suit = std::ranges::all_of(
      facts.accesses, [&](const AccessFacts& access) { return suits(access, facts, layout, rows, lanes); });
  return all_suit || can_shift(facts, layout, rows, lanes) ? lanes : 1;
}

bool cuda_vectors_may_cross_rows(const KernelFacts& facts, const KernelLayout& layout, const RowSchedule& rows,
                                 uint32_t lanes) {
  return lanes > 1 && std::ranges::any_of(facts.accesses, [&](const AccessFacts& access) {
           return !suits(access, facts, layout, rows, lanes);
         });
}

bool can_be_batched(const AccessFacts& access, uint32_t rows) {
  return is_element_wise(access) && access.varies_in_row && !access.is_masked && access.is_linear &&
         access.alignment >= kVectorBytes && rows * access.bytes % kVectorBytes == 0;
}

uint32_t cuda_rows_of_block(const RowSchedule& rows, uint32_t lanes, bool has_several_phases) {
  if (rows.across) return kWarp * lanes;
  if (rows.batch > 0) return kBatches * rows.batch;
  return rows.threads >= 64 ? 1 : (has_several_phases || rows.column_chunks > 0 ? 128 : 256) / rows.threads;
}

namespace {

// A row, or a chunk of it, has 8 threads, or 32 if there are several phases. A thread has four accumulators at a time
// (`group_accumulators`), so in a chunk of 256 accumulators it handles eight such groups one after the other
// (docs/performance.md: column-sums).
RowSchedule cuda_columns(RowSchedule rows, const KernelFacts& facts, const KernelLayout& layout,
                         bool has_several_phases) {
  constexpr uint32_t kAccumulatorsOfChunk = 256, kMaxChunks = 1024, kEnough = 4, kSharedBytes = 40 << 10;
  rows.group_accumulators = std::min(rows.accumulators, 4u);
  rows.threads = std::min(rows.accumulators / rows.group_accumulators, has_several_phases ? 32u : 8u);
  // The results of all threads for a block's rows are in shared memory.
  const uint32_t result_bytes = kWarp * cuda_row_lanes(facts, layout, rows) * facts.result_bytes;
  while (rows.threads > 1 && rows.threads * result_bytes > kSharedBytes) rows.threads /= 2;
  if (has_several_phases) return rows;
  // Few rows are split into more chunks.
  const uint64_t target_count = uint64_t{rows.accumulators / kAccumulatorsOfChunk}
                                << (kManyRowsBits - layout.rows_bits);
  const uint64_t max_count = std::min(rows.accumulators / (rows.threads * rows.group_accumulators), kMaxChunks);
  const auto chunks = static_cast<uint32_t>(std::min(target_count, max_count));
  if (chunks < kEnough) return rows;
  rows.is_split = true;
  rows.chunks = chunks;
  return rows;
}

}  // namespace

namespace {

struct RowBytes {
  uint32_t per_element = 0, loads = 0;
};

/// The bytes that a kernel loads per element of a row, and the number of loads.
RowBytes row_bytes(const KernelFacts& facts) {
  RowBytes bytes;
  for (const AccessFacts& access : facts.accesses) {
    if (!access.varies_in_row || access.kind != Kind::Load) continue;
    bytes.per_element += access.bytes;
    ++bytes.loads;
  }
  return bytes;
}

// Registers hold the row, with enough left for two blocks of 512 threads per multiprocessor. Two such blocks are faster
// than one block with half of the row in shared memory (docs/performance.md: rows-in-registers).
bool keep_single_elements(RowSchedule& rows, const KernelFacts& facts, uint64_t length, uint32_t bytes) {
  constexpr uint32_t kSteps = 32, kThreads = 512, kBytes = 4;
  if (bytes > kBytes || length <= kSteps * kThreads) return false;
  const uint32_t threads = length <= uint64_t{facts.cluster_blocks} * kSteps * kThreads ? kThreads : 2 * kThreads;
  const uint64_t blocks = length / (threads * kSteps);
  if (blocks > facts.cluster_blocks) return false;
  rows.threads = threads, rows.steps = kSteps, rows.min_blocks = 2 * kThreads / threads;
  rows.cluster = static_cast<uint32_t>(blocks);
  return true;
}

// Half of the row is in registers, half in shared memory. A multiprocessor has one block of 1024 threads, or two of
// 512; longer rows are distributed over a cluster. Widened 16-bit floats take registers, too, so fewer elements are
// kept in registers (docs/performance.md: rows-in-shared-memory).
bool keep_in_shared_memory(RowSchedule& rows, const KernelFacts& facts, uint64_t length, uint32_t lanes,
                           uint32_t bytes) {
  constexpr uint32_t kLongRow = 64 << 10, kBytesOfBlock = 128 << 10, kLongestRow = 256 << 10;
  constexpr uint32_t kExchangeBytes = 8 << 10;  // for results that threads exchange
  constexpr uint32_t kVectorsOf16Bit = 4;
  const uint64_t row = length * bytes;
  const bool is_16_bit = lanes == k16BitLanes;
  if (lanes * bytes < kWordBytes || row <= (is_16_bit ? kLongRow / 2 : kLongRow)) return false;
  if (row > std::max(facts.cluster_blocks * kBytesOfBlock, kLongestRow)) return false;
  const uint32_t blocks = row > kLongestRow ? static_cast<uint32_t>(row / kBytesOfBlock) : 1;
  const uint32_t threads = std::min(rows.threads, row > kBytesOfBlock && blocks == 1 ? 1024u : 512u);
  const auto steps = static_cast<uint32_t>(length / (threads * blocks * lanes));
  const uint32_t shared = is_16_bit ? std::max(steps / 2, steps - std::min(steps, kVectorsOf16Bit)) : steps / 2;
  if (shared * threads * lanes * bytes + kExchangeBytes > facts.shared_bytes) return false;
  rows.threads = threads, rows.cluster = blocks, rows.steps = steps, rows.shared_steps = shared;
  rows.min_blocks = 1024 / threads;
  return true;
}

// Heavy kernels use smaller blocks, of which more fit (docs/performance.md: more-blocks-for-heavy-rows). Accesses that
// do not vary along the innermost axis are not cached, but loaded at each use.
bool keep_in_more_blocks(RowSchedule& rows, const KernelFacts& facts, uint64_t length, uint32_t lanes) {
  constexpr uint32_t kThreads = 256, kBlocks = 4, kWords = 32;
  const auto varies_innermost = [](const AccessFacts& access) {
    return access.kind == Kind::Load && access.varies_in_row && access.inner != StrideClass::Zero;
  };
  const auto word = [](const AccessFacts& access) { return access.bytes <= kWordBytes; };
  if (rows.threads != 2 * kThreads || length > kThreads * kWords ||
      std::ranges::count_if(facts.accesses, varies_innermost) != 1 || !std::ranges::all_of(facts.accesses, word))
    return false;
  rows.threads = kThreads, rows.min_blocks = kBlocks;
  rows.steps = static_cast<uint32_t>(length / (kThreads * lanes));
  return true;
}

// Without vectors: if there are several phases and few rows, a thread has four elements; if there are many rows of 257
// to 512 elements, a row has one warp, which needs no barrier (docs/performance.md: threads-per-row).
uint32_t row_threads(const KernelLayout& layout, uint32_t accumulators, uint32_t lanes, bool has_groups,
                     bool has_several_phases) {
  constexpr uint32_t kFew = 4, kWarpRowBits = 9;
  const bool has_few_rows = layout.rows_bits <= kWaitedRowsBits;
  if (lanes == 1 && !has_groups) {
    if (has_several_phases && has_few_rows) return std::clamp((1u << layout.length_bits) / kFew, 1u, accumulators);
    if (!has_few_rows && layout.length_bits == kWarpRowBits) return kWarp;
  }
  return std::max(1u, accumulators / std::max(lanes, has_groups ? 2u : kFew));
}

/// The schedule of rows that several phases traverse: they are loaded once if a block, or a cluster, can hold a row.
/// 16-bit floats have four vectors per thread (docs/performance.md: vectors-per-thread-16-bit).
RowSchedule cached_rows(RowSchedule rows, const KernelFacts& facts, const KernelLayout& layout, uint32_t lanes) {
  constexpr uint32_t kRegisterBytes = 128 << 10, kMostBytes = 256, kVectors = 4, kHeavy = 60;
  const auto [bytes, loads] = row_bytes(facts);
  const uint64_t length = uint64_t{1} << layout.length_bits;
  rows.threads = std::min(rows.threads, layout.length_bits <= 14 ? 512u : 1024u);
  if (lanes == k16BitLanes && length >= 2 * kVectors * lanes)
    rows.threads = std::min(rows.threads, static_cast<uint32_t>(length / (kVectors * lanes)));
  if (loads == 1 && lanes == 1 && keep_single_elements(rows, facts, length, bytes)) return rows;
  if (loads == 1 && keep_in_shared_memory(rows, facts, length, lanes, bytes)) return rows;
  if (facts.cost >= kHeavy && keep_in_more_blocks(rows, facts, length, lanes)) return rows;
  // Half of the registers that each thread can have at this block size.
  const uint64_t elements = length / rows.threads, available = kRegisterBytes / rows.threads;
  if (elements * bytes <= std::min<uint64_t>(available, kMostBytes))
    rows.steps = static_cast<uint32_t>(std::max<uint64_t>(1, elements / lanes));
  return rows;
}

// A thread processes one run of its accumulators at a time (blocked accumulators): the run's four vectors are loaded at
// once, and few registers are live, so that many blocks fit on a multiprocessor (docs/performance.md:
// blocked-accumulators).
void use_blocked_accumulators(RowSchedule& rows, const KernelFacts& facts, const KernelLayout& layout, uint32_t lanes) {
  constexpr uint32_t kSteps = 4, kThreads = 1536;  // of a multiprocessor, with 40 registers each
  constexpr uint32_t kSharedBytes = 40 << 10;      // for the results of runs
  const uint64_t steps = (uint64_t{1} << layout.length_bits) / rows.accumulators;
  if (steps > kSteps || rows.accumulators / lanes * facts.ordered_bytes > kSharedBytes) return;
  rows.has_blocked_accumulators = true;
  rows.steps = static_cast<uint32_t>(steps);
  rows.min_blocks = kThreads / rows.threads;
}

bool gathers(const KernelFacts& facts) {
  return std::ranges::count(facts.accesses, Kind::Gather, &AccessFacts::kind) > 0;
}

bool has_groups(const KernelFacts& facts) { return std::ranges::any_of(facts.accesses, &AccessFacts::is_grouped); }

/// The number of chunks of a row in a kernel of one phase. A second launch pays off only above 4096 accumulators.
///
/// A gather waits for an index and then for the element, one element after the other; so gathers are distributed over
/// more threads, with one vector of accumulators each. Groups of neighbours get smaller chunks too, because most of
/// them may be masked. But the second launch takes longer the more chunks there are (docs/performance.md:
/// split-reduction).
uint32_t chunks_of_row(const KernelFacts& facts, const KernelLayout& layout, uint32_t accumulators) {
  constexpr uint32_t kWhole = 4096, kChunk = 1024, kSplitRowsBits = 11;
  constexpr uint32_t kWholeOfGathers = 512, kChunkOfGathers = 128, kMostChunks = 1024, kFewRowsBits = 4;
  constexpr uint32_t kChunkOfGroups = 512, kChunkOfStoredGroups = 256, kManyAccumulators = 1 << 21;
  if (gathers(facts) && accumulators > kWholeOfGathers && layout.rows_bits <= kFewRowsBits)
    return std::min(accumulators / kChunkOfGathers, std::max(kMostChunks, accumulators / kChunk));
  if (accumulators >= kManyAccumulators && has_groups(facts))
    return accumulators / (stores_elements(facts) ? kChunkOfStoredGroups : kChunkOfGroups);
  return accumulators > kWhole && (layout.rows_bits < kSplitRowsBits || accumulators > 8 * kChunk)
             ? accumulators / kChunk
             : 1;
}

// A short row that may be unaligned is not a sequence of vectors, but a warp's rows together are. With fewer threads
// per row fewer values are exchanged, up to 28 elements per thread (docs/performance.md: short-unaligned-rows).
void use_batches(RowSchedule& rows, const KernelFacts& facts, const KernelLayout& layout, uint32_t lanes) {
  constexpr uint32_t kShortBits = 7, kElements = 28, kMostElements = 32;
  constexpr uint32_t kSharedBytes = 28 << 10, kMostSharedBytes = 48 << 10;
  if (lanes > 1 || rows.is_split || rows.speculative_phase > 0 || layout.length_bits > kShortBits ||
      layout.has_empty_rows)
    return;
  if (layout.rows_bits < kManyRowsBits) return;
  uint32_t read_bytes = 0, stored_bytes = 0;  // per element
  for (const AccessFacts& access : facts.accesses) {
    if (access.kind == Kind::Gather || access.is_grouped)
      return;  // nothing may be gathered for a row that does not exist
    if (!access.varies_in_row || !is_element_wise(access)) continue;
    if (access.kind == Kind::Store && !can_be_batched(access, kWarp)) return;
    if (can_be_batched(access, kWarp)) (access.kind == Kind::Store ? stored_bytes : read_bytes) += access.bytes;
  }
  if (stored_bytes == 0) return;
  const uint64_t most = lengths_of(layout).most;
  const auto suits = [&](uint32_t threads) {
    return std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
      return access.kind != Kind::Store || !access.varies_in_row || can_be_batched(access, kWarp / threads);
    });
  };
  // Most stores reuse the memory of a load.
  const auto fits = [&](uint32_t threads, uint32_t elements) {
    const uint64_t slots = kBatches * kWarp / threads * ((most + threads - 1) / threads * threads);
    return most <= threads * elements && slots * std::max(read_bytes, stored_bytes) <= kSharedBytes &&
           slots * (read_bytes + stored_bytes) <= kMostSharedBytes;
  };
  uint32_t threads = 1;
  while (!fits(threads, kElements) && 2 * threads <= rows.accumulators && suits(2 * threads)) threads *= 2;
  if (!fits(threads, kMostElements)) return;
  rows.threads = threads;
  rows.batch = kWarp / threads;
  rows.steps = static_cast<uint32_t>((most + threads - 1) / threads);
}

/// Limits the steps to the longest row with this layout, and counts the steps that need no guard.
///
/// Without length_eighths, a row is only known to fill more than half of its steps. Fewer steps need fewer registers,
/// and unguarded steps are faster. With steps in shared memory, too many unguarded steps would keep so many loads in
/// flight that registers spill (docs/performance.md: exact-step-count).
void fit_steps(RowSchedule& rows, const KernelLayout& layout, uint32_t lanes) {
  if (rows.steps < 2 && rows.column_chunks == 0) return;
  const auto [most, least] = lengths_of(layout);
  const uint64_t step = elements_of_step(rows, lanes);
  const uint32_t in_registers = rows.steps - rows.shared_steps;
  rows.steps = static_cast<uint32_t>((most + step - 1) / step);
  rows.shared_steps = rows.steps - std::min(rows.steps, in_registers);
  rows.unguarded_steps = static_cast<uint32_t>(least / step);
  if (rows.shared_steps > 0) rows.unguarded_steps = lanes > 1 ? std::min(rows.unguarded_steps, rows.steps / 2) : 0;
}

// With fused column partials, a thread keeps its elements of a row, and an accumulator for each of their columns.
// Blocks are limited so that registers suffice, and the next row is prefetched if registers are left. If nothing is
// reduced along the rows, vectors of 16 bytes are faster (docs/performance.md: fused-column-partials).
RowSchedule rows_with_column_partials(RowSchedule rows, const KernelFacts& facts, const KernelLayout& layout) {
  constexpr uint32_t kRegisters = 1 << 16, kFewBytes = 192, kManyBytes = 512, kHeavy = 60;
  const uint64_t length = uint64_t{1} << layout.length_bits;
  rows.column_chunks = layout.column_chunks;
  rows.threads = std::max(1u, rows.accumulators / kColumnPartialLanes);
  if (is_for_columns_alone(facts)) rows.threads = static_cast<uint32_t>(std::clamp<uint64_t>(length / 8, 1, 512));
  const uint32_t lanes = cuda_row_lanes(facts, layout, rows);
  if (is_for_columns_alone(facts)) rows.accumulators = rows.threads * lanes;
  rows.steps = static_cast<uint32_t>(std::max<uint64_t>(1, length / (rows.threads * lanes)));
  const uint32_t threads = cuda_rows_of_block(rows, lanes, true) * rows.threads;
  const uint32_t bytes = 2 * large_bytes(facts) + facts.column_partial_bytes, thread_bytes = rows.steps * lanes * bytes;
  const uint32_t registers = thread_bytes > kManyBytes                          ? 255
                             : thread_bytes > kFewBytes || facts.cost >= kHeavy ? 128
                                                                                : 64;
  rows.min_blocks = std::max(1u, kRegisters / (registers * threads));
  rows.prefetches = facts.phases != 2 && large_bytes(facts) > 0 && bytes <= kColumnPartialBytes;
  fit_steps(rows, layout, lanes);
  return rows;
}

/// The schedule of a kernel that combines the fused column partials of another kernel.
RowSchedule finalized_columns(RowSchedule rows, const KernelLayout& layout) {
  rows.across = true;
  rows.is_split = true;
  rows.chunks = layout.column_chunks;
  rows.group_accumulators = 4;
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

RowSchedule cuda_rows(const KernelFacts& facts, const KernelLayout& layout, bool has_several_phases) {
  const uint32_t length_bits = layout.length_bits;
  RowSchedule rows;
  rows.accumulators = cuda_accumulators(length_bits, facts.loads);
  if (facts.column_partial_bytes > 0) return rows_with_column_partials(rows, facts, layout);
  if (facts.finalizes_partials) return finalized_columns(rows, layout);
  rows.across = is_contiguous_across_rows(facts);
  if (rows.across) return cuda_columns(rows, facts, layout, has_several_phases);
  rows.speculative_phase = facts.speculative_phase;
  if (rows.speculative_phase > 0) has_several_phases = facts.phases > 2;
  if (!has_several_phases && rows.speculative_phase == 0) rows.chunks = chunks_of_row(facts, layout, rows.accumulators);
  rows.is_split = rows.chunks > 1;
  const uint32_t lanes = cuda_row_lanes(facts, layout, rows);
  // Access groups are loaded as vectors. A thread has the vectors of two elements in flight; the second element's may
  // be loaded in vain (docs/performance.md: groups-as-vectors).
  const bool in_groups = has_groups(facts);
  rows.threads = rows.is_split && gathers(facts)
                     ? rows.accumulators / rows.chunks / lanes
                     : row_threads(layout, rows.accumulators / rows.chunks, lanes, in_groups, has_several_phases);
  if (has_several_phases) {
    rows = cached_rows(rows, facts, layout, lanes);
    use_batches(rows, facts, layout, lanes);
    fit_steps(rows, layout, lanes);
    return rows;
  }
  rows.threads = std::min(rows.threads, in_groups ? 512u : layout.rows_bits <= kWaitedRowsBits ? 1024u : 256u);
  const uint64_t elements = (uint64_t{1} << length_bits) / rows.threads;
  // If a thread has few elements, all are loaded at once (docs/performance.md: few-elements-at-once).
  const uint32_t at_once = has_few_elements(layout) ? std::max(4 * lanes, 16u) : 4 * lanes;
  if (!rows.is_split && elements <= at_once)
    rows.steps = static_cast<uint32_t>(std::max<uint64_t>(1, elements / lanes));
  if (rows.speculative_phase > 0 && elements > at_once && lanes > 1 && !in_groups)
    use_blocked_accumulators(rows, facts, layout, lanes);
  use_batches(rows, facts, layout, lanes);
  fit_steps(rows, layout, lanes);
  return rows;
}

// If a later phase is the first to need an operand, the operand is loaded while the first phase computes. With fused
// column partials every operand is loaded once, if a thread has registers for it.
bool cuda_reads_ahead(const AccessFacts& access, const KernelFacts& facts, const RowSchedule& rows, uint32_t lanes) {
  constexpr uint32_t kBytes = 128;
  if (rows.steps == 0 || rows.has_blocked_accumulators || rows.shared_steps > 0 || rows.batch > 0 ||
      rows.speculative_phase > 0)
    return false;
  if (!is_large(access)) return false;
  if (rows.column_chunks > 0) return large_bytes(facts) + facts.column_partial_bytes <= kColumnPartialBytes;
  return access.phase > 0 && rows.steps * lanes * large_bytes(facts) <= kBytes;
}

bool cuda_can_cache(const RowSchedule& rows, uint32_t lanes, uint32_t bytes) {
  constexpr uint32_t kBytes = 128;
  if (rows.column_chunks > 0) return bytes <= kWordBytes;  // most likely reuses the registers of an input
  return rows.steps > 0 && !rows.has_blocked_accumulators && (rows.steps - rows.shared_steps) * lanes * bytes <= kBytes;
}

}  // namespace ingot::codegen
