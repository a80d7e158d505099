#pragma once

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// Fails, with eager's message, unless `read` is known to share no element with `written`, or each at the same index.
void refuse_overlap(Builder& builder, const Tensor& written, const Tensor& read);

}  // namespace ingot::frontend
