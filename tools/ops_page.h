#pragma once

#include <string>
#include <vector>

#include "frontend/frontend.h"

namespace ingot::tools {

/// docs/ops.md: a row for each name with what it gives, the dtypes that it takes, and where its formula comes from. The
/// dtypes are found by lowering a call of it for each.
std::string ops_page(const std::vector<frontend::NameInfo>& names);

}  // namespace ingot::tools
