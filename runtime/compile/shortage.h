#pragma once

#include <string>
#include <string_view>

namespace ingot::runtime {

/// What the system says of an error; where something has run out, what that is and how to get more.
std::string reason(int error);

/// The same for a program's output, which quotes the system; empty where it speaks of no shortage.
std::string shortage_in(std::string_view output);

}  // namespace ingot::runtime
