#include <algorithm>

#include "codegen/schedule/row_policy.h"

// Rules for reductions on the CPU: how rows are distributed, and which values are cached.

namespace ingot::codegen {

// Enough to keep four AVX-512 vectors in flight; a shorter row has fewer.
uint32_t cpu_accumulators(uint32_t length_bits) { return 1u << std::min(length_bits, 6u); }

// The error of a sum grows with the number of elements that are added one after the other, so a long row is divided
// into chunks. A chunk has sixteen elements per accumulator. The chunks of very long rows are longer: an accumulator
// then adds about as many elements in a chunk as there are results of chunks to add to one accumulator.
uint32_t cpu_chunk_length(uint32_t length_bits) {
  constexpr uint32_t kChunkBits = 10, kAccumulatorBits = 6;
  if (length_bits <= kChunkBits) return 0;
  return 1u << std::max(kChunkBits, kAccumulatorBits + (length_bits - 2 * kAccumulatorBits + 1) / 2);
}

namespace {

constexpr uint32_t kCpuLaneBits = 6;

/// Whether the access's elements can be transposed into a buffer.
bool can_be_transposed(const AccessFacts& access) {
  return access.varies_in_row && is_element_wise(access) && access.inner == StrideClass::One &&
         access.along_rows == StrideClass::Other;
}

}  // namespace

bool cpu_copies_to_buffer(const AccessFacts& access, const KernelFacts& facts, const KernelLayout& layout) {
  constexpr uint32_t kShortBits = 7;
  constexpr uint64_t kStackBytes = 512 << 10;  // for all buffers
  if (layout.length_bits > kShortBits || layout.reduced_axes != 1) return false;
  if (facts.results_alias || facts.has_regions) return false;
  uint64_t bytes = 0;
  for (const AccessFacts& other : facts.accesses)
    if (can_be_transposed(other)) bytes += other.bytes;
  return can_be_transposed(access) && bytes << (layout.length_bits + kCpuLaneBits) <= kStackBytes;
}

namespace {

/// Whether the elements of a row, in memory order, fill whole vectors, and enough vectors that combining the row's
/// accumulators costs little (docs/performance.md: cpu-row-order). `is_plain_sum`: there is one phase, and no
/// transcendental function.
bool rows_fill_vectors(const KernelFacts& facts, const KernelLayout& layout, bool is_plain_sum) {
  constexpr uint32_t kVector = 16, kShortSumBits = 6, kFewRowsBits = 4, kTwoVectorsBits = 5, kLongBits = 7;
  const bool has_vectors = facts.reduced_axis_multiple >= kVector;
  if (is_plain_sum) return has_vectors || layout.length_bits > kShortSumBits;
  const bool stores = std::ranges::any_of(facts.accesses, [](const AccessFacts& access) {
    return access.varies_in_row && access.kind == AccessUse::Kind::Store;
  });
  const uint32_t enough_bits = facts.has_transcendentals && !stores ? kLongBits : kTwoVectorsBits;
  return has_vectors && (layout.rows_bits <= kFewRowsBits || layout.length_bits >= enough_bits);
}

/// Whether short rows should be copied to a buffer in which adjacent rows are adjacent, to vectorise over rows.
bool should_be_transposed(const KernelFacts& facts, const KernelLayout& layout, bool has_several_phases) {
  constexpr uint32_t kRowsBits = 4;  // with fewer rows most elements of a vector are unused
  if (layout.rows_bits < kRowsBits ||
      rows_fill_vectors(facts, layout, !has_several_phases && !facts.has_transcendentals))
    return false;
  const auto is_copied = [&](const AccessFacts& access) { return cpu_copies_to_buffer(access, facts, layout); };
  return std::ranges::any_of(facts.accesses, is_copied) &&
         std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
           return is_copied(access) || !access.varies_in_row || access.along_rows != StrideClass::Other;
         });
}

// The accumulators should stay in the L1 cache, or near it (docs/performance.md: cpu-columns-per-vector).
uint32_t lanes_across(const KernelFacts& facts, const KernelLayout& layout) {
  constexpr uint32_t kCacheBytes = 64 << 10;
  const uint32_t accumulators = cpu_accumulators(layout.length_bits);
  uint32_t lanes = 1u << std::clamp<uint32_t>(layout.rows_bits, 1, kCpuLaneBits);
  while (lanes > 2 && accumulators * lanes * facts.result_bytes > kCacheBytes) lanes /= 2;
  return lanes;
}

}  // namespace

LoopMaps cpu_loop_maps(const KernelLayout& layout, uint32_t lanes, bool is_split) {
  const uint32_t accumulators = cpu_accumulators(layout.length_bits), chunk = cpu_chunk_length(layout.length_bits);
  LoopMap kept{.first = 0, .axes = layout.rank - layout.reduced_axes, .loops = {{Scope::Grid}, {Scope::Serial}}};
  LoopMap reduced{
      .first = kept.axes,
      .axes = layout.reduced_axes,
      .loops = {{Scope::Fold, chunk / accumulators}, {lanes > 1 ? Scope::Serial : Scope::Vector, accumulators}},
      .is_reduced = true};
  if (chunk > 0) reduced.loops.insert(reduced.loops.begin(), {is_split ? Scope::Grid : Scope::Serial});
  if (lanes == 1) return {std::move(kept), std::move(reduced)};
  kept.loops[1] = {Scope::Vector, lanes};
  return {std::move(reduced), std::move(kept)};
}

LoopMaps cpu_rows(const KernelFacts& facts, const KernelLayout& layout, bool has_several_phases) {
  constexpr uint32_t kEnoughRowsBits = 6;  // so many rows (log2) occupy all threads with one unit per row
  // The bits of a row must not depend on its neighbours.
  const bool is_across = !facts.depends_on_vector_width &&
                         (is_contiguous_across_rows(facts) || should_be_transposed(facts, layout, has_several_phases));
  const bool is_split = cpu_chunk_length(layout.length_bits) != 0 && !has_several_phases &&
                        (is_across || layout.rows_bits < kEnoughRowsBits);
  return cpu_loop_maps(layout, is_across ? lanes_across(facts, layout) : 1, is_split);
}

// For short rows, one accumulator is finished before the next one starts, so that it stays in a register. For longer
// rows the elements of an accumulator are too far apart in memory (docs/performance.md: cpu-columns-by-accumulator).
bool cpu_blocks_accumulators(const Schedule& schedule, const KernelLayout& layout) {
  constexpr uint32_t kFewBits = 8;
  return schedule.is_across() && schedule.reduced().accumulators() > 1 && layout.length_bits <= kFewBits;
}

// (docs/performance.md: cpu-prefetch-results)
bool cpu_prefetches(const AccessFacts& access, const KernelLayout& layout) {
  constexpr uint32_t kMostBits = 16;
  return access.kind == AccessUse::Kind::Store && access.varies_in_row && access.inner == StrideClass::One &&
         layout.length_bits <= kMostBits;
}

// A single row may use up to 1 MiB, about the L2 cache (docs/performance.md: cpu-cached-rows).
bool cpu_can_cache(const KernelLayout& layout, uint32_t lanes, uint32_t bytes) {
  constexpr uint64_t kBytesOfRow = 1 << 20, kBytesOfRows = 64 << 10;
  return (uint64_t{lanes} * bytes << layout.length_bits) <= (lanes == 1 ? kBytesOfRow : kBytesOfRows);
}

}  // namespace ingot::codegen
