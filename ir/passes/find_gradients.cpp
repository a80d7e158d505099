#include <vector>

#include "ir/graph.h"

namespace ingot::ir {

void find_gradients(Graph& graph) {
  std::vector<uint64_t> params_of(graph.count());
  for (uint32_t i = 0; i < graph.count(); ++i) {
    const NodeId id{i};
    const Node& node = graph[id];
    if (category(node.dtype) != Category::Floating) continue;
    if (node.op == Op::Call && graph.callee(id) == kDetach) continue;
    for (const NodeId arg : node.args) params_of[i] |= params_of[arg.index];
    const bool reads = node.op == Op::Load || node.op == Op::Gather;
    if (reads && !graph.reduction_read(id)) params_of[i] |= gradient_bit(graph.access(id).source.index);
  }
  for (Result& result : graph.results) {
    result.gradients = 0;
    if (result.use == Use::Residual || category(result.dtype) != Category::Floating) continue;
    for (const OutputBlock& block : result.blocks) result.gradients |= params_of[block.node.index];
  }
  for (Result& result : graph.results) {
    for (const ScatterAdd& scatter : result.scatters) result.gradients |= graph.results[scatter.values].gradients;
    if (result.addend) result.gradients |= graph.results[*result.addend].gradients;
  }
}

}  // namespace ingot::ir
