#pragma once

#include <vector>

#include "frontend/tensor/lowering.h"

// The account of eager's strides (ir::LayoutStep), kept as the author's ops are evaluated. Each function appends one
// step, for a tensor of the given shape, and gives its number. Inside a native library function nothing is recorded:
// it is one kernel of PyTorch's, recorded at its boundary.

namespace ingot::frontend {

using LayoutId = uint32_t;

LayoutId record_step(Lowering& lowering, ir::LayoutStep step);
LayoutId record_param(Lowering& lowering, uint32_t param, Shape shape);
LayoutId record_pointwise(Lowering& lowering, std::vector<LayoutId> inputs, Shape shape);
/// `rows[k]` are the terms of new dim k over the input's dims.
LayoutId record_view(Lowering& lowering, LayoutId input, std::vector<std::vector<ir::Term>> rows, Shape shape);
LayoutId record_reshape(Lowering& lowering, LayoutId input, Shape shape);
LayoutId record_preserve(Lowering& lowering, LayoutId input, Shape shape);
LayoutId record_contiguous(Lowering& lowering, Shape shape);
LayoutId record_cat(Lowering& lowering, std::vector<LayoutId> inputs, Shape shape);

}  // namespace ingot::frontend
