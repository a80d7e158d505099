#pragma once

#include <optional>
#include <span>
#include <vector>

#include "frontend/tensor/builder.h"

// The views of the language as its authors call them: arguments checked in PyTorch's words, the values from tensors.h,
// and eager's layout. Dims are counted from the front unless a parameter is a Value.

namespace ingot::frontend {

/// An index that counts from the end where it is negative, counted from the front.
ir::HostId index_from_front(Builder& builder, ir::HostId index, ir::HostId size);

Tensor permute(Builder& builder, const Tensor& x, std::span<const size_t> order);
Tensor transpose(Builder& builder, const Tensor& x, size_t a, size_t b);
Tensor unsqueeze(Builder& builder, const Tensor& x, size_t dim);
/// The dims given that are of size 1 are left out; all dims where none are given.
Tensor squeeze(Builder& builder, const Tensor& x, std::optional<std::vector<size_t>> dims);
/// A constant negative index counts from the end; a symbolic one is wrapped where it is negative.
Tensor select(Builder& builder, const Tensor& x, size_t dim, ir::HostId index);
/// x[start:stop:step] along a dim; bounds as Python clamps them.
Tensor slice(Builder& builder, const Tensor& x, size_t dim, std::optional<ir::HostId> start,
             std::optional<ir::HostId> stop, int64_t step);
/// `length` coordinates from `start`, which the caller knows to be within the dim.
Tensor narrow(Builder& builder, const Tensor& x, size_t dim, ir::HostId start, ir::HostId length);
Tensor flip(Builder& builder, const Tensor& x, std::span<const size_t> dims);
/// Sizes of -1 stay as they are.
Tensor expand(Builder& builder, const Tensor& x, Shape sizes);
std::vector<Value> chunk(Builder& builder, const Tensor& x, int64_t chunks, size_t dim);
/// Pieces of `size`, the last one shorter, or pieces of the given sizes.
std::vector<Value> split(Builder& builder, const Tensor& x, ir::HostId size, size_t dim);
std::vector<Value> split(Builder& builder, const Tensor& x, const Shape& sizes, size_t dim);
std::vector<Value> unbind(Builder& builder, const Tensor& x, size_t dim);
/// One of the sizes may be -1.
Tensor unflatten(Builder& builder, const Tensor& x, size_t dim, Shape sizes);
Tensor flatten(Builder& builder, const Tensor& x, size_t first, size_t last);
/// Shares memory or copies, as strides will have it. One of the sizes may be -1.
Tensor reshape(Builder& builder, const Tensor& x, Shape sizes);
/// x itself where its layout says that it is contiguous, a copy where not; known of few tensors beforehand.
Tensor contiguous(Builder& builder, const Tensor& x);
/// x.clone()
Tensor copied(Builder& builder, const Tensor& x);
/// As reshape, but sharing memory.
Tensor view(Builder& builder, const Tensor& x, Shape sizes);

}  // namespace ingot::frontend
