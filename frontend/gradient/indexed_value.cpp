#include "frontend/gradient/indexed_value.h"

#include "frontend/tensor/concat_blocks.h"
#include "frontend/tensor/materialize_concat.h"
#include "frontend/tensor/tensors.h"

namespace ingot::frontend {

Tensor tensor_of(Builder& builder, const IndexedValue& value) {
  return whole(builder, value.node, builder.graph[value.node].dtype, value.shape);
}

IndexedValue indexed_value_of(Builder& builder, const Tensor& tensor) {
  ConcatBlock block = materialize_concat(builder, tensor).blocks[0];
  for (size_t dim = 0; dim < tensor.rank(); ++dim) block = linearise_block(builder, block, dim);
  if (block.shape.size() != tensor.rank()) throw_internal("a node over other dims than its tensor's");
  return {block.node, block.shape};
}

ir::NodeId value_where(Builder& builder, ir::NodeId condition, ir::NodeId value) {
  const ir::DType dtype = builder.graph[value].dtype;
  return builder.graph.add(ir::Op::Where, dtype, {condition, value, constant_node(builder, 0.0, dtype)});
}

ir::NodeId constant_node(Builder& builder, double value, ir::DType dtype) {
  return builder.graph.scalar(dtype, builder.graph.host.real(value));
}

}  // namespace ingot::frontend
