#pragma once

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// What an op returns, as the results of its graph: a tensor, or a tuple or list of tensors.
void make_results(Builder& builder, const Value& returned);

}  // namespace ingot::frontend
