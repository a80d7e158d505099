#pragma once

#include <set>
#include <string>
#include <vector>

#include "codegen/kernel/kernel.h"

namespace ingot::codegen {

/// How the computed values of a kernel are used.
struct Usage {
  struct Of {
    uint32_t count = 0;      ///< number of occurrences if it is written inline
    bool elsewhere = false;  ///< used in another block than the one that computes it: in a later loop
    bool in_arm = false;     ///< within the expression of an arm of a `where`
    std::string stored;      ///< the pointer to whose element it is assigned unchanged; empty if none
  };
  std::vector<Of> values;
  std::vector<bool> computed;  ///< by a Let; other values are always inline
  std::set<const Let*> idle;   ///< Lets in inner blocks whose values no later statement uses

  explicit Usage(const Kernel& kernel);
  const Of& operator[](ValueId id) const { return values[id.index]; }
};

/// The computed values from which the value's formula is built directly.
std::vector<ValueId> parts_of(const Kernel& kernel, const Usage& usage, ValueId id);

}  // namespace ingot::codegen
