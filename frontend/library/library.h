#pragma once

#include <string_view>
#include <vector>

// What the language spells: the primitives of ir/ops.def and the other builtins (builtins.h), and the functions of
// library.py, which are defs in the language itself.

namespace ingot::frontend {

/// The text of library.py, embedded by the build.
extern const std::string_view library_library_py;
/// The name of its Source; errors inside it are shown at the author's own call.
inline constexpr std::string_view kLibraryName = "library.py";

/// The public functions of library.py, in its order.
std::vector<std::string_view> library_names();

struct NameInfo {
  enum class Kind { Primitive, Builtin, Library } kind;
  std::string_view name;
  std::vector<std::string_view> aliases;
  bool is_function = true;   ///< torch.name(x) and name(x)
  bool is_method = true;     ///< x.name()
  std::string_view summary;  ///< one line of what it gives
};

/// Every name of the language, aliases under the name that they stand for: `ingot ops`.
std::vector<NameInfo> language_names();

}  // namespace ingot::frontend
