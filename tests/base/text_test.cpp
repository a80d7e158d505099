#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace ingot {
namespace {

TEST(Text, DecodesUtf8) {
  const std::string text = "aé日😀";
  std::vector<char32_t> codes;
  for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).bytes) codes.push_back(decode_utf8(text, at).code);
  EXPECT_EQ(codes, (std::vector<char32_t>{'a', 0xE9, 0x65E5, 0x1F600}));
  std::string encoded;
  for (char32_t code : codes) append_utf8(encoded, code);
  EXPECT_EQ(encoded, text);
}

TEST(Text, DecodesAnInvalidByteAsOneCharacter) {
  // A lone continuation byte, two truncated sequences, two overlong ones, a surrogate, past the last code point, no
  // start byte.
  for (const char* text :
       {"\x80", "\xC3", "\xE6\x97", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    const Character character = decode_utf8(text, 0);
    EXPECT_FALSE(character.is_valid) << text;
    EXPECT_EQ(character.bytes, 1u) << text;
    EXPECT_EQ(character.code, char32_t{0xFFFD}) << text;
  }
}

TEST(Text, SortsTheNearestNamesFirst) {
  const std::vector<std::string_view> names = {"relu", "silu", "gelu", "leaky_relu", "sigmoid", "clamp", "t"};
  EXPECT_EQ(nearest("rleu", names), (std::vector<std::string>{"relu"}));
  EXPECT_EQ(nearest("selu", names), (std::vector<std::string>{"gelu", "relu", "silu"}));
  EXPECT_EQ(nearest("Sigmiod", names), (std::vector<std::string>{"sigmoid"}));
  EXPECT_EQ(nearest("selu", names, 1).size(), 1u);
  EXPECT_TRUE(nearest("convolution", names).empty());
  EXPECT_TRUE(nearest("x", names).empty());
  EXPECT_TRUE(nearest("", names).empty());
  EXPECT_TRUE(nearest(std::string(100'000, 'x'), names).empty());
}

TEST(Text, SuggestsNearNames) {
  EXPECT_EQ(did_you_mean("clmp", {"clamp"}), "did you mean `clamp`?");
  EXPECT_EQ(did_you_mean("relo", {"relu", "reli"}), "did you mean `reli` or `relu`?");
  EXPECT_EQ(did_you_mean("silo", {"silu", "sila", "silk"}), "did you mean `sila`, `silk` or `silu`?");
  EXPECT_EQ(did_you_mean("xyzzy", {"relu"}), "");
}

TEST(Text, RoundTripsNumbers) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(round_trip(0.1), "0.1");
  EXPECT_EQ(round_trip(1.0), "1.0");
  EXPECT_EQ(round_trip(-0.0), "-0.0");
  EXPECT_EQ(round_trip(1e22), "1e+22");
  EXPECT_EQ(round_trip(5e-324), "5e-324");
  EXPECT_EQ(round_trip(1.0 / 3.0), "0.3333333333333333");
  EXPECT_EQ(round_trip(inf), "inf");
  EXPECT_EQ(round_trip(-inf), "-inf");
  EXPECT_EQ(round_trip(-std::nan("")), "nan");
  EXPECT_EQ(round_trip(0.1f), "0.1");
  EXPECT_EQ(round_trip(16777216.0f), "16777216.0");
}

}  // namespace
}  // namespace ingot
