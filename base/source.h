#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// One text that ops are read from (a file, a string, the built-in library), with its lines indexed.
class Source {
 public:
  /// A place in the text as people count it: both from 1; columns count characters (UTF-8), not bytes.
  struct Position {
    uint32_t line;
    uint32_t column;
  };

  /// Where a stretch of the text was taken from: a function that travelled here from a file of its own. It begins with
  /// line `line` of the text and reaches to the next origin.
  struct Origin {
    uint32_t line;
    std::string name;        ///< of the file
    uint32_t original_line;  ///< its first line there, from 1
    uint32_t indent = 0;     ///< characters that were taken off each of its lines
  };
  /// A position in the file that the author sees.
  struct Place {
    std::string_view name;
    uint32_t line, column;
  };

  /// `origins` ascend by line; what is before the first is of this text itself.
  Source(std::string name, std::string text, std::vector<Origin> origins = {});

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  Position position(uint32_t offset) const;
  /// The same as messages give it.
  Place place(uint32_t offset) const;
  /// The text of a line (counted from 1), without its line break; empty past the end.
  std::string_view line(uint32_t number) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<Origin> origins_;
  std::vector<uint32_t> line_starts_;
};

/// A half-open range of bytes in a Source. The default span is nowhere. Whoever keeps spans keeps their Source alive.
struct Span {
  const Source* source = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  explicit operator bool() const { return source != nullptr; }
  std::string_view text() const;
  /// The smallest span that covers both; they must be of one source (or one of them nowhere).
  static Span join(const Span& a, const Span& b);
  bool operator==(const Span&) const = default;
};

}  // namespace ingot

template <>
struct std::hash<ingot::Span> {
  size_t operator()(const ingot::Span& span) const noexcept {
    return std::hash<const void*>()(span.source) ^ (uint64_t{span.begin} << 32 | span.end) * 0x9e37'79b9'7f4a'7c15;
  }
};
