#pragma once

#include <span>
#include <string_view>

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// Marks `body`'s results as those of the native library function `name` on `operands` (Call nodes).
Value native_result(Builder& builder, std::string_view name, const Value& body, std::span<const Value> operands);
/// The same of a function that reduces, or that gives what it has made of reductions: of its results alone, which
/// PyTorch makes contiguous.
Value reduction_result(Builder& builder, std::string_view name, const Value& body);

}  // namespace ingot::frontend
