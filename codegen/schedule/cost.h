#pragma once

#include "codegen/shape/outline.h"

namespace ingot::codegen {

/// What an op costs, as ops.def counts; twice as much in 64 bits.
uint32_t cost_of(ir::Op op, ir::DType work);

/// What an element of a kernel costs.
uint32_t cost_of(const ir::Graph& graph, const KernelOutline& kernel);

}  // namespace ingot::codegen
