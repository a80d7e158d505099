#include "codegen/schedule/cost.h"

namespace ingot::codegen {

uint32_t cost_of(ir::Op op, ir::DType work) {
  if (!ir::is_primitive(op)) return 0;
  const uint32_t cost = ir::info(op).cost;
  const bool wide = work == ir::DType::F64 || work == ir::DType::I64;
  return wide && cost > 1 ? 2 * cost : cost;
}

uint32_t cost_of(const ir::Graph& graph, const KernelOutline& kernel) {
  uint32_t sum = 0;
  for (const ir::NodeId id : nodes_of(graph, kernel)) {
    const ir::Node& node = graph[id];
    sum += cost_of(node.op, node.args.empty() ? node.dtype : graph[node.args[0]].dtype);
  }
  return sum;
}

}  // namespace ingot::codegen
