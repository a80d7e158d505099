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

/// The block under a change of its own dims; `rows` has one expression for each of its present dims.
ConcatBlock rebuilt(Builder& builder, const ConcatBlock& block, std::vector<AffineExpr> rows, Shape shape,
                    Reassociation groups, Shape offsets) {
  const IndexMap view{std::move(rows), block.shape, shape};
  const ir::NodeId node = reindex(builder, block.node, view);
  return {node, std::move(shape), simplified(std::move(groups)), std::move(offsets)};
}

/// Expressions that keep the dims before `begin` and the dims from `begin + removed` on, which move behind `added` new
/// dims. The expressions of the removed dims are empty.
std::vector<AffineExpr> rows_around(Builder& builder, size_t rank, size_t begin, size_t removed, size_t added) {
  std::vector<AffineExpr> rows = identity_rows(builder, rank);
  for (size_t d = begin; d < rank; ++d) {
    if (d < begin + removed) {
      rows[d].terms.clear();
    } else {
      rows[d].terms[0].dim = static_cast<uint32_t>(d - removed + added);
    }
  }
  return rows;
}

/// Splits one of the block's own dims into several.
ConcatBlock split_own_dim(Builder& builder, const ConcatBlock& block, size_t own, std::span<const ir::HostId> sizes,
                          Reassociation groups, Shape offsets) {
  std::vector<AffineExpr> rows = rows_around(builder, block.shape.size(), own, 1, sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    rows[own].terms.push_back({static_cast<uint32_t>(own + i), product(builder, sizes.subspan(i + 1))});
  }
  Shape shape = block.shape;
  replace<ir::HostId>(shape, own, 1, sizes);
  return rebuilt(builder, block, std::move(rows), std::move(shape), std::move(groups), std::move(offsets));
}

}  // namespace

Shape extents(Builder& builder, const ConcatBlock& block) { return merged(builder, block.shape, block.groups); }

ConcatBlock permute_block(Builder& builder, const ConcatBlock& block, std::span<const size_t> order) {
  std::vector<AffineExpr> rows = identity_rows(builder, block.shape.size());
  Shape shape, offsets;
  Reassociation groups;
  for (const size_t dim : order) {
    const auto [begin, count] = dims_of(block.groups, dim);
    for (size_t own = begin; own < begin + count; ++own) {
      rows[own].terms[0].dim = static_cast<uint32_t>(shape.size());
      shape.push_back(block.shape[own]);
    }
    groups.push_back(static_cast<uint32_t>(count));
    offsets.push_back(block.offsets[dim]);
  }
  return rebuilt(builder, block, std::move(rows), std::move(shape), std::move(groups), std::move(offsets));
}

ConcatBlock unsqueeze_block(Builder& builder, const ConcatBlock& block, size_t dim) {
  const size_t own = dim < block.offsets.size() ? dims_of(block.groups, dim).begin : block.shape.size();
  Shape shape = block.shape, offsets = block.offsets;
  Reassociation groups = groups_of(block);
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(own), builder.integer(1));
  offsets.insert(offsets.begin() + static_cast<ptrdiff_t>(dim), builder.integer(0));
  groups.insert(groups.begin() + static_cast<ptrdiff_t>(dim), 1);
  return rebuilt(builder, block, rows_around(builder, block.shape.size(), own, 0, 1), std::move(shape),
                 std::move(groups), std::move(offsets));
}

ConcatBlock select_block(Builder& builder, const ConcatBlock& block, size_t dim, ir::HostId index) {
  const auto [begin, count] = dims_of(block.groups, dim);
  std::vector<AffineExpr> rows = rows_around(builder, block.shape.size(), begin, count, 0);
  ir::HostId rest = index;
  for (size_t own = begin + count; own-- > begin;) {
    const bool outermost = own == begin;
    rows[own].offset = outermost ? rest : builder.host(ir::HostOp::Mod, {rest, block.shape[own]});
    if (!outermost) rest = builder.host(ir::HostOp::FloorDiv, {rest, block.shape[own]});
  }
  Shape shape = block.shape, offsets = block.offsets;
  Reassociation groups = groups_of(block);
  replace<ir::HostId>(shape, begin, count, {});
  offsets.erase(offsets.begin() + static_cast<ptrdiff_t>(dim));
  groups.erase(groups.begin() + static_cast<ptrdiff_t>(dim));
  return rebuilt(builder, block, std::move(rows), std::move(shape), std::move(groups), std::move(offsets));
}

ConcatBlock slice_block(Builder& builder, const ConcatBlock& block, size_t dim, ir::HostId start, ir::HostId length,
                        int64_t step) {
  const auto [begin, count] = dims_of(block.groups, dim);
  const ir::HostPool& host = builder.graph.host;
  if (step == 1 && host.is_int(start, 0) && host.same(length, extents(builder, block)[dim])) return block;
  if (count != 1) return slice_block(builder, linearise_block(builder, block, dim), dim, start, length, step);
  std::vector<AffineExpr> rows = identity_rows(builder, block.shape.size());
  rows[begin].offset = start;
  rows[begin].terms[0].coef = builder.integer(step);
  Shape shape = block.shape;
  shape[begin] = length;
  return rebuilt(builder, block, std::move(rows), std::move(shape), groups_of(block), block.offsets);
}

ConcatBlock unfold_block(Builder& builder, const ConcatBlock& block, size_t dim, ir::HostId count, ir::HostId size,
                         int64_t step) {
  const ConcatBlock plain = linearise_block(builder, block, dim);
  const size_t own = dims_of(plain.groups, dim).begin;
  std::vector<AffineExpr> rows = identity_rows(builder, plain.shape.size());
  rows[own].terms[0].coef = builder.integer(step);
  rows[own].terms.push_back({static_cast<uint32_t>(plain.shape.size()), builder.integer(1)});
  Shape shape = plain.shape, offsets = plain.offsets;
  Reassociation groups = groups_of(plain);
  shape[own] = count;
  shape.push_back(size);
  groups.push_back(1);
  offsets.push_back(builder.integer(0));
  return rebuilt(builder, plain, std::move(rows), std::move(shape), std::move(groups), std::move(offsets));
}

ConcatBlock diagonal_block(Builder& builder, const ConcatBlock& block, std::array<size_t, 2> dims,
                           std::array<ir::HostId, 2> starts, ir::HostId length) {
  const ConcatBlock plain = linearise_block(builder, linearise_block(builder, block, dims[0]), dims[1]);
  std::array<size_t, 2> own;
  for (size_t k = 0; k < 2; ++k) own[k] = dims_of(plain.groups, dims[k]).begin;
  std::vector<AffineExpr> rows(plain.shape.size());
  Shape shape, offsets;
  Reassociation groups;
  for (size_t d = 0; d < rows.size(); ++d) {
    if (d == own[0] || d == own[1]) continue;
    rows[d] = {builder.integer(0), {{static_cast<uint32_t>(shape.size()), builder.integer(1)}}, std::nullopt};
    shape.push_back(plain.shape[d]);
  }
  for (size_t k = 0; k < 2; ++k) {
    rows[own[k]] = {starts[k], {{static_cast<uint32_t>(shape.size()), builder.integer(1)}}, std::nullopt};
  }
  for (size_t d = 0; d < plain.offsets.size(); ++d) {
    if (d == dims[0] || d == dims[1]) continue;
    groups.push_back(static_cast<uint32_t>(dims_of(plain.groups, d).count));
    offsets.push_back(plain.offsets[d]);
  }
  shape.push_back(length);
  groups.push_back(1);
  offsets.push_back(builder.integer(0));
  return rebuilt(builder, plain, std::move(rows), std::move(shape), std::move(groups), std::move(offsets));
}

ConcatBlock flip_block(Builder& builder, const ConcatBlock& block, size_t dim) {
  const auto [begin, count] = dims_of(block.groups, dim);
  std::vector<AffineExpr> rows = identity_rows(builder, block.shape.size());
  for (size_t own = begin; own < begin + count; ++own) {
    rows[own].offset = builder.sub(block.shape[own], builder.integer(1));
    rows[own].terms[0].coef = builder.integer(-1);
  }
  return rebuilt(builder, block, std::move(rows), block.shape, groups_of(block), block.offsets);
}

ConcatBlock unflatten_block(Builder& builder, const ConcatBlock& block, size_t dim, std::span<const ir::HostId> sizes) {
  const ConcatBlock fine = refine_block(builder, block, dim, sizes);
  ConcatBlock result = fine;
  result.groups = groups_of(fine);
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
  return split_own_dim(builder, block, begin, sizes, std::move(groups), block.offsets);
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

  std::vector<AffineExpr> rows = rows_around(builder, block.shape.size(), begin, count, 1);
  const auto positions = index_divided(builder, index_position(builder, shape, begin), merged_sizes);
  for (size_t i = 0; i < count; ++i) rows[begin + i].gathered = positions[i];
  return rebuilt(builder, block, std::move(rows), std::move(shape), std::move(groups), block.offsets);
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
