#pragma once

#include <span>

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// torch.cat and torch.stack: tensors of one shape but for `dim` (cat), promoted together.
Tensor cat(Builder& builder, std::span<const Tensor> tensors, const Value& dim);
Tensor stack(Builder& builder, std::span<const Tensor> tensors, const Value& dim);

}  // namespace ingot::frontend
