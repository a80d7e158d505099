#pragma once

#include <span>
#include <string_view>

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// Marks `body`, a tensor, as the result of the native library function `name` applied to `operands`: its nodes become
/// the first operands of Call nodes.
Value native_result(Builder& builder, std::string_view name, const Value& body, std::span<const Value> operands);
/// Marks `body`, one or several tensors, as the results of a library function that reduces, or that combines
/// reductions. The Call nodes have no operands but the body, and the results are contiguous as in PyTorch.
Value reduction_result(Builder& builder, std::string_view name, const Value& body);

}  // namespace ingot::frontend
