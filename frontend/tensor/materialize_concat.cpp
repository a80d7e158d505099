#include "frontend/tensor/materialize_concat.h"

#include <algorithm>

#include "frontend/tensor/promotion.h"
#include "frontend/tensor/tensors.h"

namespace ingot::frontend {
namespace {

/// A dim of the grid: a dim of the tensor, or one of several that are merged into one.
struct GridDim {
  size_t dim;
  bool is_merged;
  ir::NodeId position;  ///< along the dim, over the tensor's shape
};

std::vector<GridDim> grid_dims(Builder& builder, const Tensor& tensor, const Shape& shape) {
  std::vector<GridDim> dims;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const auto [begin, count] = dims_of(tensor.groups, dim);
    const std::span<const ir::HostId> sizes = std::span(tensor.grid).subspan(begin, count);
    for (const ir::NodeId position : index_divided(builder, index_position(builder, shape, dim), sizes)) {
      dims.push_back({dim, count > 1, position});
    }
  }
  return dims;
}

/// Whether an element is in a block along one dim, and its coordinate in the block. Outside of the block, the
/// coordinate is clamped to the block's border.
class Along {
 public:
  Along(Builder& builder, const GridDim& dim, ir::HostId offset, ir::HostId size, ir::HostId whole)
      : builder_(builder), dim_(dim), offset_(offset), size_(size), whole_(whole) {
    const ir::HostPool& host = builder.graph.host;
    begins_ = host.is_int(offset, 0);
    ends_ = host.same(builder.add(offset, size), whole);
  }

  /// Whether the block is empty along a dim that is not empty.
  bool misses() const {
    if ((begins_ && ends_) || builder_.graph.host.least(size_) > 0) return false;
    return builder_.static_number(size_).as_int() == 0;
  }

  AffineExpr row() const {
    const ir::HostId zero = builder_.integer(0), one = builder_.integer(1);
    if (begins_ && ends_ && !dim_.is_merged) return {zero, {{static_cast<uint32_t>(dim_.dim), one}}, {}};
    ir::NodeId place = index_binary(builder_, ir::Op::Add, dim_.position, builder_.sub(zero, offset_));
    if (!begins_) place = index_binary(builder_, ir::Op::Maximum, place, zero);
    if (!ends_) {
      place = index_binary(builder_, ir::Op::Minimum, place, builder_.sub(size_, one));
      // An index outside of the whole dim stays out of range, so that the read detects it.
      const ir::NodeId is_inside = compared(ir::Op::Lt, whole_);
      place = builder_.graph.add(ir::Op::Where, ir::DType::I64, {is_inside, place, index_outside(builder_)});
    }
    return {zero, {}, place};
  }

  void add_conditions(std::vector<ir::NodeId>& conditions) const {
    if (!begins_) conditions.push_back(compared(ir::Op::Ge, offset_));
    if (!ends_) conditions.push_back(compared(ir::Op::Lt, builder_.add(offset_, size_)));
  }

 private:
  ir::NodeId compared(ir::Op op, ir::HostId with) const {
    return builder_.graph.add(op, ir::DType::Bool, {dim_.position, index_scalar(builder_, with)});
  }

  Builder& builder_;
  const GridDim& dim_;
  ir::HostId offset_, size_, whole_;
  bool begins_, ends_;  ///< whether the block reaches the first and the last element
};

}  // namespace

Tensor materialize_concat(Builder& builder, const Tensor& tensor) {
  if (tensor.blocks.size() == 1 && tensor.groups.empty()) return tensor;
  ir::Graph& graph = builder.graph;
  const Shape shape = shape_of(builder, tensor);
  const std::vector<GridDim> dims = grid_dims(builder, tensor, shape);
  const ir::DType type = ir::compute_type(tensor.dtype);
  std::optional<ir::NodeId> chosen;
  for (ConcatBlock block : tensor.blocks) {
    for (size_t d = 0; d < dims.size(); ++d) block = linearise_block(builder, block, d);
    std::vector<Along> places;
    for (size_t d = 0; d < dims.size(); ++d) {
      places.emplace_back(builder, dims[d], block.offsets[d], block.shape[d], tensor.grid[d]);
    }
    if (std::ranges::any_of(places, &Along::misses)) continue;
    std::vector<AffineExpr> rows;
    std::vector<ir::NodeId> conditions;
    for (const Along& along : places) {
      rows.push_back(along.row());
      along.add_conditions(conditions);
    }
    const ir::NodeId moved = reindex(builder, block.node, {std::move(rows), block.shape, shape});
    const ir::NodeId value = work_node(builder, moved, tensor.dtype);
    if (!chosen) {  // the value of elements that are in no other block
      chosen = value;
      continue;
    }
    ir::NodeId is_here = conditions.front();
    for (size_t i = 1; i < conditions.size(); ++i) {
      is_here = graph.add(ir::Op::LogicalAnd, ir::DType::Bool, {is_here, conditions[i]});
    }
    // Both arms are evaluated, so that any block that reads detects an index outside of the whole tensor.
    chosen = builder.placed(graph.add({ir::Op::Where, type, ir::kEagerArms, {is_here, value, *chosen}}));
  }
  Tensor result =
      chosen ? whole(builder, *chosen, tensor.dtype, shape) : without_elements(builder, tensor.dtype, shape);
  result.layout = tensor.layout;
  result.on_host = tensor.on_host;
  return result;
}

}  // namespace ingot::frontend
