#pragma once

#include <string_view>

namespace ingot {

/// A file that the build has compiled in: ingot_embed of cmake/Embed.cmake makes tables of them.
struct EmbeddedFile {
  std::string_view name;         ///< without its folder: "losses.py"
  const std::string_view* text;  ///< initialised before any code runs
};

}  // namespace ingot
