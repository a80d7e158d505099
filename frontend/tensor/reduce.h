#pragma once

#include <span>
#include <vector>

#include "frontend/tensor/builder.h"
#include "ir/reduction.h"

namespace ingot::frontend {

/// Reduces a tensor along some dims, each listed at most once, to one value or two, as ir::info(kind).value_count says.
/// With `keepdim` the dims stay, with size 1. The first result has the tensor's dtype; an index is int64.
/// Errors: a reduction over no elements, if the kind has no value for no elements, with PyTorch's message for
/// `function`. Without a `function`, a reduction over no elements is no error, and the maximum of no floats is -inf.
std::vector<Tensor> reduce(Builder& builder, ir::ReduceKind kind, const Tensor& x, std::span<const size_t> dims,
                           bool keepdim, std::string_view function);

}  // namespace ingot::frontend
