#pragma once

#include <set>
#include <string>
#include <vector>

#include "codegen/kernel/kernel.h"

namespace ingot::codegen {

/// How the computed values of a kernel are used.
struct Usage {
  /// The uses of one value.
  struct Of {
    uint32_t count = 0;      ///< number of occurrences if it is written inline
    bool elsewhere = false;  ///< used in a block other than the one that computes it, such as a later loop
    bool in_arm = false;     ///< within the expression of an arm of a `where`
    std::string stored;      ///< the pointer to whose element it is assigned unchanged; empty if none
  };
  std::vector<Of> values;
  std::vector<bool> computed;  ///< by a Let; other values are always inline
  std::set<const Let*> idle;   ///< Lets in inner blocks whose values no later statement uses

  explicit Usage(const Kernel& kernel);
  const Of& operator[](ValueId id) const { return values[id.index]; }
};

/// The computed values that occur in the value's formula, if values that are not computed by a Let are written inline.
std::vector<ValueId> parts_of(const Kernel& kernel, const Usage& usage, ValueId id);

}  // namespace ingot::codegen
