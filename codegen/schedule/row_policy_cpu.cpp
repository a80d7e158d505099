#include <algorithm>

#include "codegen/schedule/row_policy.h"

// On the CPU: how rows are dealt out, and what is kept of them.

namespace ingot::codegen {

// As many as keep four vectors of AVX-512 under way; a shorter row has fewer.
uint32_t cpu_classes(uint32_t length_bits) { return 1u << std::min(length_bits, 6u); }

// Sixteen elements a class: the error of a sum grows with the root of how many it takes one after the other. Of very
// long rows the pieces grow, lest there are too many of them.
uint32_t cpu_piece(uint32_t length_bits) {
  constexpr uint32_t kPieceBits = 10, kClassBits = 6;
  if (length_bits <= kPieceBits) return 0;
  return 1u << std::max(kPieceBits, kClassBits + (length_bits - 2 * kClassBits + 1) / 2);
}

namespace {

constexpr uint32_t kCpuLaneBits = 6;

/// Whether its elements could be laid out in a buffer.
bool can_be_turned(const AccessFacts& access) {
  return access.moves_in_row && is_element_wise(access) && access.inner == StrideClass::One &&
         access.along_rows == StrideClass::Other;
}

}  // namespace

bool cpu_stages(const AccessFacts& access, const KernelFacts& facts, const KernelLayout& layout) {
  constexpr uint32_t kShortBits = 7;
  constexpr uint64_t kStackBytes = 512 << 10;  // for all buffers
  if (layout.length_bits > kShortBits || layout.reduced_axes != 1) return false;
  if (facts.results_alias || facts.has_regions) return false;
  uint64_t bytes = 0;
  for (const AccessFacts& each : facts.accesses)
    if (can_be_turned(each)) bytes += each.bytes;
  return can_be_turned(access) && bytes << (layout.length_bits + kCpuLaneBits) <= kStackBytes;
}

namespace {

/// Whether rows as they lie make full vectors, and enough of them that to make one of a row's classes costs little.
//
// In ns an element on one thread of a Xeon with AVX-512, turned and as they lie: `softmax(x, -1)` of 7 columns 1.7 and
// 9.6, 16 1.04 and 1.16, 31 1.3 and 4.5, 32 1.1 and 1.0, 40 1.3 and 2.1, 64 1.2 and 0.85, 100 1.2 and 1.4, 128 1.1 and
// 0.67; `logsumexp(x, -1)`, whose logarithm is a row's alone, of 32 0.67 and 1.3, 64 0.74 and 0.85, 128 0.69 and 0.63;
// `x.sum(-1)` of 8 0.26 and 0.29, 16 0.25 and 0.16, 40 0.25 and 0.44, 100 0.27 and 0.23. Of 30 rows of 32 softmax takes
// 2.1 and 1.2 on a Zen 5.
bool fill_vectors(const KernelFacts& facts, const KernelLayout& layout, bool sums) {
  constexpr uint32_t kVector = 16, kShortSumBits = 6, kFewRowsBits = 4, kTwoVectorsBits = 5, kLongBits = 7;
  const bool has_vectors = facts.row_multiple >= kVector;
  if (sums) return has_vectors || layout.length_bits > kShortSumBits;
  const bool stores = std::ranges::any_of(facts.accesses, [](const AccessFacts& access) {
    return access.moves_in_row && access.kind == AccessUse::Kind::Store;
  });
  const uint32_t enough_bits = facts.has_functions && !stores ? kLongBits : kTwoVectorsBits;
  return has_vectors && (layout.rows_bits <= kFewRowsBits || layout.length_bits >= enough_bits);
}

bool had_better_be_turned(const KernelFacts& facts, const KernelLayout& layout, bool again) {
  constexpr uint32_t kRowsBits = 4;  // fewer leave most lanes empty
  if (layout.rows_bits < kRowsBits || fill_vectors(facts, layout, !again && !facts.has_functions)) return false;
  const auto stages = [&](const AccessFacts& access) { return cpu_stages(access, facts, layout); };
  return std::ranges::any_of(facts.accesses, stages) &&
         std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
           return stages(access) || !access.moves_in_row || access.along_rows != StrideClass::Other;
         });
}

}  // namespace

RowSchedule cpu_rows(const KernelFacts& facts, const KernelLayout& layout, bool again) {
  constexpr uint32_t kEnoughRowsBits = 6;  // a unit each
  RowSchedule rows;
  rows.classes = cpu_classes(layout.length_bits);
  rows.piece = cpu_piece(layout.length_bits);
  // A row has the same bits whatever lies beside it.
  rows.across = !facts.has_bits_of_vectors && (lies_across(facts) || had_better_be_turned(facts, layout, again));
  rows.splits = rows.piece != 0 && !again && (rows.across || layout.rows_bits < kEnoughRowsBits);
  return rows;
}

// Of 4096 x 1024 floats `x.sum(0)` takes, in ns an element, 0.18 with 16 lanes, 0.15 with 32, 0.12 with 64 and 0.10
// with 128; `softmax(x, 0)` 1.5, 1.0, 0.8 and 0.8. What is found had better stay in the first cache, or near it.
uint32_t cpu_row_lanes(const KernelFacts& facts, const KernelLayout& layout, const RowSchedule& rows) {
  constexpr uint32_t kCacheBytes = 64 << 10;
  if (!rows.across) return 1;
  uint32_t lanes = 1u << std::clamp<uint32_t>(layout.rows_bits, 1, kCpuLaneBits);
  while (lanes > 2 && rows.classes * lanes * facts.found_bytes > kCacheBytes) lanes /= 2;
  return lanes;
}

// On a Zen 5 of 1 MiB of second cache softmax of a row of 2^18 floats takes 86 us if its exponentials are kept, else
// 124.
bool cpu_keeps(const KernelLayout& layout, uint32_t lanes, uint32_t bytes) {
  constexpr uint64_t kBytesOfRow = 1 << 20, kBytesOfRows = 64 << 10;
  return (uint64_t{lanes} * bytes << layout.length_bits) <= (lanes == 1 ? kBytesOfRow : kBytesOfRows);
}

}  // namespace ingot::codegen
