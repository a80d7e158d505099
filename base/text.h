#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// One character of UTF-8 text. A byte that begins no valid sequence is a character of its own, U+FFFD.
struct Character {
  char32_t code;
  uint32_t bytes;
  bool valid;
};
/// The character at `offset`, which must be within the text.
Character decode_utf8(std::string_view text, size_t offset);
void append_utf8(std::string& text, char32_t code);

/// The candidates nearest to `word` by edit distance, best first, at most `limit`; none that is far from it.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string_view>& candidates,
                                 size_t limit = 3);

/// "did you mean `a`, `b` or `c`?"; empty when there are none.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

/// The shortest decimal text that reads back as the same double, whatever the locale; always with a '.', an 'e',
/// or one of inf, -inf, nan.
std::string round_trip(double value);
/// The same for a float.
std::string round_trip(float value);

}  // namespace ingot
