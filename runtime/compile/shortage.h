#pragma once

#include <string>
#include <string_view>

namespace ingot::runtime {

/// Returns the system's message for an error; for an exhausted resource, also which one it is and how to get more.
std::string reason(int error);

/// The same for a program's output, which quotes the system; empty where it mentions no shortage.
std::string shortage_in(std::string_view output);

}  // namespace ingot::runtime
