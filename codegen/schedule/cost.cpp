#include "codegen/schedule/cost.h"

namespace ingot::codegen {

uint32_t cost_of(ir::Op op, ir::DType work) {
  if (!ir::is_primitive(op)) return 0;
  using enum ir::Op;
  const bool wide = work == ir::DType::F64 || work == ir::DType::I64;
  switch (op) {
    case Div:
    case TruncDivide:
    case Reciprocal:
    case Sqrt:
      return wide ? 8 : 4;
    case FloorDivide:
    case Remainder:
    case Fmod:
      return kTranscendental;
    case Copysign:
      return 1;
    default:
      return ir::info(op).accuracy == ir::Accuracy::Ulp ? (wide ? 2 : 1) * kTranscendental : 1;
  }
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
