#pragma once

#include <string>
#include <vector>

#include "codegen/kernel/kernel.h"
#include "codegen/target/spelling.h"

// Values as text in the target's spelling.

namespace ingot::codegen {

std::string type_text(const Type& type);

/// The texts of a kernel's values: of those that have a name it, of the others their formula.
class Expressions {
 public:
  explicit Expressions(const Kernel& kernel) : kernel_(kernel), known_(kernel.values.size()) {}

  /// What stands where the value is used.
  Text text(ValueId id) const;
  /// The formula of a value, whether or not it has a name.
  Text formula(ValueId id) const;
  /// From now on the value is called so.
  void call(ValueId id, std::string name) { known_[id.index] = name; }
  bool has_name(ValueId id) const { return !known_[id.index].empty(); }

 private:
  bool is_unsigned(ValueId id) const;

  const Kernel& kernel_;
  std::vector<std::string> known_;
};

}  // namespace ingot::codegen
