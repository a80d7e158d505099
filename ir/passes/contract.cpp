#include <vector>

#include "ir/passes/rewrite.h"

// Fuses a product into a sum, which saves an instruction (docs/performance.md: contraction). The product is then not
// rounded, which is allowed because the value between two ops on 16-bit floats is a float32 anyway. Two restrictions:
// - A product that has another use is not fused. The product is computed anyway, and all its uses must see one value:
// `p - p` is 0.
// - The other operand of the sum must be loaded (an element of a tensor, or the value of a reduction) or a number. Any
// other operand may itself be a rounded copy of the product: `x * x - relu(m * m)` of equal x and m must be exactly 0,
// because variances are computed so, and sqrt of a negative rounding error is NaN.

namespace ingot::ir {
namespace {

/// Counts the uses of each node, as an operand and as the value of an output block. Residuals do not count, so that
/// saving them does not change the bits of the returned results.
std::vector<uint32_t> uses_of(Graph graph) {
  std::erase_if(graph.results, [](const Result& result) { return result.use == Use::Residual; });
  std::vector<uint32_t> uses(graph.count());
  for (const Result& result : graph.results) {
    for (const OutputBlock& block : result.blocks) ++uses[block.node.index];
  }
  const std::vector<bool> live = graph.live();
  for (uint32_t i = 0; i < graph.count(); ++i) {
    if (!live[i]) continue;
    for (const NodeId arg : graph[{i}].args) ++uses[arg.index];
  }
  return uses;
}

/// Returns the Fma for a sum or difference whose operand `k` is a product.
Node fused(Graph& graph, const Node& node, size_t k) {
  const Node product = graph[node.args[k]];
  NodeId x = product.args[0], other = node.args[1 - k];
  NodeId& subtracted = k == 0 ? other : x;
  if (node.op == Op::Sub) subtracted = graph.add(Op::Neg, node.dtype, {subtracted});
  return {Op::Fma, node.dtype, 0, {x, product.args[1], other}};
}

}  // namespace

Graph contract(const Graph& graph) {
  const std::vector<uint32_t> uses = uses_of(graph);
  const auto is_contractable = [&](const Node& node) { return is_primitive(node.op) && node.attr == kContractable; };
  // Whether a node is loaded or a number, perhaps cast.
  const auto is_input = [&](NodeId id) {
    while (graph[id].op == Op::Cast) id = graph[id].args[0];
    return graph[id].op == Op::Load || graph[id].op == Op::Gather || graph[id].op == Op::Scalar;
  };
  const auto is_fusible_product = [&](NodeId id) {
    return graph[id].op == Op::Mul && is_contractable(graph[id]) && uses[id.index] == 1;
  };
  return compact(rewrite(graph, [&](Graph& out, NodeId old_id, Node node) {
    if (!is_contractable(node)) return out.add(std::move(node));
    node.attr = 0;
    if (node.op == Op::Mul) return out.add(std::move(node));
    const std::vector<NodeId>& operands = graph[old_id].args;
    for (const size_t k : {0, 1}) {
      if (is_fusible_product(operands[k]) && is_input(operands[1 - k])) return out.add(fused(out, node, k));
    }
    return out.add(std::move(node));
  }));
}

}  // namespace ingot::ir
