#pragma once

#include <optional>
#include <span>
#include <string>

#include "frontend/tensor/builder.h"

// Shapes whose sizes are host integers: broadcasting, dims as arguments, and merged dims.

namespace ingot::frontend {

/// Broadcasts two sizes. If it is not known that they match, states the condition; unifies two sizes that cannot be 1.
/// `message` is the condition's, with {0} and {1} for a and b.
ir::HostId broadcast_size(Builder& builder, ir::HostId a, ir::HostId b, const std::string& message);
/// Broadcasts shapes, aligned at their last dims, with PyTorch's message if they do not match.
Shape broadcast_shapes(Builder& builder, std::span<const Shape> shapes);

ir::HostId product(Builder& builder, std::span<const ir::HostId> sizes);
bool same_shape(const Builder& builder, std::span<const ir::HostId> a, std::span<const ir::HostId> b);
/// Whether a size is known to be 1.
bool is_one(const Builder& builder, ir::HostId size);
/// Whether a size is known not to be 1.
bool is_not_one(const Builder& builder, ir::HostId size);

/// The range of inner dims that `groups` merges into dim `dim`.
struct DimRange {
  size_t begin, count;
};
DimRange dims_of(const Reassociation& groups, size_t dim);
/// The two forms of groups that merge nothing: a count of 1 per dim (explicit_groups), or empty (simplified).
Reassociation explicit_groups(const Reassociation& groups, size_t count);
Reassociation simplified(Reassociation groups);
/// The groups that merge the dims of `inner` (over `count` dims) again by `outer`; empty if nothing is merged.
Reassociation compose(const Reassociation& inner, const Reassociation& outer, size_t count);
/// The sizes after merging.
Shape merged(Builder& builder, std::span<const ir::HostId> sizes, const Reassociation& groups);

/// The shape that PyTorch would report.
Shape shape_of(Builder& builder, const Tensor& tensor);

/// Converts a dim counted from either end to an index from the front. Fails with PyTorch's message.
size_t resolve_dim(const Builder& builder, int64_t dim, size_t rank);
size_t resolve_dim(Builder& builder, const Value& dim, size_t rank);
/// Dims given as one number, a tuple or a list; each at most once.
std::vector<size_t> resolve_dims(Builder& builder, const Value& dims, size_t rank);
/// The sizes of a shape argument: a tuple, a list, or *sizes; each a number.
Shape sizes_argument(Builder& builder, const Value& sizes);

/// Specialises a size of at most 16, because a constant index or slice uses it, or a reduction that can be unrolled.
/// For example, the number of coordinates of a box is then known to be 4. A larger size stays a symbol, which is then
/// known to be greater than 16.
void specialize_small(Builder& builder, ir::HostId size);

/// Prints a shape: "[3, x.size(1)]".
std::string print_shape(const Builder& builder, std::span<const ir::HostId> shape);

}  // namespace ingot::frontend
