#pragma once

#include <optional>
#include <vector>

#include "frontend/tensor/builder.h"
#include "frontend/tensor/storage.h"

// The account of eager's tensors (ir::LayoutStep for their strides, memory.h for what they share), kept as the author's
// ops are evaluated. Each function appends one step, for a tensor of the given shape, and gives its place. Inside a
// native library function nothing is recorded: it is one kernel of PyTorch's, recorded at its boundary.

namespace ingot::frontend {

using LayoutId = uint32_t;

/// A tensor in memory of its own.
TensorHandle record_step(Builder& builder, ir::LayoutStep step);
TensorHandle record_param(Builder& builder, uint32_t param, Shape shape);
TensorHandle record_pointwise(Builder& builder, std::vector<LayoutId> inputs, Shape shape);
TensorHandle record_preserve(Builder& builder, LayoutId input, Shape shape);
TensorHandle record_contiguous(Builder& builder, Shape shape);
/// A tensor in a memory format, as its author asks for; without an input a new one.
TensorHandle record_format(Builder& builder, MemoryFormat format, std::optional<LayoutId> input, Shape shape);
TensorHandle record_cat(Builder& builder, std::vector<LayoutId> inputs, Shape shape);
/// Of F.pad: `kept` is what negative padding leaves of the input.
TensorHandle record_pad(Builder& builder, LayoutId kept, LayoutId input, Shape shape);

/// A view of `x`. `rows[k]` are the terms of new dim k over the input's dims.
TensorHandle record_view(Builder& builder, const Tensor& x, std::vector<std::vector<ir::Term>> rows, Shape shape,
                         View view);
/// What shares memory with `input`, but is not written through: an op in place on either leaves the other unclear.
TensorHandle record_view(Builder& builder, const TensorHandle& input, std::vector<std::vector<ir::Term>> rows,
                         Shape shape);
/// A view of `x` where its strides allow that, a copy where not.
TensorHandle record_reshape(Builder& builder, const Tensor& x, Shape shape);
/// A copy of `x` in a memory format, or `x` itself where it has that.
TensorHandle record_in_format(Builder& builder, MemoryFormat format, const Tensor& x);
/// Of x.to(memory_format=torch.contiguous_format): a copy only where `x` looks like channels_last.
TensorHandle record_unformatted(Builder& builder, const Tensor& x);

}  // namespace ingot::frontend
