#pragma once

#include <vector>

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// value[index]; `index` as Python passes it: a number, Slice, None, Ellipsis, tensor, or a tuple of these.
Value tensor_getitem(Builder& builder, const Value& value, const Value& index);
/// Iterates over a tensor: returns its slices along dim 0, whose size is specialised.
std::vector<Value> tensor_iterate(Builder& builder, const Value& value);

}  // namespace ingot::frontend
