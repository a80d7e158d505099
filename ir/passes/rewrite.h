#pragma once

#include <functional>
#include <vector>

#include "ir/graph.h"

// Building blocks of the passes over a graph.

namespace ingot::ir {

/// Adds a node of the old graph, or its replacement, to `out` and returns the id in `out`. `old_id` is the node's id in
/// the old graph; the args and attr of `node` refer to `out` already.
using NodeRule = std::function<NodeId(Graph& out, NodeId old_id, Node node)>;

/// Builds a new graph by applying `rule`, in topological order, to every node that the results need. Copies parameters,
/// conditions, host expressions, names and locations.
Graph rewrite(const Graph& graph, const NodeRule& rule);

/// Adds to the graph, in topological order, the node that `rule` makes of each node that the roots need, and returns
/// the new roots. The args of the node that `rule` gets are new already, except the reduction that a load reads. Copies
/// names and locations.
std::vector<NodeId> rebuild(Graph& graph, const std::vector<NodeId>& roots,
                            const std::function<NodeId(NodeId old_id, Node node)>& rule);

/// Returns the graph without unused nodes, layout steps and host expressions. Replaces a size by another size that is
/// known to be equal, except in the conditions that make the two equal.
Graph compact(const Graph& graph);

}  // namespace ingot::ir
