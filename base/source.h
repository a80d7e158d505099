#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Source code that defines ops (a file, a string, a file of the built-in library), with an index of its lines.
class Source {
 public:
  /// A line and a column, both counted from 1. Columns count UTF-8 characters, not bytes.
  struct Position {
    uint32_t line;
    uint32_t column;
  };

  /// The original location of a range of lines, for a function that was copied here from another file. The range starts
  /// at line `line` of this source and ends where the next origin's range starts.
  struct Origin {
    uint32_t line;
    std::string name;        ///< name of the original file
    uint32_t original_line;  ///< the range's first line in that file, counted from 1
    uint32_t indent = 0;     ///< number of characters that the copy removed from the start of each line
  };
  /// A position in the original file, as error messages show it.
  struct Location {
    std::string_view name;
    uint32_t line, column;
  };

  /// `origins` are sorted by line. Lines before the first origin belong to this source itself.
  Source(std::string name, std::string text, std::vector<Origin> origins = {});

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  Position position(uint32_t offset) const;
  /// The position in the original file (see Origin).
  Location location(uint32_t offset) const;
  /// Returns line `number` (counted from 1) without its line break; empty past the end.
  std::string_view line(uint32_t number) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<Origin> origins_;
  std::vector<uint32_t> line_starts_;
};

/// A half-open range of bytes in a Source. A default-constructed span has no source. The Source must outlive its spans.
struct Span {
  const Source* source = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  explicit operator bool() const { return source != nullptr; }
  std::string_view text() const;
  /// Returns the smallest span that covers both. Both must have the same source, unless one of them has none.
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
