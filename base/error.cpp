#include "base/error.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace ingot {

namespace {

constexpr uint32_t kExcerptWidth = 120;  ///< the most characters of a line that an excerpt shows
constexpr uint32_t kExcerptLead = 40;    ///< in a longer line, the characters shown before the error's position

/// Appends a character for display. Replaces a control character by U+FFFD, because it could disturb a terminal. Each
/// character still takes one column.
void append_printable(std::string& text, Character character) {
  bool is_control = (character.code < 0x20 && character.code != '\t') || character.code == 0x7F;
  append_utf8(text, is_control ? 0xFFFD : character.code);
}

/// Returns the source line in which the span starts and a line of carets below it, each after a gutter of `width`
/// characters.
std::string excerpt(Span span, size_t width) {
  const Source& source = *span.source;
  Source::Position at = source.position(span.begin);
  std::string_view line = source.line(at.line);
  uint32_t line_begin = static_cast<uint32_t>(line.data() - source.text().data());
  uint32_t length = 0;
  for (size_t i = 0; i < line.size(); ++length) i += decode_utf8(line, i).bytes;

  uint32_t first = 1;  // the first column of the excerpt
  if (length > kExcerptWidth && at.column > kExcerptLead) first = at.column - kExcerptLead;
  uint32_t end_column = std::min(length + 1, first + kExcerptWidth);
  bool is_cut_before = first > 1, is_cut_after = end_column < length + 1;

  std::string excerpt_line = is_cut_before ? "…" : "", carets = is_cut_before ? " " : "";
  uint32_t column = 1;
  bool has_caret = false;
  for (size_t i = 0; i < line.size(); ++column) {
    Character character = decode_utf8(line, i);
    uint32_t offset = line_begin + static_cast<uint32_t>(i);
    i += character.bytes;
    if (column < first || column >= end_column) continue;
    append_printable(excerpt_line, character);
    bool is_inside = column >= at.column && (offset < span.end || column == at.column);
    if (is_inside) carets += '^', has_caret = true;
    if (column < at.column) carets += character.code == '\t' ? '\t' : ' ';
  }
  if (!has_caret) carets += '^';  // the span is at the end of the line
  if (is_cut_after) excerpt_line += "…";

  std::string number = std::to_string(source.location(span.begin).line);
  std::string blank(width, ' ');
  std::string text = blank + " |\n";
  text += std::string(width - number.size(), ' ') + number + " | " + excerpt_line + "\n";
  text += blank + " | " + carets + "\n";
  return text;
}

std::string location_text(Span span) {
  Source::Location at = span.source->location(span.begin);
  return std::string(at.name) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

size_t gutter_width(Span span) { return span ? std::to_string(span.source->location(span.begin).line).size() : 1; }

/// Replaces each NUL, which would end what() early, by a backslash and the digit 0.
std::string without_nuls(std::string text) {
  for (size_t at = 0; (at = text.find('\0', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\0");
  return text;
}

}  // namespace

Error::Error(Fault fault, std::string message, std::string rendered)
    : std::runtime_error(without_nuls(std::move(rendered))),
      fault_(fault),
      message_(without_nuls(std::move(message))) {}

std::string Diagnostic::render() const {
  size_t width = gutter_width(span);
  for (const Note& note : notes) width = std::max(width, gutter_width(note.span));
  std::string blank(width, ' ');

  std::string text = "error: " + message + "\n";
  if (span) text += blank + "--> " + location_text(span) + "\n" + excerpt(span, width);
  if (!hint.empty()) text += blank + " = help: " + hint + "\n";
  for (const Note& note : notes) {
    text += "note: " + note.message + "\n";
    if (note.span) text += blank + "--> " + location_text(note.span) + "\n" + excerpt(note.span, width);
  }
  text.pop_back();
  return text;
}

void throw_author(Diagnostic diagnostic) {
  std::string rendered = diagnostic.render();
  throw Error(Fault::Author, std::move(diagnostic.message), std::move(rendered));
}

void throw_author(Span span, std::string message, std::string hint) {
  throw_author(Diagnostic{std::move(message), span, std::move(hint), {}});
}

void throw_environment(std::string message, std::string_view log) {
  std::string rendered = "error: " + message;
  if (!log.empty()) rendered += "\n" + std::string(log);
  throw Error(Fault::Environment, std::move(message), std::move(rendered));
}

void throw_internal(std::string message, std::string_view dump) {
  std::string rendered =
      "internal error: " + message + "\nThis is a bug in Ingot, not in the op. Please report it with this message.";
  if (!dump.empty()) rendered += "\n" + std::string(dump);
  throw Error(Fault::Internal, std::move(message), std::move(rendered));
}

std::string numbered(std::string_view text) {
  auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  if (!text.empty() && text.back() != '\n') ++lines;
  size_t width = std::to_string(lines).size();
  std::string result;
  for (size_t number = 1; number <= lines; ++number) {
    std::string digits = std::to_string(number);
    size_t end = std::min(text.find('\n'), text.size());
    result += std::string(width - digits.size(), ' ') + digits + " | ";
    result += text.substr(0, end);
    result += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace ingot
