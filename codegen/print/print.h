#pragma once

#include <string>
#include <vector>

#include "codegen/kernel/kernel.h"

namespace ingot::codegen {

/// One function of generated source.
struct Printed {
  std::string text;
  std::vector<ComputedNodes> lines;  ///< the nodes that each line of the text computes
};

/// Prints a kernel in its target's language, without the prelude. The printer decides only the appearance: which values
/// get names, and where lines are broken. The same kernel always gives the same text.
Printed print_source(const Kernel& kernel);

}  // namespace ingot::codegen
