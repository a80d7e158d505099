#pragma once

#include <string>
#include <string_view>

namespace ingot::codegen {

/// The text as `//` lines, whatever is in it: a backslash at a line's end, a trigraph, control characters, bytes that
/// are no UTF-8, marks that turn the direction of reading. Without leading and trailing empty lines.
std::string comment_out(std::string_view text);

}  // namespace ingot::codegen
