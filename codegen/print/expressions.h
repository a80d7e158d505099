#pragma once

#include <string>
#include <vector>

#include "codegen/kernel/kernel.h"
#include "codegen/target/spelling.h"

// Values as expressions in the target's spelling.

namespace ingot::codegen {

/// The type in source: "float", "Vec<float, 4>".
std::string type_text(const Type& type);

/// The expressions of a kernel's values: a value's name if it has one, its formula otherwise.
class Expressions {
 public:
  explicit Expressions(const Kernel& kernel) : kernel_(kernel), names_(kernel.values.size()) {}

  /// The expression to print where the value is used: its name if it has one, otherwise its formula.
  Text text(ValueId id) const;
  /// The formula of a value, whether or not it has a name.
  Text formula(ValueId id) const;
  /// Gives the value a name, which later expressions use.
  void set_name(ValueId id, std::string name) { names_[id.index] = name; }
  /// The same expressions for comments, which spell each division `/` or `%`: how it is computed does not matter there.
  Expressions for_comments() const {
    Expressions expressions = *this;
    expressions.are_for_comments_ = true;
    return expressions;
  }
  bool has_name(ValueId id) const { return !names_[id.index].empty(); }

 private:
  /// Whether C++ gives the value an unsigned type although its own type is int.
  bool is_unsigned(ValueId id) const;

  const Kernel& kernel_;
  std::vector<std::string> names_;  ///< by value; empty if it has none
  bool are_for_comments_ = false;
};

}  // namespace ingot::codegen
