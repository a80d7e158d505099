#pragma once

#include <functional>
#include <vector>

#include "ir/graph.h"

// What passes over the graph are made of.

namespace ingot::ir {

/// Adds a node of the old graph, there `was`, its args and attr already those of `out`, to `out`: as it is, or what
/// stands for it.
using NodeRule = std::function<NodeId(Graph& out, NodeId was, Node node)>;

/// A new graph with every node that the results need put through `rule`, in topological order. Parameters, conditions
/// and host expressions are taken over, names and places are carried.
Graph rewrite(const Graph& graph, const NodeRule& rule);

/// The graph without the nodes, layout steps and host expressions that nobody needs. A size that is known to equal
/// another one is replaced by it everywhere but in the conditions that make it so.
Graph compact(const Graph& graph);

}  // namespace ingot::ir
