#include "runtime/cache/digest.h"

#include "third_party/blake2/blake2.h"

namespace ingot::runtime {

Digest Digest::of(std::initializer_list<std::string_view> parts) {
  Digest digest;
  blake2b_state state;
  ::blake2b_init(&state, digest.bytes.size());
  for (const std::string_view part : parts) ::blake2b_update(&state, part.data(), part.size());
  ::blake2b_final(&state, digest.bytes.data(), digest.bytes.size());
  return digest;
}

std::string Digest::hex() const {
  std::string text;
  for (const uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace ingot::runtime
