#include "codegen/schedule/policy.h"

#include <algorithm>
#include <bit>

#include "codegen/schedule/cost.h"

namespace ingot::codegen {
namespace {

constexpr uint32_t kVectorBytes = 16;  // the widest load or store of a thread

}  // namespace

// Of copies and of pointwise kernels with 1 to 3 inputs on an H200, blocks of 256 threads that take one 16-byte vector
// a thread are as fast as anything: more vectors a thread, a persistent grid, cache hints and bulk copies lose 1 to 12
// %.
uint32_t block_threads() { return 256; }

uint32_t lanes_for(const LaneFacts& facts) {
  if (facts.rank == 0) return 1;
  uint32_t widest = 1, narrowest_alignment_lanes = kVectorBytes;
  bool any = false;
  for (const LaneFacts::Access& access : facts.accesses) {
    // The neighbours of a group are a thread's vector already.
    if (access.grouped) return 1;
    // Each lane of a gather reads for itself; its index decides.
    if (access.gathered || access.inner == StrideClass::Zero) continue;
    // Strided rows are right, not fast, for now.
    if (access.inner != StrideClass::One) return 1;
    any = true;
    widest = std::max(widest, access.bytes);
    narrowest_alignment_lanes = std::min(narrowest_alignment_lanes, access.alignment / access.bytes);
  }
  if (!any) return 1;
  uint32_t lanes = kVectorBytes / widest;
  // A body that the processor, not the memory, is busy with gains nothing from more lanes: each is another copy of its
  // slow paths, to compile and to keep in registers.
  if (facts.cost >= kHeavy) lanes = std::max(lanes / 2, 1u);
  // Every vector must be aligned and lie within a row.
  return std::max(1u, std::min({lanes, narrowest_alignment_lanes, facts.inner_multiple}));
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

uint32_t cpu_weight(uint32_t cost, uint32_t accesses) {
  // An element of `relu(x) + y + b` takes a tenth of a nanosecond on one thread with AVX-512, a transcendental a fifth
  // to a half; without vectors four times that. An eighth of a nanosecond is the unit.
  return std::max(1u, accesses / 2 + cost / 4);
}

}  // namespace ingot::codegen
