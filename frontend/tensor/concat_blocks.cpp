#include "frontend/tensor/concat_blocks.h"

#include <numeric>

namespace ingot::frontend {
namespace {

Reassociation groups_of(const ConcatBlock& block) { return explicit_groups(block.groups, block.offsets.size()); }

template <typename T>
void replace(std::vector<T>& items, size_t begin, size_t count, std::span<const T> with) {
  items.erase(items.begin() + static_cast<ptrdiff_t>(begin), items.begin() + static_cast<ptrdiff_t>(begin + count));
  items.insert(items.begin() + static_cast<ptrdiff_t>(begin), with.begin(), with.end());
}

/// The block with other dims: `shape`, `groups` and `offsets` are those of the result. `exprs` has one expression for
/// each dim of `block`, over the dims of the result.
ConcatBlock rebuilt(Builder& builder, const ConcatBlock& block, std::vector<AffineExpr> exprs, Shape shape,
                    Reassociation groups, Shape offsets) {
  const IndexMap view{std::move(exprs), block.shape, shape};
  const ir::NodeId node = reindex(builder, block.node, view);
  return {node, std::move(shape), simplified(std::move(groups)), std::move(offsets)};
}

/// Expressions that keep the dims before `begin` and the dims from `begin + removed` on, which move behind `added` new
/// dims. The expressions of the removed dims are empty.
std::vector<AffineExpr> exprs_around(Builder& builder, size_t rank, size_t begin, size_t removed, size_t added) {
  std::vector<AffineExpr> exprs = identity_exprs(builder, rank);
  for (size_t d = begin; d < rank; ++d) {
    if (d < begin + removed) {
      exprs[d].terms.clear();
    } else {
      exprs[d].terms[0].dim = static_cast<uint32_t>(d - removed + added);
    }
  }
  return exprs;
}

/// Splits one of the block's dims (not a dim of the grid) into several.
ConcatBlock split_block_dim(Builder& builder, const ConcatBlock& block, size_t block_dim,
                            std::span<const ir::HostId> sizes, Reassociation groups, Shape offsets) {
  std::vector<AffineExpr> exprs = exprs_around(builder, block.shape.size(), block_dim, 1, sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    exprs[block_dim].terms.push_back({static_cast<uint32_t>(block_dim + i), product(builder, sizes.subspan(i + 1))});
  }
  Shape shape = block.shape;
  replace<ir::HostId>(shape, block_dim, 1, sizes);
  return rebuilt(builder, block, std::move(exprs), std::move(shape), std::move(groups), std::move(offsets));
}

}  // namespace

Shape extents(Builder& builder, const ConcatBlock& block) { return merged(builder, block.shape, block.groups); }

ConcatBlock permute_block(Builder& builder, const ConcatBlock& block, std::span<const size_t> order) {
  std::vector<AffineExpr> exprs = identity_exprs(builder, block.shape.size());
  Shape shape, offsets;
  Reassociation groups;
  for (const size_t dim : order) {
    const auto [begin, count] = dims_of(block.groups, dim);
    for (size_t block_dim = begin; block_dim < begin + count; ++block_dim) {
      exprs[block_dim].terms[0].dim = static_cast<uint32_t>(shape.size());
      shape.push_back(block.shape[block_dim]);
    }
    groups.push_back(static_cast<uint32_t>(count));
    offsets.push_back(block.offsets[dim]);
  }
  return rebuilt(builder, block, std::move(exprs), std::move(shape), std::move(groups), std::move(offsets));
}

ConcatBlock unsqueeze_block(Builder& builder, const ConcatBlock& block, size_t dim) {
  const size_t block_dim = dim < block.offsets.size() ? dims_of(block.groups, dim).begin : block.shape.size();
  Shape shape = block.shape, offsets = block.offsets;
  Reassociation groups = groups_of(block);
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(block_dim), builder.integer(1));
  offsets.insert(offsets.begin() + static_cast<ptrdiff_t>(dim), builder.integer(0));
  groups.insert(groups.begin() + static_cast<ptrdiff_t>(dim), 1);
  return rebuilt(builder, block, exprs_around(builder, block.shape.size(), block_dim, 0, 1), std::move(shape),
                 std::move(groups), std::move(offsets));
}

ConcatBlock select_block(Builder& builder, const ConcatBlock& block, size_t dim, ir::HostId index) {
  const auto [begin, count] = dims_of(block.groups, dim);
  std::vector<AffineExpr> exprs = exprs_around(builder, block.shape.size(), begin, count, 0);
  ir::HostId rest = index;
  for (size_t block_dim = begin + count; block_dim-- > begin;) {
    const bool is_outermost = block_dim == begin;
    exprs[block_dim].offset = is_outermost ? rest : builder.host(ir::HostOp::Mod, {rest, block.shape[block_dim]});
    if (!is_outermost) rest = builder.host(ir::HostOp::FloorDiv, {rest, block.shape[block_dim]});
  }
  Shape shape = block.shape, offsets = block.offsets;
  Reassociation groups = groups_of(block);
  replace<ir::HostId>(shape, begin, count, {});
  offsets.erase(offsets.begin() + static_cast<ptrdiff_t>(dim));
  groups.erase(groups.begin() + static_cast<ptrdiff_t>(dim));
  return rebuilt(builder, block, std::move(exprs), std::move(shape), std::move(groups), std::move(offsets));
}

ConcatBlock slice_block(Builder& builder, const ConcatBlock& block, size_t dim, ir::HostId start, ir::HostId length,
                        int64_t step) {
  const auto [begin, count] = dims_of(block.groups, dim);
  const ir::HostPool& host = builder.graph.host;
  if (step == 1 && host.is_int(start, 0) && host.same(length, extents(builder, block)[dim])) return block;
  if (count != 1) return slice_block(builder, linearise_block(builder, block, dim), dim, start, length, step);
  std::vector<AffineExpr> exprs = identity_exprs(builder, block.shape.size());
  exprs[begin].offset = start;
  exprs[begin].terms[0].coef = builder.integer(step);
  Shape shape = block.shape;
  shape[begin] = length;
  return rebuilt(builder, block, std::move(exprs), std::move(shape), groups_of(block), block.offsets);
}

ConcatBlock unfold_block(Builder& builder, const ConcatBlock& block, size_t dim, ir::HostId count, ir::HostId size,
                         int64_t step) {
  const ConcatBlock linear = linearise_block(builder, block, dim);
  const size_t block_dim = dims_of(linear.groups, dim).begin;
  std::vector<AffineExpr> exprs = identity_exprs(builder, linear.shape.size());
  exprs[block_dim].terms[0].coef = builder.integer(step);
  exprs[block_dim].terms.push_back({static_cast<uint32_t>(linear.shape.size()), builder.integer(1)});
  Shape shape = linear.shape, offsets = linear.offsets;
  Reassociation groups = groups_of(linear);
  shape[block_dim] = count;
  shape.push_back(size);
  groups.push_back(1);
  offsets.push_back(builder.integer(0));
  return rebuilt(builder, linear, std::move(exprs), std::move(shape), std::move(groups), std::move(offsets));
}

ConcatBlock diagonal_block(Builder& builder, const ConcatBlock& block, std::array<size_t, 2> dims,
                           std::array<ir::HostId, 2> starts, ir::HostId length) {
  const ConcatBlock linear = linearise_block(builder, linearise_block(builder, block, dims[0]), dims[1]);
  std::array<size_t, 2> block_dims;
  for (size_t k = 0; k < 2; ++k) block_dims[k] = dims_of(linear.groups, dims[k]).begin;
  std::vector<AffineExpr> exprs(linear.shape.size());
  Shape shape, offsets;
  Reassociation groups;
  for (size_t d = 0; d < exprs.size(); ++d) {
    if (d == block_dims[0] || d == block_dims[1]) continue;
    exprs[d] = {builder.integer(0), {{static_cast<uint32_t>(shape.size()), builder.integer(1)}}, std::nullopt};
    shape.push_back(linear.shape[d]);
  }
  for (size_t k = 0; k < 2; ++k) {
    exprs[block_dims[k]] = {starts[k], {{static_cast<uint32_t>(shape.size()), builder.integer(1)}}, std::nullopt};
  }
  for (size_t d = 0; d < linear.offsets.size(); ++d) {
    if (d == dims[0] || d == dims[1]) continue;
    groups.push_back(static_cast<uint32_t>(dims_of(linear.groups, d).count));
    offsets.push_back(linear.offsets[d]);
  }
  shape.push_back(length);
  groups.push_back(1);
  offsets.push_back(builder.integer(0));
  return rebuilt(builder, linear, std::move(exprs), std::move(shape), std::move(groups), std::move(offsets));
}

ConcatBlock flip_block(Builder& builder, const ConcatBlock& block, size_t dim) {
  const auto [begin, count] = dims_of(block.groups, dim);
  std::vector<AffineExpr> exprs = identity_exprs(builder, block.shape.size());
  for (size_t block_dim = begin; block_dim < begin + count; ++block_dim) {
    exprs[block_dim].offset = builder.sub(block.shape[block_dim], builder.integer(1));
    exprs[block_dim].terms[0].coef = builder.integer(-1);
  }
  return rebuilt(builder, block, std::move(exprs), block.shape, groups_of(block), block.offsets);
}

ConcatBlock unflatten_block(Builder& builder, const ConcatBlock& block, size_t dim, std::span<const ir::HostId> sizes) {
  const ConcatBlock refined = refine_block(builder, block, dim, sizes);
  ConcatBlock result = refined;
  result.groups = groups_of(refined);
  const Reassociation ones(sizes.size(), 1);
  replace<uint32_t>(result.groups, dim, 1, ones);
  result.groups = simplified(std::move(result.groups));
  const Shape zeros(sizes.size(), builder.integer(0));
  replace<ir::HostId>(result.offsets, dim, 1, zeros);
  return result;
}

ConcatBlock refine_block(Builder& builder, const ConcatBlock& block, size_t dim, std::span<const ir::HostId> sizes) {
  const auto [begin, count] = dims_of(block.groups, dim);
  if (same_shape(builder, std::span(block.shape).subspan(begin, count), sizes)) return block;
  if (count != 1) return refine_block(builder, linearise_block(builder, block, dim), dim, sizes);
  Reassociation groups = groups_of(block);
  groups[dim] = static_cast<uint32_t>(sizes.size());
  return split_block_dim(builder, block, begin, sizes, std::move(groups), block.offsets);
}

ConcatBlock flatten_block(Builder& builder, const ConcatBlock& block, size_t dim, size_t count) {
  ConcatBlock result = block;
  const Reassociation groups = groups_of(block);
  const std::span<const uint32_t> joined = std::span(groups).subspan(dim, count);
  const uint32_t total = std::accumulate(joined.begin(), joined.end(), 0u);
  result.groups = groups;
  replace<uint32_t>(result.groups, dim, count, std::span(&total, 1));
  result.groups = simplified(std::move(result.groups));
  const Shape sizes = extents(builder, block);
  const ir::HostId inner = product(builder, std::span(sizes).subspan(dim + 1, count - 1));
  const ir::HostId offset = builder.mul(block.offsets[dim], inner);
  replace<ir::HostId>(result.offsets, dim, count, std::span(&offset, 1));
  return result;
}

ConcatBlock linearise_block(Builder& builder, const ConcatBlock& block, size_t dim) {
  const auto [begin, count] = dims_of(block.groups, dim);
  if (count == 1) return block;
  const std::span<const ir::HostId> merged_sizes = std::span(block.shape).subspan(begin, count);
  const ir::HostId size = product(builder, merged_sizes);
  Shape shape = block.shape;
  replace<ir::HostId>(shape, begin, count, std::span(&size, 1));
  Reassociation groups = groups_of(block);
  groups[dim] = 1;

  std::vector<AffineExpr> exprs = exprs_around(builder, block.shape.size(), begin, count, 1);
  const auto positions = split_position(builder, index_position(builder, shape, begin), merged_sizes);
  for (size_t i = 0; i < count; ++i) exprs[begin + i].gathered = positions[i];
  return rebuilt(builder, block, std::move(exprs), std::move(shape), std::move(groups), block.offsets);
}

ConcatBlock expand_block(Builder& builder, const ConcatBlock& block, std::span<const ir::HostId> sizes) {
  ConcatBlock result = block;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    const auto [begin, count] = dims_of(result.groups, dim);
    if (count == 1) {
      result.shape[begin] = sizes[dim];
      continue;
    }
    const ir::HostId size = product(builder, std::span(result.shape).subspan(begin, count));
    if (builder.graph.host.same(size, sizes[dim])) continue;
    result = linearise_block(builder, result, dim);
    result.shape[begin] = sizes[dim];
  }
  return result;
}

}  // namespace ingot::frontend
