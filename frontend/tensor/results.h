#pragma once

#include "frontend/tensor/lowering.h"

namespace ingot::frontend {

/// What an op returns, as the results of its graph: a tensor, or a tuple or list of tensors.
void make_results(Lowering& lowering, const Value& returned);

}  // namespace ingot::frontend
