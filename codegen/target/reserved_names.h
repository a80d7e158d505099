#pragma once

#include <set>
#include <string>
#include <string_view>

// The names that functions with C linkage cannot have in generated source.

namespace ingot::codegen {

/// The names that C++ text declares at file scope or calls, where `__builtin_x` calls x.
std::set<std::string, std::less<>> taken_at_file_scope(std::string_view text);

/// The same of the preludes and the spellings of all targets.
const std::set<std::string, std::less<>>& taken_by_preludes();

}  // namespace ingot::codegen
