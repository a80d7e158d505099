#pragma once

#include <optional>
#include <span>
#include <vector>

#include "frontend/tensor/builder.h"

// The functions that authors call to change shapes and strides: views, and functions that may copy, such as flip and
// contiguous. Each checks its arguments with PyTorch's messages, computes the values with tensors.h, and records
// eager's layout. Dims are counted from the front.

namespace ingot::frontend {

/// Converts an index that counts from the end if it is negative to one that counts from the front.
ir::HostId index_from_front(Builder& builder, ir::HostId index, ir::HostId size);

Tensor permute(Builder& builder, const Tensor& x, std::span<const size_t> order);
Tensor transpose(Builder& builder, const Tensor& x, size_t a, size_t b);
Tensor unsqueeze(Builder& builder, const Tensor& x, size_t dim);
/// Removes the given dims that have size 1; without `dims`, all dims of size 1.
Tensor squeeze(Builder& builder, const Tensor& x, std::optional<std::vector<size_t>> dims);
/// Selects along a dim. A negative index counts from the end, also if its value is known only when the op is called.
Tensor select(Builder& builder, const Tensor& x, size_t dim, ir::HostId index);
/// x[start:stop:step] along a dim; bounds are clamped as in Python.
Tensor slice(Builder& builder, const Tensor& x, size_t dim, std::optional<ir::HostId> start,
             std::optional<ir::HostId> stop, int64_t step);
/// `length` coordinates from `start`; the caller knows that they are within the dim.
Tensor narrow(Builder& builder, const Tensor& x, size_t dim, ir::HostId start, ir::HostId length);
Tensor flip(Builder& builder, const Tensor& x, std::span<const size_t> dims);
/// A size of -1 keeps the size of the dim.
Tensor expand(Builder& builder, const Tensor& x, Shape sizes);
std::vector<Value> chunk(Builder& builder, const Tensor& x, int64_t chunks, size_t dim);
/// Parts of `size`, the last one shorter if necessary, or parts of the given sizes.
std::vector<Value> split(Builder& builder, const Tensor& x, ir::HostId size, size_t dim);
std::vector<Value> split(Builder& builder, const Tensor& x, const Shape& sizes, size_t dim);
std::vector<Value> unbind(Builder& builder, const Tensor& x, size_t dim);
/// One of the sizes may be -1.
Tensor unflatten(Builder& builder, const Tensor& x, size_t dim, Shape sizes);
/// Merges the dims from `first` to `last`, both included. Shares storage or copies, depending on strides.
Tensor flatten(Builder& builder, const Tensor& x, size_t first, size_t last);
/// Shares storage or copies, depending on strides. One of the sizes may be -1.
Tensor reshape(Builder& builder, const Tensor& x, Shape sizes);
/// x itself if it is contiguous, else a copy. For most tensors, this is known only when strides are known.
Tensor contiguous(Builder& builder, const Tensor& x);
/// x.clone()
Tensor copied(Builder& builder, const Tensor& x);
/// Like reshape, but must share storage.
Tensor view(Builder& builder, const Tensor& x, Shape sizes);

}  // namespace ingot::frontend
