#include "frontend/tensor/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/tensor/layouts.h"
#include "frontend/tensor/materialize_concat.h"
#include "frontend/tensor/promotion.h"
#include "frontend/tensor/tensors.h"
#include "frontend/tensor/views.h"

namespace ingot::frontend {
namespace {

void require_index_dtype(const Builder& builder, const Tensor& index, std::string_view function) {
  if (index.dtype == ir::DType::I64 || index.dtype == ir::DType::I32) return;
  if (index.dtype == ir::DType::Bool || index.dtype == ir::DType::U8) {
    builder.fail(fmt::format("{} by a {} tensor treats it as a mask, but how many elements a mask keeps is known only "
                             "when the op runs",
                             function, name_of(index.dtype)),
                 "select with where(mask, x, other); if the tensor holds indices, cast it with .long()");
  }
  builder.fail(fmt::format("tensors used as indices must be int64 or int32, not {}", name_of(index.dtype)),
               "cast with .long()");
}

bool any_zero(const Builder& builder, const Shape& shape) {
  const ir::HostPool& host = builder.graph.host;
  return std::ranges::any_of(shape, [&](ir::HostId size) { return host.is_int(host.resolve(size), 0); });
}

/// Whether x[…] has no elements, whatever the arguments; then nothing is gathered.
bool has_no_elements(Builder& builder, const Tensor& x, const std::map<size_t, Tensor>& indices) {
  Shape unindexed_sizes;
  const Shape shape = shape_of(builder, x);
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (!indices.contains(dim)) unindexed_sizes.push_back(shape[dim]);
  }
  const auto has_none = [&](const auto& index) { return any_zero(builder, shape_of(builder, index.second)); };
  return any_zero(builder, unindexed_sizes) || std::ranges::any_of(indices, has_none);
}

/// The tensor, materialised as one block if an indexed dim is merged or divided into blocks.
Tensor indexable(Builder& builder, const Tensor& x, const std::map<size_t, Tensor>& indices) {
  const bool is_indexable = std::ranges::all_of(indices, [&](const auto& index) {
    const auto [begin, count] = dims_of(x.groups, index.first);
    return count == 1 && blocks_span_dim(builder, x, begin);
  });
  return is_indexable ? x : materialize_concat(builder, x);
}

/// Disables counting from the end: negative indices, which PyTorch rejects here, become too large for any tensor.
Tensor without_wrapping(Builder& builder, Tensor index) {
  ir::Graph& graph = builder.graph;
  const ir::NodeId zero = index_scalar(builder, builder.integer(0));
  for (ConcatBlock& block : index.blocks) {
    const ir::NodeId int64_index = in_compute_dtype(builder, block.node, ir::DType::I64);
    const ir::NodeId is_negative = graph.add(ir::Op::Lt, ir::DType::Bool, {int64_index, zero});
    block.node = builder.with_location(
        graph.add(ir::Op::Where, ir::DType::I64, {is_negative, index_outside(builder), int64_index}));
  }
  index.dtype = ir::DType::I64;
  return index;
}

/// Moves an index node to another index space, in which its dims start at dim `first`.
ir::NodeId placed_index(Builder& builder, const ConcatBlock& index, size_t first, const Shape& space) {
  IndexMap view{identity_exprs(builder, index.shape.size()), index.shape, space};
  for (AffineExpr& expr : view.exprs) expr.terms[0].dim += static_cast<uint32_t>(first);
  return reindex(builder, index.node, view);
}

/// Sets the expressions for the block dims that are merged into the dim that `index` indexes.
void set_gathered(Builder& builder, std::span<AffineExpr> exprs, std::span<const ir::HostId> sizes, ir::NodeId index) {
  if (exprs.size() == 1) {
    exprs[0] = {builder.integer(0), {}, index};
    return;
  }
  index = wrapped_index(builder, index, product(builder, sizes));
  const std::vector<ir::NodeId> positions = split_position(builder, index, sizes);
  for (size_t i = 0; i < exprs.size(); ++i) exprs[i] = {builder.integer(0), {}, positions[i]};
}

/// The grid dims of x[…, i, …]: those before the indices, the indexed ones, and those after them.
struct IndexedDims {
  std::vector<size_t> before, indexed, after;
};

/// The block of x[…, i, …] that reads block `source` of x at the indices of one aligned block.
ConcatBlock indexed_block(Builder& builder, const ConcatBlock& source, const AlignedBlock& aligned,
                          const IndexedDims& grid_dims) {
  const ConcatBlock& index = aligned.blocks.front();
  ConcatBlock result;
  std::vector<AffineExpr> exprs(source.shape.size());
  const auto copy_dims = [&](const std::vector<size_t>& dims) {
    for (const size_t dim : dims) {
      const auto [begin, count] = dims_of(source.groups, dim);
      for (size_t block_dim = begin; block_dim < begin + count; ++block_dim) {
        exprs[block_dim] = {
            builder.integer(0), {{static_cast<uint32_t>(result.shape.size()), builder.integer(1)}}, std::nullopt};
        result.shape.push_back(source.shape[block_dim]);
      }
      result.groups.push_back(static_cast<uint32_t>(count));
      result.offsets.push_back(source.offsets[dim]);
    }
  };
  copy_dims(grid_dims.before);
  const size_t first = result.shape.size();
  result.shape.insert(result.shape.end(), index.shape.begin(), index.shape.end());
  const Reassociation index_groups = index.groups.empty() ? Reassociation(index.shape.size(), 1) : index.groups;
  result.groups.insert(result.groups.end(), index_groups.begin(), index_groups.end());
  result.offsets.insert(result.offsets.end(), aligned.offsets.begin(), aligned.offsets.end());
  copy_dims(grid_dims.after);

  for (size_t k = 0; k < grid_dims.indexed.size(); ++k) {
    const auto [begin, count] = dims_of(source.groups, grid_dims.indexed[k]);
    const ir::NodeId node = placed_index(builder, aligned.blocks[k], first, result.shape);
    set_gathered(builder, std::span(exprs).subspan(begin, count), std::span(source.shape).subspan(begin, count), node);
  }
  result.node = reindex(builder, source.node, {std::move(exprs), source.shape, result.shape});
  result.groups = compose({}, result.groups, result.shape.size());
  return result;
}

/// Turns a vector of one element into a new 0-dim tensor.
Tensor scalar_of(Builder& builder, const Tensor& vector) {
  Tensor result = selected(builder, vector, 0, builder.integer(0));
  result.handle = record_contiguous(builder, {});
  return result;
}

}  // namespace

Tensor index_by_tensors(Builder& builder, const Tensor& source, const std::map<size_t, Tensor>& indices) {
  const Tensor x = indexable(builder, source, indices);
  const bool is_empty = has_no_elements(builder, x, indices);
  std::vector<Tensor> index_tensors;
  IndexedDims grid_dims;
  Reassociation before_groups, after_groups;
  const bool are_adjacent = indices.rbegin()->first - indices.begin()->first + 1 == indices.size();
  for (size_t dim = 0; dim < x.rank(); ++dim) {
    const auto [begin, count] = dims_of(x.groups, dim);
    if (const auto index = indices.find(dim); index != indices.end()) {
      require_index_dtype(builder, index->second, "indexing");
      grid_dims.indexed.push_back(begin);
      index_tensors.push_back(index->second);
      continue;
    }
    const bool is_before = are_adjacent && dim < indices.begin()->first;
    for (size_t d = begin; d < begin + count; ++d) (is_before ? grid_dims.before : grid_dims.after).push_back(d);
    (is_before ? before_groups : after_groups).push_back(static_cast<uint32_t>(count));
  }

  const AlignedBlocks common = aligned_blocks(builder, index_tensors);
  const ir::HostId count = product(builder, common.grid);
  for (const size_t dim : grid_dims.indexed)
    if (!is_empty) builder.require(ir::Condition::Kind::NonEmpty, x.grid[dim], count);
  Tensor result;
  result.dtype = x.dtype;
  result.on_host = x.on_host;
  for (const size_t dim : grid_dims.before) result.grid.push_back(x.grid[dim]);
  result.grid.insert(result.grid.end(), common.grid.begin(), common.grid.end());
  for (const size_t dim : grid_dims.after) result.grid.push_back(x.grid[dim]);
  result.groups = before_groups;
  const Reassociation index_groups = common.groups.empty() ? Reassociation(common.grid.size(), 1) : common.groups;
  result.groups.insert(result.groups.end(), index_groups.begin(), index_groups.end());
  result.groups.insert(result.groups.end(), after_groups.begin(), after_groups.end());
  for (const AlignedBlock& aligned : common.blocks) {
    for (const ConcatBlock& block : x.blocks)
      result.blocks.push_back(indexed_block(builder, block, aligned, grid_dims));
  }
  result = canonicalized(builder, std::move(result));

  ir::LayoutStep step{.kind = ir::LayoutStep::Kind::Gather, .inputs = {x.handle}, .shape = shape_of(builder, result)};
  for (const auto& [dim, index] : indices) {
    step.inputs.push_back(index.handle);
    step.dims.push_back(static_cast<uint32_t>(dim));
  }
  result.handle = record_step(builder, std::move(step));
  return result;
}

Tensor select_by_tensor(Builder& builder, const Tensor& x, size_t dim, const Tensor& index) {
  if (ir::category(index.dtype) != ir::Category::Integral) require_index_dtype(builder, index, "indexing");
  Tensor int64_index = index;
  if (index.dtype != ir::DType::I32) int64_index = operand_tensor(builder, index, ir::DType::I64, NumberCast::Wrapped);
  Tensor result = index_by_tensors(builder, x, {{dim, int64_index}});
  std::vector<std::vector<ir::Term>> stride_map;
  for (uint32_t d = 0; d < x.rank(); ++d) {
    if (d != dim) stride_map.push_back({{d, builder.integer(1)}});
  }
  result.handle = record_view(builder, x.handle, std::move(stride_map), shape_of(builder, result));
  return result;
}

Tensor take(Builder& builder, const Tensor& x, const Tensor& index) {
  if (index.dtype != ir::DType::I64) {
    builder.fail(fmt::format("take expected a long tensor for index, but got {}", name_of(index.dtype)),
                 "cast with .long()");
  }
  const Shape shape = shape_of(builder, x);
  const ir::HostId count = product(builder, shape);
  Tensor result = index_by_tensors(builder, reshape(builder, x, {count}), {{0, index}});
  result.handle = record_contiguous(builder, shape_of(builder, result));
  return result;
}

Tensor index_select(Builder& builder, const Tensor& x, size_t dim, const Tensor& index) {
  if (index.rank() > 1) builder.fail("index_select(): index is supposed to be a vector");
  if (x.rank() == 0) {  // treated as a vector
    builder.require(ir::Condition::Kind::Equal, product(builder, shape_of(builder, index)), builder.integer(1),
                    "index_select(): index to scalar can have only 1 value, got {0} value(s)");
    return scalar_of(builder, index_select(builder, unsqueeze(builder, x, 0), 0, index));
  }
  require_index_dtype(builder, index, "index_select");
  require_same_device(builder, std::array{x, index});
  Tensor result = index_by_tensors(builder, x, {{dim, without_wrapping(builder, index)}});
  if (index.rank() == 0) result = unsqueeze(builder, result, dim);
  result.handle = record_contiguous(builder, shape_of(builder, result));
  return result;
}

Tensor gather(Builder& builder, const Tensor& input, size_t dim, const Tensor& index) {
  require_index_dtype(builder, index, "gather");
  if (input.rank() == 0) return gather(builder, unsqueeze(builder, input, 0), dim, index);
  if (index.rank() == 0 && input.rank() == 1) {
    return scalar_of(builder, gather(builder, input, dim, unsqueeze(builder, index, 0)));
  }
  if (index.rank() != input.rank()) {
    builder.fail("gather: the index tensor must have the same number of dimensions as the input tensor");
  }
  require_same_device(builder, std::array{input, index});
  const Tensor x = materialize_concat(builder, input);
  const Tensor positions = without_wrapping(builder, index.groups.empty() ? index : materialize_concat(builder, index));
  const Shape x_shape = shape_of(builder, x), shape = shape_of(builder, index);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d == dim || builder.graph.host.same(shape[d], x_shape[d])) continue;
    builder.require(ir::Condition::Kind::NonNegative, builder.sub(x_shape[d], shape[d]), builder.integer(0),
                    fmt::format("gather: the index must be no larger than the input at dimension {}", d));
  }
  if (!any_zero(builder, shape)) builder.require(ir::Condition::Kind::NonEmpty, x_shape[dim], product(builder, shape));

  ConcatBlock source = x.blocks.front();
  for (size_t d = 0; d < x.rank(); ++d) source = linearise_block(builder, source, d);
  Tensor result = positions;
  result.dtype = x.dtype;
  result.on_host = x.on_host;
  result.blocks.clear();
  for (ConcatBlock block : positions.blocks) {
    for (size_t d = 0; d < x.rank(); ++d) block = linearise_block(builder, block, d);
    std::vector<AffineExpr> exprs = identity_exprs(builder, x.rank());
    for (size_t d = 0; d < exprs.size(); ++d) exprs[d].offset = block.offsets[d];
    exprs[dim] = {builder.integer(0), {}, block.node};
    const IndexMap view{std::move(exprs), source.shape, block.shape};
    result.blocks.push_back({reindex(builder, source.node, view), block.shape, {}, block.offsets});
  }
  result.handle = record_contiguous(builder, shape);
  return result;
}

}  // namespace ingot::frontend
