#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The file of one record, little-endian:
//
//   offset  bytes
//        0      8  "INGOTREC"
//        8      8  the format's version
//       16      8  K, the length of the key
//       24      8  P, the length of the payload
//       32     32  the digest of all the other bytes
//       64      K  the key in full
//     64+K      P  the payload

namespace ingot::runtime {

/// The format's version. The version is part of a record's file name too, so that two versions of Ingot can share a
/// folder.
inline constexpr uint64_t kRecordFormat = 2;

std::string encode_record(std::string_view key, std::string_view payload);

enum class RecordState : uint8_t {
  Good,
  OtherKey,  ///< intact, but the record of another key
  Corrupt,   ///< not an output of `encode_record`
};

struct DecodedRecord {
  RecordState state;
  std::string_view payload;  ///< within `file`; only when Good
};
DecodedRecord decode_record(std::string_view file, std::string_view key);

}  // namespace ingot::runtime
