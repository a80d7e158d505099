#pragma once

#include <string>

namespace ingot::runtime {

/// Distinguishes versions of a program or library without opening it: the name of the file to which the path resolves,
/// its size and its date. Empty if there is no such file.
std::string file_identity(const std::string& path);

}  // namespace ingot::runtime
