#include "frontend/gradient/field.h"

#include "frontend/tensor/choice.h"
#include "frontend/tensor/tensors.h"

namespace ingot::frontend {

Tensor tensor_of(Builder& builder, const Field& field) {
  return whole(builder, field.node, builder.graph[field.node].dtype, field.shape);
}

Field field_of(Builder& builder, const Tensor& tensor) {
  const bool is_plain = tensor.tiles.size() == 1 && tensor.groups.empty() && tensor.tiles[0].groups.empty();
  const Tensor one = is_plain ? tensor : as_one_tile(builder, tensor);
  return {one.tiles[0].node, one.tiles[0].shape};
}

ir::NodeId value_where(Builder& builder, ir::NodeId when, ir::NodeId value) {
  const ir::DType dtype = builder.graph[value].dtype;
  return builder.graph.add(ir::Op::Where, dtype, {when, value, constant_node(builder, 0.0, dtype)});
}

ir::NodeId constant_node(Builder& builder, double value, ir::DType dtype) {
  return builder.graph.scalar(dtype, builder.graph.host.real(value));
}

}  // namespace ingot::frontend
