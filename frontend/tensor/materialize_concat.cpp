#include "frontend/tensor/materialize_concat.h"

#include <algorithm>

#include "frontend/tensor/promotion.h"
#include "frontend/tensor/tensors.h"

namespace ingot::frontend {
namespace {

/// A dim of the grid: a dim of the tensor, or one of several that are merged into a dim of the tensor.
struct GridDim {
  size_t dim;  ///< of the tensor
  bool is_merged;
  ir::NodeId position;  ///< the position along the grid dim, for each index of the tensor
};

std::vector<GridDim> grid_dims(Builder& builder, const Tensor& tensor, const Shape& shape) {
  std::vector<GridDim> dims;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const auto [begin, count] = dims_of(tensor.groups, dim);
    const std::span<const ir::HostId> sizes = std::span(tensor.grid).subspan(begin, count);
    for (const ir::NodeId position : split_position(builder, index_position(builder, shape, dim), sizes)) {
      dims.push_back({dim, count > 1, position});
    }
  }
  return dims;
}

/// The coordinates that a block covers along one dim of the grid. Computes whether an element is in the block, and its
/// coordinate in the block. Outside of the block, the coordinate is clamped to the block's border.
class BlockRange {
 public:
  BlockRange(Builder& builder, const GridDim& dim, ir::HostId offset, ir::HostId size, ir::HostId dim_size)
      : builder_(builder), dim_(dim), offset_(offset), size_(size), dim_size_(dim_size) {
    const ir::HostPool& host = builder.graph.host;
    reaches_first_ = host.is_int(offset, 0);
    reaches_last_ = host.same(builder.add(offset, size), dim_size);
  }

  /// Whether the block has no elements along the dim; false for a block that covers the whole dim.
  bool is_empty() const {
    if ((reaches_first_ && reaches_last_) || builder_.graph.host.lower_bound(size_) > 0) return false;
    return builder_.static_number(size_).as_int() == 0;
  }

  AffineExpr coordinate() const {
    const ir::HostId zero = builder_.integer(0), one = builder_.integer(1);
    if (reaches_first_ && reaches_last_ && !dim_.is_merged) return {zero, {{static_cast<uint32_t>(dim_.dim), one}}, {}};
    ir::NodeId position = index_binary(builder_, ir::Op::Add, dim_.position, builder_.sub(zero, offset_));
    if (!reaches_first_) position = index_binary(builder_, ir::Op::Maximum, position, zero);
    if (!reaches_last_) {
      position = index_binary(builder_, ir::Op::Minimum, position, builder_.sub(size_, one));
      // An index outside of the whole dim stays out of range, so that the read detects it.
      const ir::NodeId is_inside = compared(ir::Op::Lt, dim_size_);
      position = builder_.graph.add(ir::Op::Where, ir::DType::I64, {is_inside, position, index_outside(builder_)});
    }
    return {zero, {}, position};
  }

  void add_conditions(std::vector<ir::NodeId>& conditions) const {
    if (!reaches_first_) conditions.push_back(compared(ir::Op::Ge, offset_));
    if (!reaches_last_) conditions.push_back(compared(ir::Op::Lt, builder_.add(offset_, size_)));
  }

 private:
  ir::NodeId compared(ir::Op op, ir::HostId bound) const {
    return builder_.graph.add(op, ir::DType::Bool, {dim_.position, index_scalar(builder_, bound)});
  }

  Builder& builder_;
  const GridDim& dim_;
  ir::HostId offset_, size_, dim_size_;
  bool reaches_first_, reaches_last_;  ///< whether the block starts and ends where the dim does
};

}  // namespace

Tensor materialize_concat(Builder& builder, const Tensor& tensor) {
  if (tensor.blocks.size() == 1 && tensor.groups.empty()) return tensor;
  ir::Graph& graph = builder.graph;
  const Shape shape = shape_of(builder, tensor);
  const std::vector<GridDim> dims = grid_dims(builder, tensor, shape);
  const ir::DType type = ir::compute_type(tensor.dtype);
  std::optional<ir::NodeId> result_node;
  for (ConcatBlock block : tensor.blocks) {
    for (size_t d = 0; d < dims.size(); ++d) block = linearise_block(builder, block, d);
    std::vector<BlockRange> ranges;
    for (size_t d = 0; d < dims.size(); ++d) {
      ranges.emplace_back(builder, dims[d], block.offsets[d], block.shape[d], tensor.grid[d]);
    }
    if (std::ranges::any_of(ranges, &BlockRange::is_empty)) continue;
    std::vector<AffineExpr> exprs;
    std::vector<ir::NodeId> conditions;
    for (const BlockRange& range : ranges) {
      exprs.push_back(range.coordinate());
      range.add_conditions(conditions);
    }
    const ir::NodeId moved = reindex(builder, block.node, {std::move(exprs), block.shape, shape});
    const ir::NodeId value = in_compute_dtype(builder, moved, tensor.dtype);
    if (!result_node) {  // the value of elements that are in no other block
      result_node = value;
      continue;
    }
    ir::NodeId is_in_block = conditions.front();
    for (size_t i = 1; i < conditions.size(); ++i) {
      is_in_block = graph.add(ir::Op::LogicalAnd, ir::DType::Bool, {is_in_block, conditions[i]});
    }
    // Both arms are evaluated, so that any block that reads detects an index outside of the whole tensor.
    result_node =
        builder.with_location(graph.add({ir::Op::Where, type, ir::kEagerArms, {is_in_block, value, *result_node}}));
  }
  Tensor result =
      result_node ? whole(builder, *result_node, tensor.dtype, shape) : without_elements(builder, tensor.dtype, shape);
  result.handle = tensor.handle;
  result.on_host = tensor.on_host;
  return result;
}

}  // namespace ingot::frontend
