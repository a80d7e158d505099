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

/// The numbers of a schedule of rows of which adjacent threads have adjacent elements.
struct Along : RowsAlong, Residency {
  uint32_t min_blocks = 0, speculative_phase = 0;
};

/// Whether rows are traversed only to reduce their columns: nothing is reduced along the rows.
bool is_for_columns_alone(const KernelFacts& facts) {
  return facts.column_partial_bytes > 0 && facts.result_bytes == 0;
}

}  // namespace

ir::ReductionOrder reduction_order(bool is_cuda) {
  const auto cuda = [](uint32_t length_bits) { return cuda_accumulators(length_bits, 0); };
  if (is_cuda) return {.accumulators = cuda, .adjacent_first = true, .fuses_products = true};
  return {.accumulators = cpu_accumulators};
}

uint64_t elements_of_step(const Schedule& schedule) {
  const LoopMap& row = schedule.reduced();
  if (schedule.residency.has_blocked_accumulators) return row.accumulators();
  return uint64_t{row.count(Scope::Block)} * row.count(Scope::Cluster) * row.count(Scope::Vector);
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

/// Whether a thread can handle `lanes` elements of a row at a time: as vectors, if they vary along the row.
bool are_vectors_in_row(const KernelFacts& facts, uint32_t lanes) {
  return std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
    if (!access.varies_in_row || !is_element_wise(access)) return true;
    return access.inner == StrideClass::Zero ? facts.inner_multiple >= lanes : is_vector_in_row(access, facts, lanes);
  });
}

/// Whether there are few short rows, for which latency limits the kernel.
bool has_few_elements(const KernelLayout& layout) { return layout.rows_bits <= 10 && layout.length_bits <= 11; }

/// Whether vectors of unaligned rows can be shifted out of the aligned vectors around them: no element is stored, and
/// no load must stay within its row. If there are few elements, single loads are faster (docs/performance.md:
/// few-elements-load-singly).
bool can_shift(const KernelFacts& facts, const KernelLayout& layout, uint32_t lanes) {
  if (facts.column_partial_bytes > 0 || layout.reduced_axes != 1 || has_few_elements(layout) ||
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

/// The adjacent elements of a row, or of a chunk with this number of accumulators, that a thread handles at a time.
uint32_t lanes_along(const KernelFacts& facts, const KernelLayout& layout, uint32_t accumulators) {
  if (layout.reduced_axes == 0) return 1;
  uint32_t lanes = std::min(elements_of_vector(facts), accumulators);
  if (facts.column_partial_bytes > 0 && !is_for_columns_alone(facts)) lanes = std::min(lanes, kColumnPartialLanes);
  return are_vectors_in_row(facts, lanes) || can_shift(facts, layout, lanes) ? lanes : 1;
}

}  // namespace

bool can_be_batched(const AccessFacts& access, uint32_t rows) {
  return is_element_wise(access) && access.varies_in_row && !access.is_masked && access.is_linear &&
         access.alignment >= kVectorBytes && rows * access.bytes % kVectorBytes == 0;
}

namespace {

uint32_t rows_of_block(const Along& rows, bool has_several_phases) {
  if (rows.batch > 0) return kBatches * rows.batch;
  return rows.threads >= 64 ? 1 : (has_several_phases || rows.column_chunks > 0 ? 128 : 256) / rows.threads;
}

/// The schedule with these numbers.
Schedule schedule_of(const Along& rows, const KernelFacts& facts, const KernelLayout& layout) {
  Schedule schedule{.loop_maps = loop_maps_of(rows, layout.rank, layout.reduced_axes)};
  if (rows.chunks > 1) schedule.finalize_maps = finalize_maps_along(rows.chunks, layout.rank, layout.reduced_axes);
  schedule.has_partial_vectors = rows.lanes > 1 && !are_vectors_in_row(facts, rows.lanes);
  schedule.residency = rows;
  schedule.min_blocks = rows.min_blocks;
  schedule.speculative_phase = rows.speculative_phase;
  return schedule;
}

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
bool keep_single_elements(Along& rows, const KernelFacts& facts, uint64_t length, uint32_t bytes) {
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
bool keep_in_shared_memory(Along& rows, const KernelFacts& facts, uint64_t length, uint32_t bytes) {
  constexpr uint32_t kLongRow = 64 << 10, kBytesOfBlock = 128 << 10, kLongestRow = 256 << 10;
  constexpr uint32_t kExchangeBytes = 8 << 10;  // for results that threads exchange
  constexpr uint32_t kVectorsOf16Bit = 4;
  const uint64_t row = length * bytes;
  const bool is_16_bit = rows.lanes == k16BitLanes;
  if (rows.lanes * bytes < kWordBytes || row <= (is_16_bit ? kLongRow / 2 : kLongRow)) return false;
  if (row > std::max(facts.cluster_blocks * kBytesOfBlock, kLongestRow)) return false;
  const uint32_t blocks = row > kLongestRow ? static_cast<uint32_t>(row / kBytesOfBlock) : 1;
  const uint32_t threads = std::min(rows.threads, row > kBytesOfBlock && blocks == 1 ? 1024u : 512u);
  const auto steps = static_cast<uint32_t>(length / (threads * blocks * rows.lanes));
  const uint32_t shared = is_16_bit ? std::max(steps / 2, steps - std::min(steps, kVectorsOf16Bit)) : steps / 2;
  if (shared * threads * rows.lanes * bytes + kExchangeBytes > facts.shared_bytes) return false;
  rows.threads = threads, rows.cluster = blocks, rows.steps = steps, rows.shared_steps = shared;
  rows.min_blocks = 1024 / threads;
  return true;
}

// Heavy kernels use smaller blocks, of which more fit (docs/performance.md: more-blocks-for-heavy-rows). Accesses that
// do not vary along the innermost axis are not cached, but loaded at each use.
bool keep_in_more_blocks(Along& rows, const KernelFacts& facts, uint64_t length) {
  constexpr uint32_t kThreads = 256, kBlocks = 4, kWords = 32;
  const auto varies_innermost = [](const AccessFacts& access) {
    return access.kind == Kind::Load && access.varies_in_row && access.inner != StrideClass::Zero;
  };
  const auto word = [](const AccessFacts& access) { return access.bytes <= kWordBytes; };
  if (rows.threads != 2 * kThreads || length > kThreads * kWords ||
      std::ranges::count_if(facts.accesses, varies_innermost) != 1 || !std::ranges::all_of(facts.accesses, word))
    return false;
  rows.threads = kThreads, rows.min_blocks = kBlocks;
  rows.steps = static_cast<uint32_t>(length / (kThreads * rows.lanes));
  return true;
}

// Without vectors: if there are several phases and few rows, a thread has four elements; if there are many rows of 257
// to 512 elements, a row has one warp, which needs no barrier (docs/performance.md: threads-per-row).
uint32_t threads_of_row(const KernelLayout& layout, uint32_t accumulators, uint32_t lanes, bool has_groups,
                        bool has_several_phases) {
  constexpr uint32_t kFew = 4, kWarpRowBits = 9;
  const bool has_few_rows = layout.rows_bits <= kWaitedRowsBits;
  if (lanes == 1 && !has_groups) {
    if (has_several_phases && has_few_rows) return std::clamp((1u << layout.length_bits) / kFew, 1u, accumulators);
    if (!has_few_rows && layout.length_bits == kWarpRowBits) return kWarp;
  }
  return std::max(1u, accumulators / std::max(lanes, has_groups ? 2u : kFew));
}

/// Rows that several phases traverse are loaded once if a block, or a cluster, can hold a row. 16-bit floats have four
/// vectors per thread (docs/performance.md: vectors-per-thread-16-bit).
void cache_rows(Along& rows, const KernelFacts& facts, const KernelLayout& layout) {
  constexpr uint32_t kRegisterBytes = 128 << 10, kMostBytes = 256, kVectors = 4, kHeavy = 60;
  const auto [bytes, loads] = row_bytes(facts);
  const uint64_t length = uint64_t{1} << layout.length_bits;
  rows.threads = std::min(rows.threads, layout.length_bits <= 14 ? 512u : 1024u);
  if (rows.lanes == k16BitLanes && length >= 2 * kVectors * rows.lanes)
    rows.threads = std::min(rows.threads, static_cast<uint32_t>(length / (kVectors * rows.lanes)));
  if (loads == 1 && rows.lanes == 1 && keep_single_elements(rows, facts, length, bytes)) return;
  if (loads == 1 && keep_in_shared_memory(rows, facts, length, bytes)) return;
  if (facts.cost >= kHeavy && keep_in_more_blocks(rows, facts, length)) return;
  // Half of the registers that each thread can have at this block size.
  const uint64_t elements = length / rows.threads, available = kRegisterBytes / rows.threads;
  if (elements * bytes <= std::min<uint64_t>(available, kMostBytes))
    rows.steps = static_cast<uint32_t>(std::max<uint64_t>(1, elements / rows.lanes));
}

// A thread processes one run of its accumulators at a time (blocked accumulators): the run's four vectors are loaded at
// once, and few registers are live, so that many blocks fit on a multiprocessor (docs/performance.md:
// blocked-accumulators).
void use_blocked_accumulators(Along& rows, const KernelFacts& facts, const KernelLayout& layout) {
  constexpr uint32_t kSteps = 4, kThreads = 1536;  // of a multiprocessor, with 40 registers each
  constexpr uint32_t kSharedBytes = 40 << 10;      // for the results of runs
  const uint64_t steps = (uint64_t{1} << layout.length_bits) / rows.accumulators;
  if (steps > kSteps || rows.accumulators / rows.lanes * facts.ordered_bytes > kSharedBytes) return;
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
void use_batches(Along& rows, const KernelFacts& facts, const KernelLayout& layout) {
  constexpr uint32_t kShortBits = 7, kElements = 28, kMostElements = 32;
  constexpr uint32_t kSharedBytes = 28 << 10, kMostSharedBytes = 48 << 10;
  if (rows.lanes > 1 || rows.chunks > 1 || rows.speculative_phase > 0 || layout.length_bits > kShortBits ||
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
void fit_steps(Along& rows, const KernelLayout& layout) {
  if (rows.steps < 2 && rows.column_chunks == 0) return;
  const auto [most, least] = lengths_of(layout);
  const uint64_t step = rows.has_blocked_accumulators ? rows.accumulators : rows.threads * rows.cluster * rows.lanes;
  const uint32_t in_registers = rows.steps - rows.shared_steps;
  rows.steps = static_cast<uint32_t>((most + step - 1) / step);
  rows.shared_steps = rows.steps - std::min(rows.steps, in_registers);
  rows.unguarded_steps = static_cast<uint32_t>(least / step);
  if (rows.shared_steps > 0) rows.unguarded_steps = rows.lanes > 1 ? std::min(rows.unguarded_steps, rows.steps / 2) : 0;
}

// With fused column partials, a thread keeps its elements of a row, and an accumulator for each of their columns.
// Blocks are limited so that registers suffice, and the next row is prefetched if registers are left. If nothing is
// reduced along the rows, vectors of 16 bytes are faster (docs/performance.md: fused-column-partials).
Schedule rows_with_column_partials(const KernelFacts& facts, const KernelLayout& layout) {
  constexpr uint32_t kRegisters = 1 << 16, kFewBytes = 192, kManyBytes = 512, kHeavy = 60;
  const uint64_t length = uint64_t{1} << layout.length_bits;
  Along rows;
  rows.accumulators = cuda_accumulators(layout.length_bits, facts.loads);
  rows.column_chunks = layout.column_chunks;
  rows.threads = std::max(1u, rows.accumulators / kColumnPartialLanes);
  rows.lanes = lanes_along(facts, layout, rows.accumulators);
  if (is_for_columns_alone(facts)) rows.threads = static_cast<uint32_t>(std::clamp<uint64_t>(length / 8, 1, 512));
  if (is_for_columns_alone(facts)) rows.accumulators = rows.threads * rows.lanes;
  rows.steps = static_cast<uint32_t>(std::max<uint64_t>(1, length / (rows.threads * rows.lanes)));
  rows.block_rows = rows_of_block(rows, true);
  const uint32_t threads = rows.block_rows * rows.threads, bytes = 2 * large_bytes(facts) + facts.column_partial_bytes,
                 thread_bytes = rows.steps * rows.lanes * bytes;
  const uint32_t registers = thread_bytes > kManyBytes                          ? 255
                             : thread_bytes > kFewBytes || facts.cost >= kHeavy ? 128
                                                                                : 64;
  rows.min_blocks = std::max(1u, kRegisters / (registers * threads));
  rows.prefetches = facts.phases != 2 && large_bytes(facts) > 0 && bytes <= kColumnPartialBytes;
  fit_steps(rows, layout);
  return schedule_of(rows, facts, layout);
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

namespace {

/// The schedule of rows of which adjacent threads have adjacent elements.
Schedule rows_along(const KernelFacts& facts, const KernelLayout& layout, bool has_several_phases) {
  Along rows;
  rows.accumulators = cuda_accumulators(layout.length_bits, facts.loads);
  rows.speculative_phase = facts.speculative_phase;
  if (rows.speculative_phase > 0) has_several_phases = facts.phases > 2;
  if (!has_several_phases && rows.speculative_phase == 0) rows.chunks = chunks_of_row(facts, layout, rows.accumulators);
  const uint32_t accumulators = rows.accumulators / rows.chunks;
  rows.lanes = lanes_along(facts, layout, accumulators);
  // Access groups are loaded as vectors. A thread has the vectors of two elements in flight; the second element's may
  // be loaded in vain (docs/performance.md: groups-as-vectors).
  const bool in_groups = has_groups(facts);
  rows.threads = rows.chunks > 1 && gathers(facts)
                     ? accumulators / rows.lanes
                     : threads_of_row(layout, accumulators, rows.lanes, in_groups, has_several_phases);
  if (has_several_phases) {
    cache_rows(rows, facts, layout);
  } else {
    rows.threads = std::min(rows.threads, in_groups ? 512u : layout.rows_bits <= kWaitedRowsBits ? 1024u : 256u);
    const uint64_t elements = (uint64_t{1} << layout.length_bits) / rows.threads;
    // If a thread has few elements, all are loaded at once (docs/performance.md: few-elements-at-once).
    const uint32_t at_once = has_few_elements(layout) ? std::max(4 * rows.lanes, 16u) : 4 * rows.lanes;
    if (rows.chunks == 1 && elements <= at_once)
      rows.steps = static_cast<uint32_t>(std::max<uint64_t>(1, elements / rows.lanes));
    if (rows.speculative_phase > 0 && elements > at_once && rows.lanes > 1 && !in_groups)
      use_blocked_accumulators(rows, facts, layout);
  }
  use_batches(rows, facts, layout);
  fit_steps(rows, layout);
  rows.block_rows = rows_of_block(rows, has_several_phases);
  return schedule_of(rows, facts, layout);
}

}  // namespace

Schedule cuda_rows(const KernelFacts& facts, const KernelLayout& layout, bool has_several_phases) {
  if (facts.column_partial_bytes > 0) return rows_with_column_partials(facts, layout);
  if (facts.finalizes_partials)
    return {.loop_maps = finalize_maps_across(layout.column_chunks, 4, kWarp, layout.rank, layout.reduced_axes)};
  if (is_contiguous_across_rows(facts)) return cuda_rows_across(facts, layout, has_several_phases);
  return rows_along(facts, layout, has_several_phases);
}

bool can_compute_past_end(const KernelFacts& facts, const Schedule& schedule) {
  const Residency& residency = schedule.residency;
  if (schedule.is_across() || schedule.lanes() == 1 || residency.steps == 0 || residency.shared_steps > 0 ||
      residency.has_blocked_accumulators || schedule.has_partial_vectors || schedule.column_chunks() > 0)
    return false;
  // If zeros divide by zero, compilers conclude that all elements exist, and drop the conditions. And no branch may
  // depend on an element that does not exist.
  if (facts.may_divide_by_zero || facts.has_regions) return false;
  for (size_t a = 0; a < facts.accesses.size(); ++a) {
    const AccessFacts& access = facts.accesses[a];
    if (access.kind == Kind::Index) continue;
    if (access.varies_in_row && schedule.accesses[a].how != AccessSchedule::How::Vector) return false;
    // The index of an element that does not exist may be out of range.
    if (access.kind == Kind::Gather && !access.row_shares_index) return false;
  }
  return true;
}

// With a branch around each step, the compiler loads the last steps' elements only after it has computed others. But if
// arithmetic limits the kernel, computing in vain takes longer. The cost of a kernel with speculative sums counts the
// other arm, which few rows execute (docs/performance.md: past-the-end).
bool cuda_computes_past_end(const KernelFacts& facts, const Schedule& schedule) {
  constexpr uint32_t kPerByte = 10;
  return schedule.residency.unguarded_steps < schedule.residency.steps &&
         facts.cost <= kPerByte * bytes_per_element(facts) * (schedule.speculative_phase > 0 ? 2 : 1) &&
         can_compute_past_end(facts, schedule);
}

// If a later phase is the first to need an operand, the operand is loaded while the first phase computes. With fused
// column partials every operand is loaded once, if a thread has registers for it.
bool cuda_reads_ahead(const AccessFacts& access, const KernelFacts& facts, const Schedule& schedule) {
  constexpr uint32_t kBytes = 128;
  const Residency& residency = schedule.residency;
  if (schedule.is_across() || residency.steps == 0 || residency.has_blocked_accumulators ||
      residency.shared_steps > 0 || residency.batch > 0 || schedule.speculative_phase > 0)
    return false;
  if (!is_large(access)) return false;
  if (facts.column_partial_bytes > 0) return large_bytes(facts) + facts.column_partial_bytes <= kColumnPartialBytes;
  return access.phase > 0 && residency.steps * schedule.lanes() * large_bytes(facts) <= kBytes;
}

bool cuda_can_cache(const Schedule& schedule, uint32_t bytes) {
  constexpr uint32_t kBytes = 128;
  const Residency& residency = schedule.residency;
  if (schedule.column_chunks() > 0) return bytes <= kWordBytes;  // most likely reuses the registers of an input
  return residency.steps > 0 && !schedule.is_across() && !residency.has_blocked_accumulators &&
         (residency.steps - residency.shared_steps) * schedule.lanes() * bytes <= kBytes;
}

}  // namespace ingot::codegen
