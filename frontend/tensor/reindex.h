#pragma once

#include <optional>
#include <span>
#include <vector>

#include "frontend/tensor/builder.h"

// Every value is a function of its index. A view of a value therefore rewrites the indices of all nodes on which the
// value depends, down to the loads: (a + b)[..., 0] is a[..., 0] + b[..., 0]. Views cost nothing, copy nothing and
// leave no node.

namespace ingot::frontend {

/// One coordinate of the old index, as a function of the new index:
///   offset + Σ terms.coef · index[terms.dim],   or the value of `gathered`, wrapped once if negative.
struct AffineExpr {
  ir::HostId offset{};
  std::vector<ir::Term> terms{};
  std::optional<ir::NodeId> gathered{};  ///< an integer node over the new index space
};

/// Maps an index of a new space to an index of the old one.
struct IndexMap {
  std::vector<AffineExpr> exprs;  ///< one per dim of the old index
  Shape old_shape, new_shape;
};

/// Identity expressions (coordinate d is index d), of which a view changes some.
std::vector<AffineExpr> identity_exprs(Builder& builder, size_t rank);

/// The node whose value at an index of the new space is the value of `node` at the old index.
ir::NodeId reindex(Builder& builder, ir::NodeId node, const IndexMap& map);

// int64 nodes for index arithmetic. Adding 0, and multiplying or dividing by 1, makes no node.

/// The position along dim `dim` of a value of this shape; 0 if the size is 1, because the value may be broadcast along
/// the dim.
ir::NodeId index_position(Builder& builder, std::span<const ir::HostId> shape, size_t dim);
/// The row-major position among all elements of a value of this shape.
ir::NodeId index_position(Builder& builder, std::span<const ir::HostId> shape);
/// Splits a position along merged dims into a position along each of them.
std::vector<ir::NodeId> split_position(Builder& builder, ir::NodeId position, std::span<const ir::HostId> sizes);
ir::NodeId index_scalar(Builder& builder, ir::HostId value);
ir::NodeId index_binary(Builder& builder, ir::Op op, ir::NodeId a, ir::HostId b);
/// Wraps an index of any integer dtype: a negative one counts from the end of `extent`. One below -extent becomes out
/// of range.
ir::NodeId wrapped_index(Builder& builder, ir::NodeId index, ir::HostId extent);
/// An index that is too large for any tensor.
ir::NodeId index_outside(Builder& builder);

}  // namespace ingot::frontend
