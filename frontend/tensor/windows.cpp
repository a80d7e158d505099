#include "frontend/tensor/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "frontend/tensor/layouts.h"
#include "frontend/tensor/materialize_concat.h"
#include "frontend/tensor/tensors.h"
#include "frontend/tensor/views.h"

namespace ingot::frontend {
namespace {

using Kind = ir::Condition::Kind;

/// Windows across the blocks of a cat: for each position in a window, the elements at that position, concatenated.
Tensor windows_across_parts(Builder& builder, const Tensor& x, size_t dim, ir::HostId count, ir::HostId size,
                            int64_t step) {
  std::vector<Tensor> columns;
  const int64_t width = builder.static_number(size).as_int();
  for (int64_t k = 0; k < std::max<int64_t>(width, 1); ++k) {
    columns.push_back(unsqueezed(builder, sliced(builder, x, dim, builder.integer(k), count, step), x.rank()));
  }
  if (width == 0) return sliced(builder, columns.front(), x.rank(), size, size, 1);
  return concatenated(builder, columns, x.rank());
}

bool is_merged(const Tensor& x, size_t dim) { return dims_of(x.groups, dim).count > 1; }

Tensor unfolded(Builder& builder, const Tensor& x, size_t dim, ir::HostId count, ir::HostId size, int64_t step) {
  if (is_merged(x, dim)) return unfolded(builder, materialize_concat(builder, x), dim, count, size, step);
  const size_t grid_dim = dims_of(x.groups, dim).begin;
  if (!blocks_span_dim(builder, x, grid_dim)) return windows_across_parts(builder, x, dim, count, size, step);
  Tensor result = x;
  for (ConcatBlock& block : result.blocks) block = unfold_block(builder, block, grid_dim, count, size, step);
  result.grid[grid_dim] = count;
  result.grid.push_back(size);
  if (!x.groups.empty()) result.groups.push_back(1);
  return result;
}

/// The part of a diagonal that is in a block of a cat; nullopt if the diagonal is outside of the block.
std::optional<ConcatBlock> diagonal_in(Builder& builder, const ConcatBlock& block, std::array<size_t, 2> dims,
                                       std::array<int64_t, 2> starts, int64_t length) {
  const Shape sizes = extents(builder, block);
  int64_t first = 0, end = length;
  std::array<int64_t, 2> begins;
  for (size_t k = 0; k < 2; ++k) {
    begins[k] = builder.static_number(block.offsets[dims[k]]).as_int() - starts[k];
    first = std::max(first, begins[k]);
    end = std::min(end, begins[k] + builder.static_number(sizes[dims[k]]).as_int());
  }
  if (first >= end) return std::nullopt;
  const std::array block_starts{builder.integer(first - begins[0]), builder.integer(first - begins[1])};
  ConcatBlock part = diagonal_block(builder, block, dims, block_starts, builder.integer(end - first));
  part.offsets.back() = builder.integer(first);
  return part;
}

Tensor diagonal_of(Builder& builder, const Tensor& x, std::array<size_t, 2> dims, std::array<ir::HostId, 2> starts,
                   ir::HostId length) {
  if (is_merged(x, dims[0]) || is_merged(x, dims[1])) {
    return diagonal_of(builder, materialize_concat(builder, x), dims, starts, length);
  }
  const std::array grid_dims{dims_of(x.groups, dims[0]).begin, dims_of(x.groups, dims[1]).begin};
  Tensor result = x;
  for (const size_t dim : {std::max(grid_dims[0], grid_dims[1]), std::min(grid_dims[0], grid_dims[1])}) {
    result.grid.erase(result.grid.begin() + static_cast<ptrdiff_t>(dim));
  }
  result.grid.push_back(length);
  if (!x.groups.empty()) {
    for (const size_t dim : {std::max(dims[0], dims[1]), std::min(dims[0], dims[1])}) {
      result.groups.erase(result.groups.begin() + static_cast<ptrdiff_t>(dim));
    }
    result.groups.push_back(1);
  }
  if (blocks_span_dim(builder, x, grid_dims[0]) && blocks_span_dim(builder, x, grid_dims[1])) {
    for (ConcatBlock& block : result.blocks) block = diagonal_block(builder, block, grid_dims, starts, length);
    return canonicalized(builder, std::move(result));
  }
  const std::array first{builder.static_number(starts[0]).as_int(), builder.static_number(starts[1]).as_int()};
  const int64_t count = builder.static_number(length).as_int();
  result.blocks.clear();
  for (const ConcatBlock& block : x.blocks) {
    if (auto part = diagonal_in(builder, block, grid_dims, first, count)) result.blocks.push_back(std::move(*part));
  }
  if (result.blocks.empty()) result.blocks = without_elements(builder, x.dtype, result.grid).blocks;
  return canonicalized(builder, std::move(result));
}

}  // namespace

Tensor unfold(Builder& builder, const Tensor& x, size_t dim, ir::HostId size, int64_t step) {
  const Tensor input = x.rank() == 0 ? unsqueeze(builder, x, 0) : x;
  if (step <= 0) builder.fail(fmt::format("step is {} but must be > 0", step));
  builder.require(Kind::NonNegative, size, "size is {0} but must be >= 0");
  const Shape shape = shape_of(builder, input);
  const ir::HostId last_start = builder.sub(shape[dim], size);
  builder.require(Kind::NonNegative, last_start, shape[dim],
                  fmt::format("maximum size for tensor at dimension {} is {{1}} but size is larger", dim));
  if (x.rank() == 0) return narrow(builder, input, 0, builder.integer(0), size);
  const ir::HostId steps = builder.host(ir::HostOp::FloorDiv, {last_start, builder.integer(step)});
  const ir::HostId count = builder.add(steps, builder.integer(1));
  Tensor result = unfolded(builder, x, dim, count, size, step);
  std::vector<std::vector<ir::Term>> stride_map;
  for (uint32_t d = 0; d < x.rank(); ++d) stride_map.push_back({{d, builder.integer(d == dim ? step : 1)}});
  stride_map.push_back({{static_cast<uint32_t>(dim), builder.integer(1)}});
  result.handle = record_view(builder, x.handle, std::move(stride_map), shape_of(builder, result));
  const bool is_disjoint = builder.graph.host.known_nonnegative(builder.sub(builder.integer(step), size));
  if (result.handle.storage && !is_disjoint) result.handle.storage->overlaps_itself = true;
  return result;
}

Tensor diagonal(Builder& builder, const Tensor& x, ir::HostId offset, size_t dim1, size_t dim2) {
  if (dim1 == dim2) builder.fail(fmt::format("diagonal dimensions cannot be identical {}, {}", dim1, dim2));
  const ir::HostPool& host = builder.graph.host;
  const Shape shape = shape_of(builder, x);
  const ir::HostId zero = builder.integer(0);
  const std::array starts{builder.host(ir::HostOp::Max, {builder.sub(zero, offset), zero}),
                          builder.host(ir::HostOp::Max, {offset, zero})};
  const std::array rest{builder.sub(shape[dim1], starts[0]), builder.sub(shape[dim2], starts[1])};
  const ir::HostId shorter = host.same(rest[0], rest[1]) ? rest[0] : builder.host(ir::HostOp::Min, {rest[0], rest[1]});
  const ir::HostId length = builder.host(ir::HostOp::Max, {shorter, zero});
  Tensor result = diagonal_of(builder, x, {dim1, dim2}, starts, length);
  std::vector<std::vector<ir::Term>> stride_map;
  for (uint32_t d = 0; d < x.rank(); ++d) {
    if (d != dim1 && d != dim2) stride_map.push_back({{d, builder.integer(1)}});
  }
  stride_map.push_back(
      {{static_cast<uint32_t>(dim1), builder.integer(1)}, {static_cast<uint32_t>(dim2), builder.integer(1)}});
  result.handle = record_view(builder, x.handle, std::move(stride_map), shape_of(builder, result));
  return result;
}

}  // namespace ingot::frontend
