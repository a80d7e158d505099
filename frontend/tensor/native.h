#pragma once

#include <span>
#include <string_view>

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// Marks `body`'s results as those of the native library function `name` applied to `operands` (Call nodes).
Value native_result(Builder& builder, std::string_view name, const Value& body, std::span<const Value> operands);
/// Marks the results of a function that reduces, or that combines reductions: the Call nodes have no operands, and the
/// results are contiguous as in PyTorch.
Value reduction_result(Builder& builder, std::string_view name, const Value& body);

}  // namespace ingot::frontend
