#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// Stands for a text in keys and file names, on every machine alike: 256 bits of BLAKE2b (RFC 7693). Nobody can make
/// two texts with one digest, so equal digests mean equal texts.
struct Digest {
  std::array<uint8_t, 32> bytes{};

  /// The digest of the pieces as one text.
  static Digest of(std::initializer_list<std::string_view> pieces);
  static Digest of(std::string_view text) { return of({text}); }
  /// 64 hexadecimal digits.
  std::string hex() const;
  bool operator==(const Digest&) const = default;
};

}  // namespace ingot::runtime
