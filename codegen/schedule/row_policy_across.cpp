#include <algorithm>
#include <bit>

#include "codegen/schedule/row_policy.h"

// The rules for rows of which adjacent threads have corresponding elements: reductions along columns.

namespace ingot::codegen {
namespace {

constexpr uint32_t kWarp = 32, kBlockThreads = 256;
constexpr uint32_t kExchangeBytes = 40 << 10;  // of shared memory, for results that the warps of a block exchange

/// Whether a thread can handle corresponding elements of `lanes` adjacent rows at a time.
bool are_vectors_across_rows(const KernelFacts& facts, const KernelLayout& layout, uint32_t lanes) {
  return std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
    return !access.varies_in_row || !is_element_wise(access) || access.along_rows != StrideClass::One ||
           is_vector_across_rows(access, layout, lanes);
  });
}

/// The adjacent rows that a thread handles at a time; at least two adjacent threads have adjacent rows.
uint32_t lanes_across(const KernelFacts& facts, const KernelLayout& layout) {
  uint32_t lanes = std::min(elements_of_vector(facts), std::max(1u, (1u << layout.rows_bits) / 2));
  while (lanes > 1 && !are_vectors_across_rows(facts, layout, lanes)) lanes /= 2;
  return lanes;
}

/// A reduction whose result does not depend on the order, such as a maximum, needs only as many accumulators as its
/// threads have at a time.
void drop_unneeded_accumulators(RowsAcross& rows, const KernelFacts& facts) {
  if (facts.ordered_bytes == 0) rows.accumulators = rows.chunks * rows.threads * rows.group;
}

/// The number of rows, rounded up to a power of two; from 32 rows on, where it does not matter, twice as many. There
/// are 2^rows_bits rows or more, and exactly so many if that number divides them.
uint32_t padded_rows(const KernelLayout& layout) {
  const uint32_t rows = 1u << layout.rows_bits;
  return layout.row_axis_multiple >= rows ? rows : 2 * rows;
}

/// The bytes of shared memory in which the warps of a block exchange results. `threads`: the threads of a row.
uint64_t exchanged_bytes(uint32_t threads, uint32_t threads_across, uint32_t lanes, const KernelFacts& facts) {
  const uint32_t warps = threads * threads_across / kWarp;
  return threads == 1 || warps <= 1 ? 0 : uint64_t{warps} * threads_across * lanes * facts.result_bytes;
}

/// The number of chunks of a row of which adjacent threads have corresponding elements. Few rows are split into more
/// chunks.
uint32_t chunks_across(const RowsAcross& rows, const KernelLayout& layout) {
  constexpr uint32_t kAccumulatorsOfChunk = 256, kMaxChunks = 1024, kEnough = 4;
  const uint64_t target_count = uint64_t{rows.accumulators / kAccumulatorsOfChunk}
                                << (kManyRowsBits - std::min<uint32_t>(layout.rows_bits, kManyRowsBits));
  const uint64_t max_count = std::min(rows.accumulators / (rows.threads * rows.group), kMaxChunks);
  const auto chunks = static_cast<uint32_t>(std::min(target_count, max_count));
  return chunks < kEnough ? 1 : chunks;
}

/// Whether the warps of a block can exchange the results of their rows in shared memory.
bool can_exchange(const RowsAcross& rows, const KernelFacts& facts) {
  return exchanged_bytes(rows.threads, rows.threads_across, rows.lanes, facts) <= kExchangeBytes;
}

/// The bytes that a thread loads together.
uint32_t vector_bytes_across(const RowsAcross& rows, const KernelFacts& facts) {
  return rows.lanes * kVectorBytes / elements_of_vector(facts);
}

/// The fewest adjacent threads with adjacent vectors of rows, if `threads` share each row: as many as fill a warp; and
/// two, because a Combine::spacing of 1 means that adjacent threads share a row.
uint32_t fewest_threads_across(uint32_t threads) { return std::max(2u, kWarp / std::min(kWarp, threads)); }

/// The most adjacent threads with adjacent vectors of rows: a warp, because `combined_across` exchanges the results of
/// at most 32 vectors of rows. If each thread has rows of its own, nothing is exchanged, and a block may be larger: a
/// multiprocessor holds at most 32 blocks. But enough blocks should be left for all multiprocessors
/// (docs/performance.md: short-columns).
uint32_t most_threads_across(uint32_t threads, const KernelLayout& layout) {
  constexpr uint32_t kBlocks = 512;
  return threads == 1 ? std::clamp(padded_rows(layout) / kBlocks, kWarp, kBlockThreads) : kWarp;
}

// Registers hold the rows of a block. With fewer rows, a block has more threads for each, and holds longer ones; and
// while the threads of one block wait for each other, those of other blocks are busy. But adjacent threads should
// access 64 bytes together, or better 128 (docs/performance.md: columns-in-registers).
bool keep_across(RowsAcross& rows, const KernelFacts& facts, const KernelLayout& layout) {
  constexpr uint32_t kLanes = 4;  // more accumulators take too many registers
  constexpr uint32_t kMostThreads = 1024, kSegment = 128, kLeastSegment = 64;
  constexpr uint32_t kBytesOfThread = 64, kMostBytesOfThread = 256;            // of elements
  constexpr uint32_t kBytesOfBlock = 32 << 10, kMostBytesOfBlock = 128 << 10;  // so that several blocks fit; and one
  RowsAcross held = rows;
  held.lanes = std::min(rows.lanes, kLanes);
  const uint32_t vector_bytes = vector_bytes_across(held, facts), bytes = held.lanes * large_bytes(facts);
  const uint64_t length = uint64_t{1} << layout.length_bits;
  if (bytes == 0 || length * bytes > kMostBytesOfBlock) return false;
  const auto wanted_threads = std::bit_floor(std::max<uint64_t>(1, length * bytes / kBytesOfThread));
  held.threads = static_cast<uint32_t>(std::min<uint64_t>(wanted_threads, rows.accumulators / rows.group));
  const uint64_t thread_bytes = length / held.threads * bytes;
  const uint32_t fewest = fewest_threads_across(held.threads),
                 most = std::min(most_threads_across(held.threads, layout),
                                 std::max(fewest, padded_rows(layout) / held.lanes));
  held.threads_across = std::clamp(std::max(kBlockThreads / held.threads, kSegment / vector_bytes), fewest, most);
  const auto fits = [&](uint32_t block_bytes) {
    const uint32_t threads = held.threads * held.threads_across;
    return threads <= kMostThreads && threads * thread_bytes <= block_bytes && can_exchange(held, facts);
  };
  while (!fits(kBytesOfBlock) && held.threads_across > std::max(fewest, kLeastSegment / vector_bytes))
    held.threads_across /= 2;
  if (!fits(kMostBytesOfBlock) || thread_bytes > kMostBytesOfThread) return false;
  rows = held;
  return true;
}

}  // namespace

uint32_t steps_across(const RowsAcross& rows, const KernelLayout& layout) {
  return groups_across(rows) *
         static_cast<uint32_t>((lengths_of(layout).most + rows.accumulators - 1) / rows.accumulators);
}

uint64_t exchanged_bytes_across(const Schedule& schedule, const KernelFacts& facts) {
  return exchanged_bytes(schedule.reduced().count(Scope::Block), schedule.kept().count(Scope::Block), schedule.lanes(),
                         facts);
}

// A block has 256 threads, or 1024 if there are several phases; fewer if each thread has rows of its own. If rows are
// few, fewer threads are along the rows, and more share each row. A thread has a group of four accumulators at a time
// (docs/performance.md: column-sums).
Schedule cuda_rows_across(const KernelFacts& facts, const KernelLayout& layout, bool has_several_phases) {
  RowsAcross rows{.accumulators = cuda_accumulators(layout.length_bits, facts.loads)};
  rows.lanes = lanes_across(facts, layout);
  rows.group = std::min(rows.accumulators, 4u);
  if (has_several_phases && keep_across(rows, facts, layout)) {
    drop_unneeded_accumulators(rows, facts);
    Schedule schedule{.loop_maps = loop_maps_of(rows, layout.rank, layout.reduced_axes)};
    schedule.residency.steps = steps_across(rows, layout);
    return schedule;
  }
  const uint32_t block_threads = has_several_phases ? 1024 : kBlockThreads,
                 most_threads = rows.accumulators / rows.group;
  rows.threads_across = std::clamp(padded_rows(layout) / rows.lanes, fewest_threads_across(most_threads),
                                   most_threads_across(most_threads, layout));
  rows.threads = std::min(most_threads, block_threads / rows.threads_across);
  if (!has_several_phases) rows.chunks = chunks_across(rows, layout);
  // A launch should have 2^17 threads, enough for every multiprocessor (docs/performance.md: few-columns). While it has
  // fewer, a block takes half of the rows, with twice the threads for each, as long as adjacent threads load 128 bytes
  // or more together.
  constexpr uint32_t kEnoughThreads = 1 << 17, kSegment = 128;
  const auto threads_of_launch = [&] {
    return (uint64_t{rows.chunks * rows.threads} << layout.rows_bits) / rows.lanes;
  };
  while (threads_of_launch() < kEnoughThreads && rows.threads_across > 2 &&
         2 * rows.threads <= most_threads / rows.chunks &&
         rows.threads_across * vector_bytes_across(rows, facts) > kSegment)
    rows.threads_across /= 2, rows.threads *= 2;
  // The warps of a block exchange their results in shared memory.
  while (!can_exchange(rows, facts)) rows.threads /= 2;
  drop_unneeded_accumulators(rows, facts);
  Schedule schedule{.loop_maps = loop_maps_of(rows, layout.rank, layout.reduced_axes)};
  if (rows.chunks == 1) return schedule;
  // The second launch has up to 32 warps, whose threads have one row each.
  const uint32_t exchanging = std::bit_floor(std::max(2u, kExchangeBytes / (32 * std::max(1u, facts.result_bytes))));
  schedule.finalize_maps = finalize_maps_across(rows.chunks, rows.group, std::min(rows.threads_across, exchanging),
                                                layout.rank, layout.reduced_axes);
  return schedule;
}

}  // namespace ingot::codegen
