#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// Identifies a text in keys and file names, by BLAKE2b-256 (RFC 7693). The digest of a text is the same on every
/// machine. The hash is collision-resistant, so in practice equal digests mean equal texts.
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
