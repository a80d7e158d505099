#include "runtime/cache/record.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "runtime/cache/digest.h"

namespace ingot::runtime {
namespace {

std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return bytes;
}

TEST(Digest, IsBlake2b) {
  // Computed with Python's hashlib.blake2b(text, digest_size=32).
  EXPECT_EQ(Digest::of("").hex(), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(Digest::of("abc").hex(), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  const std::string text(300, 'x');
  EXPECT_EQ(Digest::of(text).hex(), "5aa7fbbf37986bb2a5d547c0d3c4d4326a24d786e7d57bf93fc784176e38b33d");
}

TEST(Digest, ConcatenatesParts) { EXPECT_EQ(Digest::of({"foo", "", "bar"}), Digest::of("foobar")); }

/// 128-bit FNV-1a, the cache's former hash.
std::pair<uint64_t, uint64_t> fnv(std::string_view text) {
  __extension__ using Wide = unsigned __int128;
  Wide state = Wide{0x6c62272e07bb0142} << 64 | 0x62b821756295c58d;
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * ((Wide{1} << 88) + 0x13b);
  return {static_cast<uint64_t>(state >> 64), static_cast<uint64_t>(state)};
}

TEST(Digest, DiffersForACollisionOfFnv) {
  // While each input byte keeps the low byte small, FNV-1a is linear: a short vector of a lattice gives a collision.
  const std::string first =
      from_hex("8d000002773b0003b102773fed3b00000003b10000000000013a3a3a3b00000139760000013a3b00000001397600");
  const std::string second =
      from_hex("8d000000000004ec03b100000000000000000276013976013b00000003b3773b00013fee7600013b013b0000013b");
  ASSERT_NE(first, second);
  ASSERT_EQ(fnv(first), fnv(second));
  EXPECT_NE(Digest::of(first), Digest::of(second));
}

TEST(Record, RoundTrips) {
  const std::string payload("\0binary\xff\n", 9);
  for (const std::string& key : {std::string(), std::string("key"), std::string(5000, 'k')}) {
    const std::string file = encode_record(key, payload);
    const DecodedRecord record = decode_record(file, key);
    EXPECT_EQ(record.state, RecordState::Good);
    EXPECT_EQ(record.payload, payload);
  }
  EXPECT_EQ(decode_record(encode_record("key", ""), "key").state, RecordState::Good);
}

TEST(Record, DistinguishesAnotherKeyFromDamage) {
  const std::string file = encode_record("key", "payload");
  EXPECT_EQ(decode_record(file, "kez").state, RecordState::OtherKey);
  EXPECT_EQ(decode_record(file, "keypayload").state, RecordState::OtherKey);
  EXPECT_EQ(decode_record(file, "").state, RecordState::OtherKey);
}

TEST(Record, IsCorruptIfTruncatedAtAnyLength) {
  const std::string file = encode_record("a key", "the payload");
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_EQ(decode_record(file.substr(0, length), "a key").state, RecordState::Corrupt) << length;
}

TEST(Record, IsCorruptIfAnyBitIsFlipped) {
  const std::string file = encode_record("a key", "the payload");
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(decode_record(damaged, "a key").state, RecordState::Corrupt) << bit;
  }
}

TEST(Record, IsCorruptIfBytesAreSwappedOrAdded) {
  const std::string file = encode_record("a key", "the payload");
  EXPECT_EQ(decode_record(file + '\0', "a key").state, RecordState::Corrupt);
  std::string swapped = file;
  std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
  EXPECT_EQ(decode_record(swapped, "a key").state, RecordState::Corrupt);
  EXPECT_EQ(decode_record(std::string(4096, '\0'), "a key").state, RecordState::Corrupt);
}

}  // namespace
}  // namespace ingot::runtime
