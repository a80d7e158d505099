#pragma once

#include "ir/graph.h"

namespace ingot::ir {

/// The graph with its live nodes in the order in which its results need them, depth first, and its conditions in the
/// order of what they are about. So it does not depend on the order in which operands were evaluated, which C++ leaves
/// open: text and C++ of one op give the same graph.
Graph canonical(Graph graph);

}  // namespace ingot::ir
