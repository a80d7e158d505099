#pragma once

#include <string>
#include <vector>

#include "codegen/kernel/kernel.h"

namespace ingot::codegen {

/// One function of generated source.
struct Printed {
  std::string text;
  std::vector<ComputedNodes> lines;  ///< one for each line
};

/// A kernel in its target's language, without the prelude. What is decided here is how it reads: which values get names
/// of their own, and where a line ends. The same text for the same kernel.
Printed print_source(const Kernel& kernel);

}  // namespace ingot::codegen
