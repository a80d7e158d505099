#pragma once

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// Fails, in eager's words, unless it is known that `read` has no element of `written`, or each at its own place.
void refuse_overlap(Builder& builder, const Tensor& written, const Tensor& read);

}  // namespace ingot::frontend
