#pragma once

#include <optional>
#include <span>
#include <vector>

#include "frontend/tensor/builder.h"

// Every value is a function of its index, so a view of a value rewrites the indices of what it is made of, down to the
// loads: (a + b)[..., 0] is a[..., 0] + b[..., 0]. Views cost nothing, copy nothing and leave no node.

namespace ingot::frontend {

/// One coordinate of the old index, as a function of the new index:
///   offset + Σ terms.coef · index[terms.dim],   or the value of `gathered`, wrapped once if negative.
struct AffineExpr {
  ir::HostId offset{};
  std::vector<ir::Term> terms{};
  std::optional<ir::NodeId> gathered{};  ///< an integer node over the new index space
};

struct IndexMap {
  std::vector<AffineExpr> rows;  ///< one for each dim of `from`
  Shape from, to;
};

/// Coordinate d is index d: what a view starts from before it changes some rows.
std::vector<AffineExpr> identity_rows(Builder& builder, size_t rank);

/// The node whose value at an index of the new space is that of `node` at the old one.
ir::NodeId reindex(Builder& builder, ir::NodeId node, const IndexMap& reindexing);

// int64 nodes for the arithmetic of indices; constants and ones fold.

/// The position along dim `dim` of a value of this shape; where the size is 1, and the value may be broadcast, it is 0.
ir::NodeId index_position(Builder& builder, std::span<const ir::HostId> shape, size_t dim);
/// The position among all elements of a value of this shape, counted row by row.
ir::NodeId index_position(Builder& builder, std::span<const ir::HostId> shape);
/// A position along dims that are merged into one, as a position along each of them.
std::vector<ir::NodeId> index_divided(Builder& builder, ir::NodeId position, std::span<const ir::HostId> sizes);
ir::NodeId index_scalar(Builder& builder, ir::HostId value);
ir::NodeId index_binary(Builder& builder, ir::Op op, ir::NodeId a, ir::HostId b);
/// An index, of any integer dtype, counted from the end of `extent` where it is negative; outside where it is too much
/// so.
ir::NodeId wrapped_index(Builder& builder, ir::NodeId index, ir::HostId extent);
/// An index that is too large for any tensor.
ir::NodeId index_outside(Builder& builder);

}  // namespace ingot::frontend
