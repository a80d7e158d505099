#pragma once

#include <string>
#include <string_view>

namespace ingot::runtime {

/// Returns the system's message for an error of a file operation or of starting a process. For an exhausted resource,
/// also says which one it is and how to get more.
std::string error_text(int error);

/// Searches a program's output for the system's message of an exhausted resource. Returns which one it is and how to
/// get more; empty if there is no such message.
std::string exhausted_resource_in(std::string_view output);

}  // namespace ingot::runtime
