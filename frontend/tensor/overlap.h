#pragma once

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// Fails, with eager's message, unless one of two things is known: the tensors share no element, or each element has
/// the same index in both.
void refuse_overlap(Builder& builder, const Tensor& written, const Tensor& read);

}  // namespace ingot::frontend
