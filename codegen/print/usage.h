#pragma once

#include <set>
#include <string>
#include <vector>

#include "codegen/kernel/kernel.h"

namespace ingot::codegen {

/// How a kernel's computed values are used.
struct Usage {
  struct Of {
    uint32_t count = 0;      ///< how often it stands in the text, were it to stand where it is used
    bool elsewhere = false;  ///< in another block than where it is computed: in a loop behind it
    bool in_arm = false;     ///< within the expression of an arm of a `where`
    std::string stored;      ///< the pointer to which it is assigned as it is; empty if it is not
  };
  std::vector<Of> values;
  std::vector<bool> computed;  ///< by a Let; the others stand inline
  std::set<const Let*> idle;   ///< in an inner block, whose values nothing behind them uses

  explicit Usage(const Kernel& kernel);
  const Of& operator[](ValueId id) const { return values[id.index]; }
};

/// The computed values that stand within the value's formula.
std::vector<ValueId> parts_of(const Kernel& kernel, const Usage& usage, ValueId id);

}  // namespace ingot::codegen
