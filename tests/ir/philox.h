#pragma once

#include <array>
#include <cstdint>

namespace ingot::ir {

/// Philox4x32-10 as its authors define it, for comparison. Returns the four words of a counter, lowest word first.
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * counter[0], second = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

/// The expected value of a RandomWord node with these operands.
inline uint32_t random_word(uint64_t seed, uint64_t sample, uint64_t position) {
  const uint64_t block = position / 4;
  const auto low = [](uint64_t word) { return static_cast<uint32_t>(word); };
  return philox({low(block), low(block >> 32), low(sample), low(sample >> 32)},
                {low(seed), low(seed >> 32)})[position % 4];
}

}  // namespace ingot::ir
