#pragma once

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// A node as a function of an index over a shape. The node of a tensor that is broadcast is the same over any shape
/// that it broadcasts to; of derivatives it matters over which one they are taken.
struct IndexedValue {
  ir::NodeId node;
  Shape shape;
};

Tensor tensor_of(Builder& builder, const IndexedValue& field);
/// A tensor as a function of an index over its shape.
IndexedValue indexed_value_of(Builder& builder, const Tensor& tensor);

/// `when` holds: the value, elsewhere 0.
ir::NodeId value_where(Builder& builder, ir::NodeId when, ir::NodeId value);
/// The floating number as a node of a dtype.
ir::NodeId constant_node(Builder& builder, double value, ir::DType dtype);

}  // namespace ingot::frontend
