#pragma once

#include <optional>
#include <vector>

#include "frontend/tensor/builder.h"
#include "frontend/tensor/storage.h"

// Records eager's tensors as the author's ops are evaluated: ir::LayoutStep for their strides, storage.h for their
// storages. Each function appends one step, for a tensor of the given shape, and returns the tensor's handle. Inside a
// native library function nothing is recorded: PyTorch runs the function as one kernel, which is recorded at the
// function's boundary.

namespace ingot::frontend {

using LayoutId = uint32_t;  ///< the index of a step in Graph::eager_layouts

// Tensors with storages of their own, by the rule for their strides (ir::LayoutStep::Kind).

TensorHandle record_step(Builder& builder, ir::LayoutStep step);
TensorHandle record_param(Builder& builder, uint32_t param, Shape shape);
/// The result of a TensorIterator op on these inputs.
TensorHandle record_pointwise(Builder& builder, std::vector<LayoutId> inputs, Shape shape);
/// A copy with the strides of empty_like(input).
TensorHandle record_preserve(Builder& builder, LayoutId input, Shape shape);
TensorHandle record_contiguous(Builder& builder, Shape shape);
/// A new tensor in the memory format that the author requests; `input` is the tensor that it is like, if there is one.
TensorHandle record_format(Builder& builder, MemoryFormat format, std::optional<LayoutId> input, Shape shape);
TensorHandle record_cat(Builder& builder, std::vector<LayoutId> inputs, Shape shape);
/// The result of F.pad: `cropped` is the part of the input that negative padding leaves.
TensorHandle record_pad(Builder& builder, LayoutId cropped, LayoutId input, Shape shape);

// Tensors that share the storage of another one, at least for some strides.

/// A view of `x`. `stride_map[k]` are the terms of dim k of the view over the dims of `x`.
TensorHandle record_view(Builder& builder, const Tensor& x, std::vector<std::vector<ir::Term>> stride_map, Shape shape,
                         View view);
/// A view of `input` through which writes are not supported. After an in-place op on one of the two tensors, the other
/// one cannot be read.
TensorHandle record_view(Builder& builder, const TensorHandle& input, std::vector<std::vector<ir::Term>> stride_map,
                         Shape shape);
/// A view of `x` if its strides allow one, else a copy.
TensorHandle record_reshape(Builder& builder, const Tensor& x, Shape shape);
/// A copy of `x` in a memory format, or `x` itself if it has that format.
TensorHandle record_format_conversion(Builder& builder, MemoryFormat format, const Tensor& x);
/// x.to(memory_format=torch.contiguous_format): a copy only if PyTorch suggests channels_last for `x`.
TensorHandle record_unformatted(Builder& builder, const Tensor& x);

}  // namespace ingot::frontend
