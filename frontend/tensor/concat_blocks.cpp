#include "frontend/tensor/concat_blocks.h"

#include <numeric>

namespace ingot::frontend {
namespace {

Groups groups_of(const Tile& tile) { return explicit_groups(tile.groups, tile.offsets.size()); }

template <typename T>
void replace(std::vector<T>& items, size_t begin, size_t count, std::span<const T> with) {
  items.erase(items.begin() + static_cast<ptrdiff_t>(begin), items.begin() + static_cast<ptrdiff_t>(begin + count));
  items.insert(items.begin() + static_cast<ptrdiff_t>(begin), with.begin(), with.end());
}

/// The tile under a change of its own dims: `rows` one for each of its present dims.
Tile rebuilt(Builder& builder, const Tile& tile, std::vector<Row> rows, Shape shape, Groups groups, Shape offsets) {
  const Reindexing view{std::move(rows), tile.shape, shape};
  const ir::NodeId node = reindex(builder, tile.node, view);
  return {node, std::move(shape), simplified(std::move(groups)), std::move(offsets)};
}

/// Rows that keep the dims before `begin` and those from `begin + removed` on, the latter moved behind `added` new
/// dims; the rows between are left empty.
std::vector<Row> rows_around(Builder& builder, size_t rank, size_t begin, size_t removed, size_t added) {
  std::vector<Row> rows = identity_rows(builder, rank);
  for (size_t d = begin; d < rank; ++d) {
    if (d < begin + removed) {
      rows[d].terms.clear();
    } else {
      rows[d].terms[0].dim = static_cast<uint32_t>(d - removed + added);
    }
  }
  return rows;
}

/// One dim of the tile's own as several.
Tile split_own_dim(Builder& builder, const Tile& tile, size_t own, std::span<const ir::HostId> sizes, Groups groups,
                   Shape offsets) {
  std::vector<Row> rows = rows_around(builder, tile.shape.size(), own, 1, sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    rows[own].terms.push_back({static_cast<uint32_t>(own + i), product(builder, sizes.subspan(i + 1))});
  }
  Shape shape = tile.shape;
  replace<ir::HostId>(shape, own, 1, sizes);
  return rebuilt(builder, tile, std::move(rows), std::move(shape), std::move(groups), std::move(offsets));
}

}  // namespace

Shape extents(Builder& builder, const Tile& tile) { return merged(builder, tile.shape, tile.groups); }

Tile permute_tile(Builder& builder, const Tile& tile, std::span<const size_t> order) {
  std::vector<Row> rows = identity_rows(builder, tile.shape.size());
  Shape shape, offsets;
  Groups groups;
  for (const size_t dim : order) {
    const auto [begin, count] = dims_of(tile.groups, dim);
    for (size_t own = begin; own < begin + count; ++own) {
      rows[own].terms[0].dim = static_cast<uint32_t>(shape.size());
      shape.push_back(tile.shape[own]);
    }
    groups.push_back(static_cast<uint32_t>(count));
    offsets.push_back(tile.offsets[dim]);
  }
  return rebuilt(builder, tile, std::move(rows), std::move(shape), std::move(groups), std::move(offsets));
}

Tile unsqueeze_tile(Builder& builder, const Tile& tile, size_t dim) {
  const size_t own = dim < tile.offsets.size() ? dims_of(tile.groups, dim).begin : tile.shape.size();
  Shape shape = tile.shape, offsets = tile.offsets;
  Groups groups = groups_of(tile);
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(own), builder.integer(1));
  offsets.insert(offsets.begin() + static_cast<ptrdiff_t>(dim), builder.integer(0));
  groups.insert(groups.begin() + static_cast<ptrdiff_t>(dim), 1);
  return rebuilt(builder, tile, rows_around(builder, tile.shape.size(), own, 0, 1), std::move(shape), std::move(groups),
                 std::move(offsets));
}

Tile select_tile(Builder& builder, const Tile& tile, size_t dim, ir::HostId index) {
  const auto [begin, count] = dims_of(tile.groups, dim);
  std::vector<Row> rows = rows_around(builder, tile.shape.size(), begin, count, 0);
  ir::HostId rest = index;
  for (size_t own = begin + count; own-- > begin;) {
    const bool outermost = own == begin;
    rows[own].offset = outermost ? rest : builder.host(ir::HostOp::Mod, {rest, tile.shape[own]});
    if (!outermost) rest = builder.host(ir::HostOp::FloorDiv, {rest, tile.shape[own]});
  }
  Shape shape = tile.shape, offsets = tile.offsets;
  Groups groups = groups_of(tile);
  replace<ir::HostId>(shape, begin, count, {});
  offsets.erase(offsets.begin() + static_cast<ptrdiff_t>(dim));
  groups.erase(groups.begin() + static_cast<ptrdiff_t>(dim));
  return rebuilt(builder, tile, std::move(rows), std::move(shape), std::move(groups), std::move(offsets));
}

Tile slice_tile(Builder& builder, const Tile& tile, size_t dim, ir::HostId start, ir::HostId length, int64_t step) {
  const auto [begin, count] = dims_of(tile.groups, dim);
  const ir::HostPool& host = builder.graph.host;
  if (step == 1 && host.is_int(start, 0) && host.same(length, extents(builder, tile)[dim])) return tile;
  if (count != 1) return slice_tile(builder, linearise_tile(builder, tile, dim), dim, start, length, step);
  std::vector<Row> rows = identity_rows(builder, tile.shape.size());
  rows[begin].offset = start;
  rows[begin].terms[0].coef = builder.integer(step);
  Shape shape = tile.shape;
  shape[begin] = length;
  return rebuilt(builder, tile, std::move(rows), std::move(shape), groups_of(tile), tile.offsets);
}

Tile unfold_tile(Builder& builder, const Tile& tile, size_t dim, ir::HostId count, ir::HostId size, int64_t step) {
  const Tile plain = linearise_tile(builder, tile, dim);
  const size_t own = dims_of(plain.groups, dim).begin;
  std::vector<Row> rows = identity_rows(builder, plain.shape.size());
  rows[own].terms[0].coef = builder.integer(step);
  rows[own].terms.push_back({static_cast<uint32_t>(plain.shape.size()), builder.integer(1)});
  Shape shape = plain.shape, offsets = plain.offsets;
  Groups groups = groups_of(plain);
  shape[own] = count;
  shape.push_back(size);
  groups.push_back(1);
  offsets.push_back(builder.integer(0));
  return rebuilt(builder, plain, std::move(rows), std::move(shape), std::move(groups), std::move(offsets));
}

Tile diagonal_tile(Builder& builder, const Tile& tile, std::array<size_t, 2> dims, std::array<ir::HostId, 2> starts,
                   ir::HostId length) {
  const Tile plain = linearise_tile(builder, linearise_tile(builder, tile, dims[0]), dims[1]);
  std::array<size_t, 2> own;
  for (size_t k = 0; k < 2; ++k) own[k] = dims_of(plain.groups, dims[k]).begin;
  std::vector<Row> rows(plain.shape.size());
  Shape shape, offsets;
  Groups groups;
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

Tile flip_tile(Builder& builder, const Tile& tile, size_t dim) {
  const auto [begin, count] = dims_of(tile.groups, dim);
  std::vector<Row> rows = identity_rows(builder, tile.shape.size());
  for (size_t own = begin; own < begin + count; ++own) {
    rows[own].offset = builder.sub(tile.shape[own], builder.integer(1));
    rows[own].terms[0].coef = builder.integer(-1);
  }
  return rebuilt(builder, tile, std::move(rows), tile.shape, groups_of(tile), tile.offsets);
}

Tile unflatten_tile(Builder& builder, const Tile& tile, size_t dim, std::span<const ir::HostId> sizes) {
  const Tile fine = refine_tile(builder, tile, dim, sizes);
  Tile result = fine;
  result.groups = groups_of(fine);
  const Groups ones(sizes.size(), 1);
  replace<uint32_t>(result.groups, dim, 1, ones);
  result.groups = simplified(std::move(result.groups));
  const Shape zeros(sizes.size(), builder.integer(0));
  replace<ir::HostId>(result.offsets, dim, 1, zeros);
  return result;
}

Tile refine_tile(Builder& builder, const Tile& tile, size_t dim, std::span<const ir::HostId> sizes) {
  const auto [begin, count] = dims_of(tile.groups, dim);
  if (same_shape(builder, std::span(tile.shape).subspan(begin, count), sizes)) return tile;
  if (count != 1) return refine_tile(builder, linearise_tile(builder, tile, dim), dim, sizes);
  Groups groups = groups_of(tile);
  groups[dim] = static_cast<uint32_t>(sizes.size());
  return split_own_dim(builder, tile, begin, sizes, std::move(groups), tile.offsets);
}

Tile flatten_tile(Builder& builder, const Tile& tile, size_t dim, size_t count) {
  Tile result = tile;
  const Groups groups = groups_of(tile);
  const std::span<const uint32_t> joined = std::span(groups).subspan(dim, count);
  const uint32_t total = std::accumulate(joined.begin(), joined.end(), 0u);
  result.groups = groups;
  replace<uint32_t>(result.groups, dim, count, std::span(&total, 1));
  result.groups = simplified(std::move(result.groups));
  const Shape sizes = extents(builder, tile);
  const ir::HostId inner = product(builder, std::span(sizes).subspan(dim + 1, count - 1));
  const ir::HostId offset = builder.mul(tile.offsets[dim], inner);
  replace<ir::HostId>(result.offsets, dim, count, std::span(&offset, 1));
  return result;
}

Tile linearise_tile(Builder& builder, const Tile& tile, size_t dim) {
  const auto [begin, count] = dims_of(tile.groups, dim);
  if (count == 1) return tile;
  const std::span<const ir::HostId> merged_sizes = std::span(tile.shape).subspan(begin, count);
  const ir::HostId size = product(builder, merged_sizes);
  Shape shape = tile.shape;
  replace<ir::HostId>(shape, begin, count, std::span(&size, 1));
  Groups groups = groups_of(tile);
  groups[dim] = 1;

  std::vector<Row> rows = rows_around(builder, tile.shape.size(), begin, count, 1);
  const auto positions = index_divided(builder, index_position(builder, shape, begin), merged_sizes);
  for (size_t i = 0; i < count; ++i) rows[begin + i].gathered = positions[i];
  return rebuilt(builder, tile, std::move(rows), std::move(shape), std::move(groups), tile.offsets);
}

Tile expand_tile(Builder& builder, const Tile& tile, std::span<const ir::HostId> sizes) {
  Tile result = tile;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    const auto [begin, count] = dims_of(result.groups, dim);
    if (count == 1) {
      result.shape[begin] = sizes[dim];
      continue;
    }
    const ir::HostId size = product(builder, std::span(result.shape).subspan(begin, count));
    if (builder.graph.host.same(size, sizes[dim])) continue;
    result = linearise_tile(builder, result, dim);
    result.shape[begin] = sizes[dim];
  }
  return result;
}

}  // namespace ingot::frontend
