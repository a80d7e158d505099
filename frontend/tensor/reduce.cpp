#include "frontend/tensor/reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/tensor/layouts.h"
#include "frontend/tensor/materialize_concat.h"
#include "frontend/tensor/promotion.h"
#include "frontend/tensor/tensors.h"

// The domain of a reduction consists of the dims of the tensor's single block (ConcatBlock::shape), not of merged dims.
// So the operand stays unchanged, and merged dims cost nothing. A view of a reduced value changes only the access of
// the load that reads the value.

namespace ingot::frontend {
namespace {

/// For each dim of a tensor that is one concat block: the block's dims that are merged into it, by ConcatBlock::groups
/// and by Tensor::groups.
std::vector<DimRange> finest_dims(const Tensor& tensor) {
  std::vector<DimRange> ranges;
  for (size_t dim = 0; dim < tensor.rank(); ++dim) {
    const DimRange grid_dims = dims_of(tensor.groups, dim);
    DimRange range{dims_of(tensor.blocks[0].groups, grid_dims.begin).begin, 0};
    for (size_t d = grid_dims.begin; d < grid_dims.begin + grid_dims.count; ++d)
      range.count += dims_of(tensor.blocks[0].groups, d).count;
    ranges.push_back(range);
  }
  return ranges;
}

/// Whether the reduction of no elements has a value: that of sums, products, any and all.
bool has_identity(ir::ReduceKind kind) { return kind < ir::ReduceKind::Max; }

/// States that the reduced dims have elements. Other dims may be empty: then the result is empty, too.
void require_elements(Builder& builder, const Tensor& x, std::span<const size_t> dims, std::string_view function) {
  const Shape shape = shape_of(builder, x);
  if (dims.size() == x.rank()) {
    const ir::HostId elements = builder.sub(product(builder, shape), builder.integer(1));
    builder.require(ir::Condition::Kind::NonNegative, elements,
                    fmt::format("{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                                "reduction dim with the 'dim' argument.",
                                function));
    return;
  }
  for (const size_t dim : dims)
    builder.require(ir::Condition::Kind::NonNegative, builder.sub(shape[dim], builder.integer(1)), shape[dim],
                    fmt::format("{}(): Expected reduction dim {} to have non-zero size.", function, dim));
}

/// Reads a value of the reduction, over the dims that are not reduced.
Tensor value_of(Builder& builder, ir::NodeId reduction, uint32_t value, ir::DType dtype, const Tensor& x,
                const std::vector<DimRange>& finest, std::span<const size_t> dims) {
  const Shape& domain = x.blocks[0].shape;
  const ir::HostId zero = builder.integer(0), one = builder.integer(1);
  ir::Access access{{ir::SourceRef::Kind::Reduce, value}, Shape(domain.size(), zero), {}, {}};
  ConcatBlock block;
  Tensor result;
  result.dtype = dtype;
  result.on_host = x.on_host;
  for (size_t dim = 0; dim < finest.size(); ++dim) {
    if (std::ranges::find(dims, dim) != dims.end()) continue;
    const auto [begin, count] = finest[dim];
    for (size_t d = begin; d < begin + count; ++d) {
      const bool is_varying = !is_one(builder, domain[d]);
      if (is_varying || !access.dims.empty()) access.dims.push_back({domain[d], {}});
      if (is_varying) access.dims.back().terms.push_back({static_cast<uint32_t>(d), one});
      block.shape.push_back(domain[d]);
    }
    block.groups.push_back(static_cast<uint32_t>(count));
    block.offsets.push_back(zero);
  }
  block.groups = simplified(std::move(block.groups));
  const ir::DType node_dtype = value == 0 ? builder.graph[reduction].dtype : ir::DType::I64;
  const ir::NodeId load = builder.with_location(builder.graph.read(node_dtype, std::move(access), {reduction}));
  block.node = rounded_result_node(builder, load, dtype);
  result.grid = extents(builder, block);
  result.blocks.push_back(std::move(block));
  return result;
}

}  // namespace

std::vector<Tensor> reduce(Builder& builder, ir::ReduceKind kind, const Tensor& tensor, std::span<const size_t> dims,
                           bool keepdim, std::string_view function) {
  if (!has_identity(kind) && !function.empty()) require_elements(builder, tensor, dims, function);
  const Tensor x = tensor.blocks.size() == 1 ? tensor : materialize_concat(builder, tensor);
  const std::vector<DimRange> finest = finest_dims(x);
  ir::Reduction reduction{kind, x.blocks[0].shape, ir::DimMarks(x.blocks[0].shape.size())};
  for (const size_t dim : dims)
    std::fill_n(reduction.reduced.begin() + static_cast<ptrdiff_t>(finest[dim].begin), finest[dim].count, 1);
  const ir::NodeId operand = in_compute_dtype(builder, x.blocks[0].node, x.dtype);
  const ir::DType type = builder.graph[operand].dtype;
  const ir::NodeId node = builder.with_location(builder.graph.reduce(type, std::move(reduction), operand));

  std::vector<Tensor> values;
  for (uint32_t v = 0; v < ir::info(kind).value_count; ++v) {
    Tensor value = value_of(builder, node, v, v == 0 ? x.dtype : ir::DType::I64, x, finest, dims);
    if (keepdim) {
      std::vector<size_t> ascending(dims.begin(), dims.end());
      std::ranges::sort(ascending);
      for (const size_t dim : ascending) value = unsqueezed(builder, value, dim);
    }
    value.handle = record_contiguous(builder, shape_of(builder, value));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace ingot::frontend
