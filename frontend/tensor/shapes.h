#pragma once

#include <optional>
#include <span>
#include <string>

#include "frontend/tensor/builder.h"

// Shapes whose sizes are host integers: broadcasting, dims as authors count them, and merged dims.

namespace ingot::frontend {

/// What two sizes broadcast to. States the condition that they do, where it is not known; two sizes that cannot be 1
/// become one symbol. `message` is that of the condition, with {0} and {1} for a and b.
ir::HostId broadcast_size(Builder& builder, ir::HostId a, ir::HostId b, const std::string& message);
/// What shapes broadcast to, aligned at their last dims, with PyTorch's message where they do not.
Shape broadcast_shapes(Builder& builder, std::span<const Shape> shapes);

ir::HostId product(Builder& builder, std::span<const ir::HostId> sizes);
bool same_shape(const Builder& builder, std::span<const ir::HostId> a, std::span<const ir::HostId> b);
bool is_one(const Builder& builder, ir::HostId size);
/// Whether a size is known not to be 1.
bool not_one(const Builder& builder, ir::HostId size);

/// The range of inner dims that `groups` merges into dim `dim`.
struct DimRange {
  size_t begin, count;
};
DimRange dims_of(const Reassociation& groups, size_t dim);
/// One count a dim, also where nothing is merged, and none where every count is 1.
Reassociation explicit_groups(const Reassociation& groups, size_t count);
Reassociation simplified(Reassociation groups);
/// The groups that merge the dims of `inner` (over `count` dims) again by `outer`; empty where nothing is merged.
Reassociation compose(const Reassociation& inner, const Reassociation& outer, size_t count);
/// The sizes after merging.
Shape merged(Builder& builder, std::span<const ir::HostId> sizes, const Reassociation& groups);

/// The shape that PyTorch would show.
Shape shape_of(Builder& builder, const Tensor& tensor);

/// A dim counted from either end, as its index from the front. Fails in PyTorch's words.
size_t resolve_dim(const Builder& builder, int64_t dim, size_t rank);
size_t resolve_dim(Builder& builder, const Value& dim, size_t rank);
/// Dims given as one number, a tuple or a list; each at most once.
std::vector<size_t> resolve_dims(Builder& builder, const Value& dims, size_t rank);
/// The sizes of a shape argument: a tuple, a list, or *sizes; each a number.
Shape sizes_argument(Builder& builder, const Value& sizes);

/// Asks for a size up to 16 to be static: a constant index or slice touches it, so that a box's corners are known to be
/// four. A size that is not small stays a symbol, which from then on is known to be more than 16.
void specialize_small(Builder& builder, ir::HostId size);

/// "[3, x.size(1)]".
std::string print_shape(const Builder& builder, std::span<const ir::HostId> shape);

}  // namespace ingot::frontend
