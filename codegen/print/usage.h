#pragma once

#include <set>
#include <string>
#include <vector>

#include "codegen/kernel/kernel.h"

namespace ingot::codegen {

/// How the computed values of a kernel are used.
struct Usage {
  /// The uses of one value.
  struct ValueUsage {
    uint32_t count = 0;  ///< how often it occurs in statements and in the formulas of other values
    bool is_used_in_other_block =
        false;               ///< used in another block of statements than the one that computes it: a later loop
    bool is_in_arm = false;  ///< within the expression of an arm of a `where`
    std::string stored_to;   ///< the name of the pointer through which the value is stored unchanged; empty if none
  };
  std::vector<ValueUsage> values;
  std::vector<bool> is_computed;     ///< whether a Let computes the value; other values are always inline
  std::set<const Let*> unused_lets;  ///< Lets in inner blocks whose value no later statement of the block uses

  explicit Usage(const Kernel& kernel);
  const ValueUsage& operator[](ValueId id) const { return values[id.index]; }
};

/// The values computed by a Let that occur in the value's formula, if all other values are written inline.
std::vector<ValueId> computed_operands(const Kernel& kernel, const Usage& usage, ValueId id);

}  // namespace ingot::codegen
