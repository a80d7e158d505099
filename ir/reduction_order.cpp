#include "ir/reduction_order.h"

namespace ingot::ir {

bool is_sum_of_products(const Graph& graph, NodeId reduction) {
  const DType dtype = graph[reduction].dtype;
  const Node& operand = graph[graph[reduction].args[0]];
  return graph.reduction(reduction).kind == ReduceKind::Sum && is_floating(dtype) && operand.op == Op::Mul &&
         operand.dtype == dtype;
}

}  // namespace ingot::ir
