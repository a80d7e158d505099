#pragma once

namespace ingot::frontend {

/// Whether Python, which reads names in Unicode's normal form NFKC, takes a character of a name for another one: the
/// full-width x for x, or a letter and a combining accent for one letter.
bool has_another_normal_form(char32_t code);

}  // namespace ingot::frontend
