#include <algorithm>

#include "codegen/schedule/policy.h"

// On the CPU: tiles, chunks of short rows, and vectors.

namespace ingot::codegen {

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

// An operand that is read against the grain costs a cache line an element; transposed in registers, a tile at a time,
// it costs little: relu(x.t()) + y of 1024 x 1024 takes 0.25 to 0.36 ns an element for 5.0, of 4096 x 4096 0.8 for 7.5,
// of 1000 x 1050 0.22 for 0.85. Where results may be inputs, all of which a tile must have read before it writes,
// elements stay in their order.
uint32_t cpu_axis_across(const KernelFacts& facts) {
  const auto gathers = [](const AccessFacts& access) { return access.kind == Kind::Gather; };
  if (facts.rank < 2 || facts.results_alias || std::ranges::any_of(facts.accesses, gathers)) return kNoAxis;
  return most_turned_axis(facts);
}

// 64 unless the tiles would not stay in the first cache.
uint32_t cpu_tile_rows(const KernelFacts& facts) {
  constexpr uint32_t kCacheBytes = 48 << 10;
  return turned_bytes(facts, cpu_axis_across(facts)) * 64 * kCpuTileColumns <= kCacheBytes ? 64 : 32;
}

// A loop over a row of n elements that starts and ends for each of them takes, in ns an element of relu(x) + y, 1.8
// where n is 3, 0.68 where it is 8 and 0.19 where it is 32; one loop over a chunk, whose y is repeated or spread
// before, 0.09 to 0.27, 0.08 to 0.14 and 0.08 to 0.10. From 64 on they are alike.
How how_of_row(const AccessFacts& access) {
  return access.inner == StrideClass::Zero ? access.across == StrideClass::Zero ? How::Fixed : How::Spread
                                           : How::Repeated;
}

std::optional<How> how_in_chunk(const AccessFacts& access, const KernelFacts& facts) {
  if (!is_element_wise(access)) return std::nullopt;
  if (access.linear) return How::Single;
  if (access.kind == Kind::Store) return std::nullopt;
  if (access.inner == StrideClass::Zero || access.across == StrideClass::Zero) return how_of_row(access);
  if (is_turned(access, facts.rank - 2)) return How::Staged;
  return std::nullopt;
}

// What a row shares is computed for each of its elements then, which must be cheap.
uint32_t cpu_chunk(const KernelFacts& facts) {
  constexpr uint32_t kCheap = 4;
  if (!facts.has_short_rows || facts.results_alias || facts.row_cost > kCheap) return 0;
  bool turns = false;
  for (const AccessFacts& access : facts.accesses) {
    const std::optional<How> how = how_in_chunk(access, facts);
    if (!how) return 0;
    turns |= how == How::Staged;
  }
  return turns ? 4096 : 1024;
}

// GCC has no vectors of float16 without AVX512-FP16, and a formula in integers takes 0.34 ns an element of
// relu(x * 2 + y) * y; the processor's own conversions, by runs, 0.09. Runs of 64 elements take a tenth longer than
// those of 256, longer ones as long. bfloat16 is two shifts, which are vectors as they are.
bool is_widened(const AccessFacts& access, How how) {
  if (!access.rounds) return false;
  return how == How::Spread || how == How::Repeated || (how == How::Single && access.inner == StrideClass::One);
}

// What waits for memory is read and written 32 bytes at a time; of 64 bytes, on a processor that has such vectors,
// `x * y` takes 1.08 of the time, leaky_relu 1.2, adamw 1.2, a permutation 1.1 to 1.2. What computes is faster with
// them: elu takes half the time, tanh 0.6, gelu 0.8, and loads that are strided are, too.
uint32_t cpu_simd(const KernelFacts& facts) {
  constexpr uint32_t kCheapForAccess = 6, kBytes = 32;
  if (facts.has_functions || facts.has_regions) return 0;
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
  // An element of `relu(x) + y + b` takes a tenth of a nanosecond on one thread with AVX-512, a transcendental a fifth
  // to a half; without vectors four times that. An eighth of a nanosecond is the unit.
  return std::max(1u, accesses / 2 + cost / 4);
}

}  // namespace ingot::codegen
