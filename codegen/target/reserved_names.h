#pragma once

#include <set>
#include <string>
#include <string_view>

// Names that the entry functions of generated source, which have C linkage, must not have.

namespace ingot::codegen {

/// The names that C++ text declares at file scope, or calls anywhere; `__builtin_x` counts as x.
std::set<std::string, std::less<>> declared_or_called_names(std::string_view text);

/// The names that the preludes and the spellings of all targets declare at file scope or call.
const std::set<std::string, std::less<>>& reserved_by_preludes();

}  // namespace ingot::codegen
