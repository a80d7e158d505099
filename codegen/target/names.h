#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

// The names of generated source: the author's where they can be had, unique, and of no other meaning in the target's
// language, its headers or our prelude.

namespace ingot::codegen {

/// The name as an identifier of C++ and CUDA C++ that no keyword, macro or built-in type takes: "int" is "int_", "λ" is
/// "lambda", "__x" is "x", "2d" is "v2d".
std::string identifier(std::string_view name);
/// The same for a function with C linkage, which must not be one of the C library's either: "exp" is "exp_".
std::string entry_name(std::string_view name);

/// The words of C++ text that could be names, comments left out.
std::set<std::string, std::less<>> identifiers(std::string_view text);

/// The names of one function, handed out once each.
class Names {
 public:
  /// `reserved`: text whose identifiers are all taken, such as the prelude's.
  explicit Names(std::string_view reserved);

  /// The name, or the name with the smallest number that makes it free: "x", "x_1", "x_2".
  std::string claim(std::string_view wanted);

 private:
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, int> numbers_;  ///< the last one tried behind a name
};

}  // namespace ingot::codegen
