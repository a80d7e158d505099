#include <algorithm>
#include <optional>

#include "frontend/tensor/materialize_concat.h"
#include "frontend/tensor/tensors.h"

// A dim is split by a rewrite of the loads. Dims are merged without any change of nodes (value.h). A change of shape
// that keeps row-major order splits the old dims into factors, and merges adjacent factors into the new dims. If no
// such factors are found, sizes are specialised. If there are none even then, indices are computed.

namespace ingot::frontend {
namespace {

/// a / b if b is known to divide a.
std::optional<ir::HostId> quotient(Builder& builder, ir::HostId a, ir::HostId b) {
  ir::HostPool& host = builder.graph.host;
  if (host.is_int(b, 0)) return std::nullopt;
  const ir::HostId q = builder.host(ir::HostOp::FloorDiv, {a, b});
  if (!host.same(builder.mul(q, b), a)) return std::nullopt;
  return q;
}

/// How the old dims are split into factors, and how many factors each new dim merges.
struct Factors {
  std::vector<Shape> old_factors;  ///< one shape per old dim
  Reassociation factor_counts;     ///< one count per new dim
};

std::optional<Factors> common_factors(Builder& builder, std::span<const ir::HostId> old_sizes,
                                      std::span<const ir::HostId> new_sizes) {
  Factors factors{std::vector<Shape>(old_sizes.size()), Reassociation(new_sizes.size(), 0)};
  if (old_sizes.size() == 1) {
    factors.old_factors[0].assign(new_sizes.begin(), new_sizes.end());
    factors.factor_counts.assign(new_sizes.size(), 1);
    return factors;
  }
  if (new_sizes.size() == 1) {
    for (size_t i = 0; i < old_sizes.size(); ++i) factors.old_factors[i] = {old_sizes[i]};
    factors.factor_counts = {static_cast<uint32_t>(old_sizes.size())};
    return factors;
  }
  size_t i = 0, j = 0;
  ir::HostId a = old_sizes[0], b = new_sizes[0];
  while (true) {
    const auto a_rest = quotient(builder, a, b), b_rest = quotient(builder, b, a);
    if (!a_rest && !b_rest) return std::nullopt;
    factors.old_factors[i].push_back(a_rest ? b : a);
    ++factors.factor_counts[j];
    const bool ends_old = b_rest.has_value(), ends_new = a_rest.has_value();
    if (ends_old && ++i < old_sizes.size()) a = old_sizes[i];
    if (ends_new && ++j < new_sizes.size()) b = new_sizes[j];
    if (i == old_sizes.size() || j == new_sizes.size()) break;
    if (!ends_old) a = *a_rest;
    if (!ends_new) b = *b_rest;
  }
  if (i != old_sizes.size() || j != new_sizes.size()) return std::nullopt;
  return factors;
}

/// Requests the values of the sizes that are not known; does nothing if all are known.
void request_static(Builder& builder, std::span<const ir::HostId> sizes) {
  std::vector<ir::HostId> symbols;
  for (const ir::HostId size : sizes) {
    for (const ir::HostId symbol : builder.graph.host.symbols(builder.graph.host.resolve(size))) {
      symbols.push_back(symbol);
    }
  }
  if (!symbols.empty()) throw SpecializationRequest{std::move(symbols)};
}

/// Reshapes dims [begin, begin + count) to other sizes with the same product.
Tensor reshaped_dims(Builder& builder, Tensor tensor, size_t begin, size_t count, std::span<const ir::HostId> sizes) {
  const Shape old_sizes(tensor.grid.begin() + static_cast<ptrdiff_t>(begin),
                        tensor.grid.begin() + static_cast<ptrdiff_t>(begin + count));
  const auto factors = common_factors(builder, old_sizes, sizes);
  if (!factors) {
    request_static(builder, old_sizes);
    request_static(builder, sizes);
    tensor = materialize_concat(builder, tensor);
    tensor = flattened(builder, tensor, begin, count);
    tensor.blocks[0] = linearise_block(builder, tensor.blocks[0], begin);
    return unflattened(builder, tensor, begin, sizes);
  }
  for (size_t i = count; i-- > 0;) {
    if (factors->old_factors[i].size() > 1) {
      tensor = unflattened(builder, tensor, begin + i, factors->old_factors[i]);
    }
  }
  size_t dim = begin;
  for (const uint32_t merged_count : factors->factor_counts) {
    if (merged_count > 1) tensor = flattened(builder, tensor, dim, merged_count);
    ++dim;
  }
  return tensor;
}

/// The tensor's blocks after a dim of the grid is split into rows of `inner_size`. Blocks are cut so that each one
/// consists of whole rows, or of a part of one row.
std::vector<ConcatBlock> blocks_in_rows(Builder& builder, const Tensor& tensor, size_t dim, ir::HostId inner_size) {
  const int64_t inner = builder.static_number(inner_size).as_int();
  std::vector<ConcatBlock> blocks;
  for (const ConcatBlock& block : tensor.blocks) {
    int64_t position = builder.static_number(block.offsets[dim]).as_int();
    int64_t remaining = builder.static_number(extents(builder, block)[dim]).as_int();
    int64_t start = 0;
    while (remaining > 0) {
      const int64_t column = position % inner;
      const bool is_whole_rows = column == 0 && remaining >= inner;
      const int64_t length = is_whole_rows ? remaining - remaining % inner : std::min(remaining, inner - column);
      const Shape sizes{builder.integer(is_whole_rows ? length / inner : 1),
                        builder.integer(is_whole_rows ? inner : length)};
      ConcatBlock part = slice_block(builder, block, dim, builder.integer(start), builder.integer(length), 1);
      part = unflatten_block(builder, part, dim, sizes);
      part.offsets[dim] = builder.integer(position / inner);
      part.offsets[dim + 1] = builder.integer(column);
      blocks.push_back(std::move(part));
      position += length, start += length, remaining -= length;
    }
  }
  return blocks;
}

}  // namespace

Tensor unflattened(Builder& builder, const Tensor& tensor, size_t dim, std::span<const ir::HostId> sizes) {
  if (sizes.size() == 1) return tensor;
  const auto [begin, count] = dims_of(tensor.groups, dim);
  if (count > 1) {
    Shape shape = shape_of(builder, tensor);
    shape.erase(shape.begin() + static_cast<ptrdiff_t>(dim));
    shape.insert(shape.begin() + static_cast<ptrdiff_t>(dim), sizes.begin(), sizes.end());
    return reshaped(builder, tensor, shape);
  }
  Tensor result = tensor;
  const ir::HostId inner = product(builder, sizes.subspan(1));
  const bool blocks_span = blocks_span_dim(builder, tensor, begin);
  const Shape outer_and_inner{sizes[0], inner};
  const std::span<const ir::HostId> new_sizes = blocks_span ? sizes : std::span<const ir::HostId>(outer_and_inner);
  result.grid.erase(result.grid.begin() + static_cast<ptrdiff_t>(begin));
  result.grid.insert(result.grid.begin() + static_cast<ptrdiff_t>(begin), new_sizes.begin(), new_sizes.end());
  if (!tensor.groups.empty()) {
    result.groups.insert(result.groups.begin() + static_cast<ptrdiff_t>(dim), new_sizes.size() - 1, 1);
  }
  if (blocks_span) {
    for (ConcatBlock& block : result.blocks) block = unflatten_block(builder, block, begin, sizes);
    return result;
  }
  result.blocks = blocks_in_rows(builder, tensor, begin, inner);
  return unflattened(builder, result, dim + 1, sizes.subspan(1));
}

Tensor unmerged(Builder& builder, const Tensor& tensor) {
  Tensor result = tensor;
  result.groups.clear();
  if (tensor.blocks.size() > 1) return result;
  ConcatBlock& block = result.blocks.front();
  block.groups.clear();
  block.offsets.assign(block.shape.size(), builder.integer(0));
  result.grid = block.shape;
  return result;
}

Tensor reshaped(Builder& builder, const Tensor& tensor, std::span<const ir::HostId> shape) {
  if (same_shape(builder, shape_of(builder, tensor), shape)) return tensor;
  const auto is_zero = [&](ir::HostId size) { return builder.graph.host.is_int(size, 0); };
  if (std::ranges::any_of(shape, is_zero)) {
    return without_elements(builder, tensor.dtype, {shape.begin(), shape.end()});
  }

  // Dims of size 1 do not affect the order: they are removed here, and inserted again at the end.
  Tensor result = unmerged(builder, tensor);
  for (size_t d = result.grid.size(); d-- > 0;) {
    if (is_one(builder, result.grid[d])) result = selected(builder, result, d, builder.integer(0));
  }
  Shape sizes;
  for (const ir::HostId size : shape) {
    if (!is_one(builder, size)) sizes.push_back(size);
  }

  size_t front = 0, back = 0;
  const size_t common = std::min(result.grid.size(), sizes.size());
  const ir::HostPool& host = builder.graph.host;
  while (front < common && host.same(result.grid[front], sizes[front])) ++front;
  while (back < common - front &&
         host.same(result.grid.rbegin()[static_cast<ptrdiff_t>(back)], sizes.rbegin()[static_cast<ptrdiff_t>(back)])) {
    ++back;
  }
  const size_t old_count = result.grid.size() - front - back;
  const std::span<const ir::HostId> new_sizes =
      std::span<const ir::HostId>(sizes).subspan(front, sizes.size() - front - back);
  if (old_count == 0 || new_sizes.empty()) {
    if (old_count != 0 || !new_sizes.empty()) {
      request_static(builder, result.grid);
      request_static(builder, sizes);
    }
  } else {
    result = reshaped_dims(builder, std::move(result), front, old_count, new_sizes);
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (is_one(builder, shape[d])) result = unsqueezed(builder, result, d);
  }
  return result;
}

}  // namespace ingot::frontend
