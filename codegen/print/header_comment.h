#pragma once

#include <string>
#include <string_view>

namespace ingot::codegen {

/// The text as `//` lines, safe for any contents: a backslash at the end of a line, a trigraph, control characters,
/// invalid UTF-8, marks that change the text direction. Empty lines at the start and the end are removed.
std::string comment_out(std::string_view text);

}  // namespace ingot::codegen
