#pragma once

#include <span>

#include "frontend/tensor/lowering.h"

namespace ingot::frontend {

/// torch.cat and torch.stack: tensors of one shape but for `dim` (cat), promoted together.
Tensor cat(Lowering& lowering, std::span<const Tensor> tensors, const Value& dim);
Tensor stack(Lowering& lowering, std::span<const Tensor> tensors, const Value& dim);

}  // namespace ingot::frontend
