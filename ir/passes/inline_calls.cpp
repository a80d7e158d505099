#include "ir/passes/rewrite.h"

namespace ingot::ir {

Graph inline_calls(const Graph& graph) {
  return rewrite(graph, [](Graph& out, NodeId, Node node) {
    return node.op == Op::Call ? node.args[0] : out.add(std::move(node));
  });
}

}  // namespace ingot::ir
