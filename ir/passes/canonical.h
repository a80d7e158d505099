#pragma once

#include "ir/graph.h"

namespace ingot::ir {

/// Returns the graph with its live nodes in the order in which the results need them, depth first, and its conditions
/// sorted by their operands. C++ leaves the evaluation order of operands open, so without this pass the graph could
/// depend on it. An op defined as Python source and the same op defined in C++ give the same graph.
Graph canonical(Graph graph);

}  // namespace ingot::ir
