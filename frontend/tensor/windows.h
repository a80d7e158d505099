#pragma once

#include "frontend/tensor/builder.h"

// Views whose strides are sums or multiples of the tensor's: sliding windows, which may overlap, and diagonals.

namespace ingot::frontend {

/// All windows of `size` along a dim that start at multiples of `step`; a new last dim is the position within a window.
Tensor unfold(Builder& builder, const Tensor& x, size_t dim, ir::HostId size, int64_t step);
/// The elements x[…, i, …, i + offset, …] of two different dims, which a new last dim replaces.
Tensor diagonal(Builder& builder, const Tensor& x, ir::HostId offset, size_t dim1, size_t dim2);

}  // namespace ingot::frontend
