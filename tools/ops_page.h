#pragma once

#include <string>
#include <vector>

#include "frontend/frontend.h"

namespace ingot::tools {

/// Generates docs/ops.md: a row for each supported function with its result, its dtypes, and the source of its formula.
/// A call is lowered for each dtype to find the accepted dtypes.
std::string ops_page(const std::vector<frontend::NameInfo>& names);

}  // namespace ingot::tools
