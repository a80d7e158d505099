#pragma once

#include <span>

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// torch.cat and torch.stack, with type promotion. The shapes are equal, for cat except along `dim`.
Tensor cat(Builder& builder, std::span<const Tensor> tensors, const Value& dim);
Tensor stack(Builder& builder, std::span<const Tensor> tensors, const Value& dim);

}  // namespace ingot::frontend
