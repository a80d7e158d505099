#include <algorithm>

#include "codegen/schedule/policy.h"

// Rules for the CPU: tiles, batches of short rows, and vectors.

namespace ingot::codegen {

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

// A strided operand costs a cache line per element. Transposing it in registers, a tile at a time, costs little
// (docs/performance.md: cpu-transposed-tile). If results may alias inputs, elements stay in order: a tile must read all
// its inputs before it writes.
uint32_t cpu_axis_across(const KernelFacts& facts) {
  const auto gathers = [](const AccessFacts& access) { return access.kind == Kind::Gather; };
  if (facts.rank < 2 || facts.results_alias || std::ranges::any_of(facts.accesses, gathers)) return kNoAxis;
  return most_transposed_axis(facts);
}

// 64, unless the tiles would not fit in the L1 cache.
uint32_t cpu_tile_rows(const KernelFacts& facts) {
  constexpr uint32_t kCacheBytes = 48 << 10;
  return transposed_bytes(facts, cpu_axis_across(facts)) * 64 * kCpuTileColumns <= kCacheBytes ? 64 : 32;
}

// One loop over a batch of short rows is faster than a loop for each row. Operands that are constant along the rows are
// spread in a buffer, and operands that are constant across rows are repeated (docs/performance.md: cpu-short-rows).
How how_of_row(const AccessFacts& access) {
  return access.inner == StrideClass::Zero ? access.next_outer == StrideClass::Zero ? How::Fixed : How::Spread
                                           : How::Repeated;
}

std::optional<How> how_in_short_rows(const AccessFacts& access, const KernelFacts& facts) {
  if (!is_element_wise(access)) return std::nullopt;
  if (access.is_linear) return How::Single;
  if (access.kind == Kind::Store) return std::nullopt;
  if (access.inner == StrideClass::Zero || access.next_outer == StrideClass::Zero) return how_of_row(access);
  if (is_transposed(access, facts.rank - 2)) return How::Staged;
  return std::nullopt;
}

// In a batch of rows, the values that a row's elements share are computed for each element, so they must be cheap.
uint32_t cpu_short_row_elements(const KernelFacts& facts) {
  constexpr uint32_t kCheap = 4;
  if (!facts.has_short_rows || facts.results_alias || facts.row_cost > kCheap) return 0;
  bool is_any_staged = false;
  for (const AccessFacts& access : facts.accesses) {
    const std::optional<How> how = how_in_short_rows(access, facts);
    if (!how) return 0;
    is_any_staged |= how == How::Staged;
  }
  return is_any_staged ? 4096 : 1024;
}

// GCC vectorises float16 only with AVX512-FP16, and a conversion in integers is slow. The processor's own conversions,
// in bulk, are fast (docs/performance.md: cpu-float16-conversion). bfloat16 needs only shifts, which GCC vectorises.
bool is_widened(const AccessFacts& access, How how) {
  if (!access.may_stay_float32) return false;
  return how == How::Spread || how == How::Repeated || (how == How::Single && access.inner == StrideClass::One);
}

// Kernels limited by memory use 32-byte vectors: wider vectors are slower in such kernels. Kernels with much arithmetic
// or strided loads use the widest vectors (docs/performance.md: cpu-vector-width).
uint32_t cpu_simd(const KernelFacts& facts) {
  constexpr uint32_t kCheapForAccess = 6, kBytes = 32;
  if (facts.has_transcendentals || facts.has_regions) return 0;
  if (facts.cost > kCheapForAccess * facts.accesses.size()) return 0;
  uint32_t bytes = 0;
  for (const AccessFacts& access : facts.accesses) {
    if (access.inner == StrideClass::Zero) continue;
    const bool runs = access.inner == StrideClass::One || access.unit_axis != kNoAxis;
    if (!is_element_wise(access) || !runs || access.widens || (bytes != 0 && access.bytes != bytes)) return 0;
    bytes = access.bytes;
  }
  return bytes == 0 ? 0 : kBytes / bytes;
}

uint32_t cpu_weight(uint32_t cost, uint32_t accesses) {
  // In eighths of a nanosecond per element, on one thread with vectors (docs/performance.md: cpu-element-cost).
  return std::max(1u, accesses / 2 + cost / 4);
}

}  // namespace ingot::codegen
