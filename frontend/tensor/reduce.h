#pragma once

#include <span>
#include <vector>

#include "frontend/tensor/builder.h"
#include "ir/reduction.h"

namespace ingot::frontend {

/// The values of a tensor along some dims, each at most once, made one; or two values, as ir::info(kind).values says.
/// With `keepdim` the dims stay, of size 1. The first result has the tensor's dtype, an index is int64. Reducing a
/// tensor without elements is an error where the kind has no value of none, in PyTorch's words for `function`; without
/// a `function` it is none, and the maximum of no floats is -inf.
std::vector<Tensor> reduce(Builder& builder, ir::ReduceKind kind, const Tensor& x, std::span<const size_t> dims,
                           bool keepdim, std::string_view function);

}  // namespace ingot::frontend
