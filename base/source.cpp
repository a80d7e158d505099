#include "base/source.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

Source::Source(std::string name, std::string text, std::vector<Origin> origins)
    : name_(std::move(name)), text_(std::move(text)), origins_(std::move(origins)) {
  if (text_.size() >= std::numeric_limits<uint32_t>::max())
    throw_author({}, "the source " + name_ + " is longer than 4 GiB");
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i) {
    bool is_carriage_return = text_[i] == '\r' && (i + 1 == text_.size() || text_[i + 1] != '\n');
    if (text_[i] == '\n' || is_carriage_return) line_starts_.push_back(static_cast<uint32_t>(i + 1));
  }
}

Source::Position Source::position(uint32_t offset) const {
  offset = std::min(offset, static_cast<uint32_t>(text_.size()));
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  auto line = static_cast<uint32_t>(after - line_starts_.begin());
  uint32_t column = 1;
  for (uint32_t at = line_starts_[line - 1]; at < offset; ++column) at += decode_utf8(text_, at).bytes;
  return {line, column};
}

Source::Location Source::location(uint32_t offset) const {
  Position at = position(offset);
  auto after = std::upper_bound(origins_.begin(), origins_.end(), at.line,
                                [](uint32_t line, const Origin& origin) { return line < origin.line; });
  if (after == origins_.begin()) return {name_, at.line, at.column};
  const Origin& origin = *std::prev(after);
  return {origin.name, origin.original_line + (at.line - origin.line), origin.indent + at.column};
}

std::string_view Source::line(uint32_t number) const {
  if (number == 0 || number > line_starts_.size()) return {};
  uint32_t begin = line_starts_[number - 1];
  auto end = number == line_starts_.size() ? static_cast<uint32_t>(text_.size()) : line_starts_[number];
  while (end > begin && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  return std::string_view(text_).substr(begin, end - begin);
}

std::string_view Span::text() const {
  if (!source) return {};
  return std::string_view(source->text()).substr(begin, end - begin);
}

Span Span::join(const Span& a, const Span& b) {
  if (!a) return b;
  if (!b) return a;
  if (a.source != b.source) throw_internal("cannot join spans of two different sources");
  return {a.source, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

}  // namespace ingot
