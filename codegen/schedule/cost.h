#pragma once

#include "codegen/shape/outline.h"

namespace ingot::codegen {

/// A transcendental function, and a body from which on the processor is busy rather than the memory.
inline constexpr uint32_t kTranscendental = 16, kHeavy = 3 * kTranscendental;

/// What an op costs, in units of a cheap one (an addition).
uint32_t cost_of(ir::Op op, ir::DType work);

/// What an element of a kernel costs.
uint32_t cost_of(const ir::Graph& graph, const KernelOutline& kernel);

}  // namespace ingot::codegen
