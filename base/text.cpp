#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace ingot {

namespace {

constexpr char32_t kReplacement = 0xFFFD;
/// Longest word for which `nearest` looks for candidates. A longer word is no misspelled name, and an edit distance
/// takes quadratic time.
constexpr size_t kLongestWord = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Counts the edits that turn a into b, ignoring case: insertions, deletions, substitutions and swaps of adjacent
/// characters.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      bool is_same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (is_same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

template <typename T>
std::string shortest(T value) {
  if (std::isnan(value)) return "nan";
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".ein") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

Character decode_utf8(std::string_view text, size_t offset) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[offset + i]); };
  const Character invalid{kReplacement, 1, false};
  unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  uint32_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() - offset < bytes) return invalid;
  char32_t code = first & (0xFFu >> (bytes + 1));
  for (uint32_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return invalid;
    code = code << 6 | (byte(i) & 0x3F);
  }
  bool is_overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (is_overlong || is_surrogate || code > 0x10FFFF) return invalid;
  return {code, bytes, true};
}

void append_utf8(std::string& text, char32_t code) {
  auto append = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return append(code);
  if (code < 0x800) {
    append(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    append(0xE0 | code >> 12);
    append(0x80 | (code >> 6 & 0x3F));
  } else {
    append(0xF0 | code >> 18);
    append(0x80 | (code >> 12 & 0x3F));
    append(0x80 | (code >> 6 & 0x3F));
  }
  append(0x80 | (code & 0x3F));
}

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string_view>& candidates, size_t limit) {
  if (word.empty() || word.size() > kLongestWord) return {};
  size_t max_distance = std::max<size_t>(1, word.size() / 3);
  std::vector<std::pair<size_t, std::string_view>> matches;
  for (std::string_view candidate : candidates) {
    size_t length_difference = std::max(candidate.size(), word.size()) - std::min(candidate.size(), word.size());
    if (length_difference > max_distance) continue;
    size_t distance = edit_distance(word, candidate);
    // A distance equal to a word's length would replace the whole word.
    if (distance <= max_distance && distance < std::min(word.size(), candidate.size()))
      matches.emplace_back(distance, candidate);
  }
  std::sort(matches.begin(), matches.end());
  matches.erase(std::unique(matches.begin(), matches.end()), matches.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(limit, matches.size()); ++i) names.emplace_back(matches[i].second);
  return names;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::vector<std::string> names = nearest(word, candidates);
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "did you mean `" : i + 1 == names.size() ? " or `" : ", `") + names[i] + "`";
  return text.empty() ? text : text + "?";
}

std::string round_trip(double value) { return shortest(value); }
std::string round_trip(float value) { return shortest(value); }

}  // namespace ingot
