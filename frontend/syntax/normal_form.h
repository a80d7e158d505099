#pragma once

namespace ingot::frontend {

/// Whether Python replaces this character of a name by another one. Python normalises names to Unicode's NFKC: a
/// full-width x becomes x, and a letter with a combining accent becomes one letter.
bool has_another_normal_form(char32_t code);

}  // namespace ingot::frontend
