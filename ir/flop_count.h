#pragma once

#include <cstdint>
#include <span>

#include "ir/graph.h"

namespace ingot::ir {

/// Floating-point operations of what a graph says, whoever computes it: each node once for each element that it may
/// differ for, by the Cost of ops.def (an addition is one, a function as many as it takes instructions), and one for
/// each element that is reduced, or added where a position leads. `sizes` are the evaluated slots of the graph's pool.
int64_t count_operations(const Graph& graph, std::span<const HostValue> sizes);

}  // namespace ingot::ir
