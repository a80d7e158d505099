#pragma once

#include <cstdint>
#include <span>

#include "ir/graph.h"

namespace ingot::ir {

/// Counts the floating-point operations of a graph, independent of the kernels that compute it. A node counts its Cost
/// of ops.def (1 for an addition, the number of instructions for a function) once for each element of the dims along
/// which its value varies. Each element of a reduction's operand counts 1, and so does each value of a scatter-add.
/// Integer ops and casts count 0. `host`: the value of each expression of the graph's
/// HostPool, by id.
int64_t count_operations(const Graph& graph, std::span<const HostValue> host);

}  // namespace ingot::ir
