#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// One character of UTF-8 text. A byte that starts no valid sequence counts as one character, U+FFFD.
struct Character {
  char32_t code;
  uint32_t bytes;  ///< the length of its encoding
  bool is_valid;   ///< whether it was encoded correctly
};
/// Decodes the character at `offset`, which must be within the text.
Character decode_utf8(std::string_view text, size_t offset);
void append_utf8(std::string& text, char32_t code);

/// Returns at most `limit` candidates nearest to `word` by edit distance, best first. Leaves out candidates that are
/// more than max(1, length of `word` / 3) edits away.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string_view>& candidates,
                                 size_t limit = 3);

/// Returns "did you mean `a`, `b` or `c`?"; empty if no candidate is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

/// Returns the shortest decimal text that reads back as the same double, independent of the locale. The text contains a
/// '.' or an 'e', or is one of inf, -inf, nan.
std::string round_trip(double value);
/// Returns the same for a float.
std::string round_trip(float value);

}  // namespace ingot
