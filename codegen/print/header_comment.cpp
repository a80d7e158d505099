#include "codegen/print/header_comment.h"

#include <algorithm>

#include "base/text.h"

namespace ingot::codegen {
namespace {

constexpr std::string_view kBlank = " \t\r\f\v";

/// Whether compilers or terminals would give the character a meaning within a comment.
bool is_unsafe(const Character& c) {
  const char32_t code = c.code;
  return !c.is_valid || code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

/// Whether tools would read this line as one of a launch comment (python/ingot/tools/cuda_text.py).
bool is_in_launch_comment(std::string_view line) {
  const std::string_view text = line.substr(std::min(line.find_first_not_of(kBlank), line.size()));
  constexpr std::string_view kKinds[] = {"launch:", "options:", "where:", "requires:", "scratch:", "incomplete:"};
  return std::ranges::any_of(kKinds, [&](std::string_view kind) { return text.starts_with(kind); });
}

std::string safe_line(std::string_view line) {
  line = line.substr(0, line.find_last_not_of(kBlank) + 1);
  std::string text;
  for (size_t i = 0; i < line.size();) {
    const Character c = decode_utf8(line, i);
    if (c.code == '\t')
      text += "    ";
    else if (c.code == '?' && text.ends_with('?'))
      text += " ?";  // no trigraphs
    else if (is_unsafe(c))
      text += '?';
    else
      text += line.substr(i, c.bytes);
    i += c.bytes;
  }
  if (is_in_launch_comment(text)) text.insert(text.find(':'), " ");
  if (text.ends_with('\\')) text += " .";  // otherwise the next line would continue this one
  return text;
}

}  // namespace

std::string comment_out(std::string_view text) {
  const size_t last = text.find_last_not_of("\n \t\r\f\v");
  if (last == std::string_view::npos) return {};
  text = text.substr(0, last + 1);
  while (text.find_first_not_of(kBlank) == text.find('\n')) text.remove_prefix(text.find('\n') + 1);
  std::string comment;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line = safe_line(text.substr(0, end));
    comment += line.empty() ? "//\n" : "// " + line + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return comment;
}

}  // namespace ingot::codegen
