#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

// The names of generated source: the author's names if possible. Each is unique and has no other meaning in the
// target's language, its headers or our prelude.

namespace ingot::codegen {

/// The name as an identifier of C++ and CUDA C++ that is not a keyword, macro or built-in type: "int" becomes "int_",
/// "λ" "lambda", "__x" "x", "2d" "v2d".
std::string identifier(std::string_view name);
/// As `identifier`, for a function with C linkage, which must not be a function of the C library either: "exp" becomes
/// "exp_".
std::string entry_name(std::string_view name);

/// The words of C++ text that can be names, without those of its `//` comments.
std::set<std::string, std::less<>> identifiers(std::string_view text);

/// Makes unique names within one function.
class Names {
 public:
  /// `reserved`: C++ text whose identifiers are never returned, for example that of reserved_text (prelude.h).
  explicit Names(std::string_view reserved);

  /// The preferred name; if it is taken, with the smallest number appended that makes it unique: "x", "x_1", "x_2".
  std::string claim(std::string_view preferred);

 private:
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, int> numbers_;  ///< the last number that was appended to a name
};

}  // namespace ingot::codegen
