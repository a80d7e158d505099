#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// 128 bits that stand for a text: the same on every machine, different after any change of one byte. Good against
/// accident, not against malice: what it names or guards lies in a folder that only its owner may write.
struct Fingerprint {
  uint64_t high = 0, low = 0;

  /// FNV-1a with its published 128-bit offset basis and prime. A text in pieces: pass the fingerprint so far.
  static Fingerprint of(std::string_view text, Fingerprint so_far = {0x6c62272e07bb0142, 0x62b821756295c58d});
  /// 32 hexadecimal digits.
  std::string hex() const;
  bool operator==(const Fingerprint&) const = default;
};

}  // namespace ingot::runtime
