#include "runtime/cache/record.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "runtime/cache/digest.h"

namespace ingot::runtime {

namespace {

static_assert(std::endian::native == std::endian::little, "a record's header is written as it lies in memory");

struct Header {
  char magic[8] = {'I', 'N', 'G', 'O', 'T', 'R', 'E', 'C'};
  uint64_t format = kRecordFormat;
  uint64_t key_bytes = 0;
  uint64_t payload_bytes = 0;
  Digest checksum;
};
static_assert(sizeof(Header) == 64 && std::is_trivially_copyable_v<Header>);

/// The checksum of everything in the file except the checksum itself.
Digest checksum(const Header& header, std::string_view body) {
  const std::string_view head(reinterpret_cast<const char*>(&header), offsetof(Header, checksum));
  return Digest::of({head, body});
}

}  // namespace

std::string encode_record(std::string_view key, std::string_view payload) {
  Header header;
  header.key_bytes = key.size();
  header.payload_bytes = payload.size();
  std::string file(sizeof header, '\0');
  file.reserve(sizeof header + key.size() + payload.size());
  file += key;
  file += payload;
  header.checksum = checksum(header, std::string_view(file).substr(sizeof header));
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

DecodedRecord decode_record(std::string_view file, std::string_view key) {
  constexpr DecodedRecord kCorrupt{RecordState::Corrupt, {}};
  const Header expected;
  Header header;
  if (file.size() < sizeof header) return kCorrupt;
  std::memcpy(&header, file.data(), sizeof header);
  const std::string_view body = file.substr(sizeof header);
  if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0 || header.format != expected.format ||
      header.key_bytes > body.size() || header.payload_bytes != body.size() - header.key_bytes ||
      header.checksum != checksum(header, body))
    return kCorrupt;
  if (body.substr(0, header.key_bytes) != key) return {RecordState::OtherKey, {}};
  return {RecordState::Good, body.substr(header.key_bytes)};
}

}  // namespace ingot::runtime
