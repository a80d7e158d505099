#include "runtime/cache/fingerprint.h"

namespace ingot::runtime {

Fingerprint Fingerprint::of(std::string_view text, Fingerprint so_far) {
  using Wide = unsigned __int128;
  constexpr Wide kPrime = (Wide{1} << 88) + 0x13b;
  Wide state = Wide{so_far.high} << 64 | so_far.low;
  for (char c : text) state = (state ^ static_cast<unsigned char>(c)) * kPrime;
  return {static_cast<uint64_t>(state >> 64), static_cast<uint64_t>(state)};
}

std::string Fingerprint::hex() const {
  std::string text;
  for (uint64_t half : {high, low})
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[half >> shift & 15];
  return text;
}

}  // namespace ingot::runtime
