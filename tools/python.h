#pragma once

#include <string>

// Finds Python: eager PyTorch, and comparisons with it, run only in Python.

namespace ingot::tools {

/// Returns $INGOT_PYTHON; else the Python whose PyTorch this program was built with; else python3 on PATH.
/// Errors: Error(Environment).
std::string find_python();

/// Makes child programs prefer the package that was built together with this program to an installed one.
void prefer_bundled_package();

}  // namespace ingot::tools
