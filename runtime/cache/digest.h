#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// Identifies a text in keys and file names, equally on every machine: 256 bits of BLAKE2b (RFC 7693). The hash is
/// collision-resistant, so equal digests mean equal texts.
struct Digest {
  std::array<uint8_t, 32> bytes{};

  /// The digest of the parts, concatenated without separators.
  static Digest of(std::initializer_list<std::string_view> parts);
  static Digest of(std::string_view text) { return of({text}); }
  /// 64 hexadecimal digits.
  std::string hex() const;
  bool operator==(const Digest&) const = default;
};

}  // namespace ingot::runtime
