#pragma once

#include <string_view>

namespace ingot {

/// A file that is compiled into the library. ingot_embed (cmake/Embed.cmake) generates tables of these.
struct EmbeddedFile {
  std::string_view name;         ///< file name without its folder: "losses.py"
  const std::string_view* text;  ///< the content, a constant that ingot_embed generates; usable before main() runs
};

}  // namespace ingot
