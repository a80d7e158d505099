#pragma once

#include <optional>
#include <vector>

#include "frontend/tensor/builder.h"

// The account of eager's strides (ir::LayoutStep), kept as the author's ops are evaluated. Each function appends one
// step, for a tensor of the given shape, and gives its number. Inside a native library function nothing is recorded:
// it is one kernel of PyTorch's, recorded at its boundary.

namespace ingot::frontend {

using LayoutId = uint32_t;

LayoutId record_step(Builder& builder, ir::LayoutStep step);
LayoutId record_param(Builder& builder, uint32_t param, Shape shape);
LayoutId record_pointwise(Builder& builder, std::vector<LayoutId> inputs, Shape shape);
/// `rows[k]` are the terms of new dim k over the input's dims.
LayoutId record_view(Builder& builder, LayoutId input, std::vector<std::vector<ir::Term>> rows, Shape shape);
LayoutId record_reshape(Builder& builder, LayoutId input, Shape shape);
LayoutId record_preserve(Builder& builder, LayoutId input, Shape shape);
LayoutId record_contiguous(Builder& builder, Shape shape);
/// A tensor in a memory format, as its author asks for; without an input a new one.
LayoutId record_format(Builder& builder, MemoryFormat format, std::optional<LayoutId> input, Shape shape);
LayoutId record_cat(Builder& builder, std::vector<LayoutId> inputs, Shape shape);
/// Of F.pad: `kept` is what negative padding leaves of the input.
LayoutId record_pad(Builder& builder, LayoutId kept, LayoutId input, Shape shape);

}  // namespace ingot::frontend
