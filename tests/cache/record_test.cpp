#include "runtime/cache/record.h"

#include <gtest/gtest.h>

#include "runtime/cache/fingerprint.h"

namespace ingot::runtime {
namespace {

TEST(Fingerprint, IsTheOneThatIsPublished) {
  // From the FNV specification's test vectors, 128-bit FNV-1a.
  EXPECT_EQ(Fingerprint::of("").hex(), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(Fingerprint::of("a").hex(), "d228cb696f1a8caf78912b704e4a8964");
  EXPECT_EQ(Fingerprint::of("foobar").hex(), "343e1662793c64bf6f0d3597ba446f18");
}

TEST(Fingerprint, TakesATextInPieces) {
  EXPECT_EQ(Fingerprint::of("bar", Fingerprint::of("foo")), Fingerprint::of("foobar"));
}

TEST(Record, GivesBackWhatItHolds) {
  const std::string payload("\0binary\xff\n", 9);
  for (const std::string& key : {std::string(), std::string("key"), std::string(5000, 'k')}) {
    const std::string file = encode_record(key, payload);
    const DecodedRecord record = decode_record(file, key);
    EXPECT_EQ(record.state, RecordState::Good);
    EXPECT_EQ(record.payload, payload);
  }
  EXPECT_EQ(decode_record(encode_record("key", ""), "key").state, RecordState::Good);
}

TEST(Record, KnowsAnotherKeyFromDamage) {
  const std::string file = encode_record("key", "payload");
  EXPECT_EQ(decode_record(file, "kez").state, RecordState::OtherKey);
  EXPECT_EQ(decode_record(file, "keypayload").state, RecordState::OtherKey);
  EXPECT_EQ(decode_record(file, "").state, RecordState::OtherKey);
}

TEST(Record, TruncatedAtAnyLengthIsCorrupt) {
  const std::string file = encode_record("a key", "the payload");
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_EQ(decode_record(file.substr(0, length), "a key").state, RecordState::Corrupt) << length;
}

TEST(Record, AnyFlippedBitIsCorrupt) {
  const std::string file = encode_record("a key", "the payload");
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(decode_record(damaged, "a key").state, RecordState::Corrupt) << bit;
  }
}

TEST(Record, SwappedAndAddedBytesAreCorrupt) {
  const std::string file = encode_record("a key", "the payload");
  EXPECT_EQ(decode_record(file + '\0', "a key").state, RecordState::Corrupt);
  std::string swapped = file;
  std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
  EXPECT_EQ(decode_record(swapped, "a key").state, RecordState::Corrupt);
  EXPECT_EQ(decode_record(std::string(4096, '\0'), "a key").state, RecordState::Corrupt);
}

}  // namespace
}  // namespace ingot::runtime
