#pragma once

#include <string>

// Eager PyTorch runs in Python alone, and so does what compares with it.

namespace ingot::tools {

/// $INGOT_PYTHON; else the one whose PyTorch this program was built with; else python3 on PATH.
/// Errors: Error(Environment).
std::string find_python();

/// For programs that this one starts: the package that was built beside it comes before an installed one.
void prefer_package_beside();

}  // namespace ingot::tools
