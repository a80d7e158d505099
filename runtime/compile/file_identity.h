#pragma once

#include <string>

namespace ingot::runtime {

/// Tells a program or library from its next version without opening it: the name of the file that the path leads to,
/// its size and its date. Empty where there is no such file.
std::string file_identity(const std::string& path);

}  // namespace ingot::runtime
