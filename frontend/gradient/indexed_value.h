#pragma once

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// A node as a function of an index over a shape. The node of a broadcast tensor is the same for any shape that it
/// broadcasts to; a derivative depends on the shape over which it is taken.
struct IndexedValue {
  ir::NodeId node;
  Shape shape;
};

/// A tensor of one block.
Tensor tensor_of(Builder& builder, const IndexedValue& value);
/// Converts a tensor to one node over its shape.
IndexedValue indexed_value_of(Builder& builder, const Tensor& tensor);

/// `value` if `condition` is true, else 0.
ir::NodeId value_where(Builder& builder, ir::NodeId condition, ir::NodeId value);
/// A floating-point constant as a node of a dtype.
ir::NodeId constant_node(Builder& builder, double value, ir::DType dtype);

}  // namespace ingot::frontend
