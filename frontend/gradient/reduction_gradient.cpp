#include "frontend/gradient/reduction_gradient.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "frontend/tensor/reduce.h"
#include "frontend/tensor/reindex.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/tensors.h"

namespace ingot::frontend {
namespace {

class ReductionVjp {
 public:
  ReductionVjp(Builder& builder, ir::NodeId id)
      : builder_(builder),
        graph_(builder.graph),
        id_(id),
        reduction_(graph_.reduction(id)),
        operand_(graph_[id].args[0]) {
    for (size_t dim = 0; dim < reduction_.domain.size(); ++dim)
      if (reduction_.reduced[dim]) dims_.push_back(dim);
  }

  MaskedGradient run(const IndexedValue& row_gradient) {
    const ir::NodeId gradient = broadcast_rows(row_gradient);
    switch (reduction_.kind) {
      case ir::ReduceKind::Sum:
        return {gradient};
      case ir::ReduceKind::Prod:
        return {node(ir::Op::Mul, gradient, product_of_others())};
      case ir::ReduceKind::Max:
      case ir::ReduceKind::Min: {
        // NaN counts as the maximum and as the minimum.
        const ir::NodeId is_nan = graph_.add(ir::Op::Isnan, ir::DType::Bool, {operand_});
        const ir::NodeId is_equal = is_approximate() ? is_about_extreme() : bool_node(ir::Op::Eq, operand_, value(0));
        const ir::NodeId is_extreme = bool_node(ir::Op::LogicalOr, is_equal, is_nan);
        const ir::NodeId count = reduced(ir::ReduceKind::Sum, constant_where(is_extreme, 1.0, 0.0));
        return {node(ir::Op::Div, gradient, count), is_extreme};
      }
      case ir::ReduceKind::ArgMax:
      case ir::ReduceKind::ArgMin:
        return {gradient, bool_node(ir::Op::Eq, position(), value(1))};
      case ir::ReduceKind::Any:
      case ir::ReduceKind::All:
        break;
    }
    throw_internal("a reduction to bools has no gradient");
  }

 private:
  ir::DType dtype() const { return graph_[operand_].dtype; }
  ir::NodeId node(ir::Op op, ir::NodeId a, ir::NodeId b) { return graph_.add(op, dtype(), {a, b}); }
  ir::NodeId bool_node(ir::Op op, ir::NodeId a, ir::NodeId b) { return graph_.add(op, ir::DType::Bool, {a, b}); }
  ir::NodeId constant(double value) { return constant_node(builder_, value, dtype()); }
  ir::NodeId select(ir::NodeId condition, ir::NodeId a, ir::NodeId b) {
    return graph_.add(ir::Op::Where, graph_[a].dtype, {condition, a, b});
  }
  ir::NodeId constant_where(ir::NodeId condition, double a, double b) {
    return select(condition, constant(a), constant(b));
  }

  /// Broadcasts a function of rows over the whole domain.
  ir::NodeId broadcast_rows(const IndexedValue& row_gradient) {
    std::vector<AffineExpr> exprs = identity_exprs(builder_, reduction_.domain.size());
    for (const size_t dim : dims_) exprs[dim].terms.clear();
    return reindex(builder_, row_gradient.node, {std::move(exprs), row_gradient.shape, reduction_.domain});
  }

  /// Reads a value of the reduction, over the domain.
  ir::NodeId value(uint32_t index) {
    const ir::HostId zero = builder_.integer(0), one = builder_.integer(1);
    ir::Access access{{ir::SourceRef::Kind::Reduce, index}, Shape(reduction_.domain.size(), zero), {}, {}};
    for (uint32_t dim = 0; dim < reduction_.domain.size(); ++dim) {
      const bool is_varying = !reduction_.reduced[dim] && !is_one(builder_, reduction_.domain[dim]);
      if (is_varying)
        access.dims.push_back({reduction_.domain[dim], {{dim, one}}});
      else if (!access.dims.empty())
        access.dims.push_back({one, {}});
    }
    return graph_.read(index == 0 ? graph_[id_].dtype : ir::DType::I64, std::move(access), {id_});
  }

  /// Reduces another operand over the same rows, and broadcasts the value over the domain.
  ir::NodeId reduced(ir::ReduceKind kind, ir::NodeId operand) {
    const Tensor tensor = tensor_of(builder_, {operand, reduction_.domain});
    return broadcast_rows(indexed_value_of(builder_, reduce(builder_, kind, tensor, dims_, true, {}).front()));
  }

  /// Whether an element may round differently when it is recomputed, so that it does not equal the extreme that was
  /// computed from it. On the CPU, functions of the C library may round differently in scalar and vector code. With
  /// numerics = fast, sums of products may be contracted differently, so any floating-point op counts.
  bool is_approximate() const {
    const bool is_fast = builder_.signature.numerics == Numerics::Fast;
    if (builder_.on_cuda() && !is_fast) return false;
    std::set<ir::NodeId> seen;
    std::vector<ir::NodeId> pending{operand_};
    while (!pending.empty()) {
      const ir::NodeId id = pending.back();
      pending.pop_back();
      if (!seen.insert(id).second) continue;
      const ir::Op op = graph_[id].op;
      const bool is_rounded = ir::is_primitive(op) && ir::is_floating(graph_[id].dtype);
      if (is_rounded && (is_fast || ir::info(op).accuracy != ir::Accuracy::Exact)) return true;
      std::ranges::copy(graph_[id].args, std::back_inserter(pending));
    }
    return false;
  }

  /// Whether an element equals the extreme up to rounding. The element at the position of the extreme always does.
  ir::NodeId is_about_extreme() {
    const double tolerance = 4 * (dtype() == ir::DType::F64 ? 0x1p-52 : 0x1p-23);
    const bool is_max = reduction_.kind == ir::ReduceKind::Max;
    const Tensor operand = tensor_of(builder_, {operand_, reduction_.domain});
    const auto kind = is_max ? ir::ReduceKind::ArgMax : ir::ReduceKind::ArgMin;
    const std::vector<Tensor> extreme_and_index = reduce(builder_, kind, operand, dims_, true, {});
    const ir::NodeId extreme = broadcast_rows(indexed_value_of(builder_, extreme_and_index.at(0)));
    const ir::NodeId is_at_index =
        bool_node(ir::Op::Eq, position(), broadcast_rows(indexed_value_of(builder_, extreme_and_index.at(1))));
    const ir::NodeId distance = graph_.add(ir::Op::Abs, dtype(), {node(ir::Op::Sub, operand_, extreme)});
    const ir::NodeId magnitude = graph_.add(ir::Op::Abs, dtype(), {extreme});
    const ir::NodeId is_near = bool_node(ir::Op::Lt, distance, node(ir::Op::Mul, magnitude, constant(tolerance)));
    const ir::NodeId is_equal = bool_node(ir::Op::LogicalOr, bool_node(ir::Op::Eq, operand_, extreme), is_near);
    return bool_node(ir::Op::LogicalOr, is_at_index, is_equal);
  }

  /// The row-major position of an element within its row.
  ir::NodeId position() {
    ir::NodeId sum = index_scalar(builder_, builder_.integer(0));
    for (const size_t dim : dims_) {
      sum = index_binary(builder_, ir::Op::Mul, sum, reduction_.domain[dim]);
      const ir::NodeId here = index_position(builder_, reduction_.domain, dim);
      sum = graph_.add(ir::Op::Add, ir::DType::I64, {sum, here});
    }
    return sum;
  }

  /// For each element, the product of the other elements of its row. In a row with one zero, this is the product of all
  /// nonzero elements for the zero, and 0 for every other element. In a row with several zeros, this is 0 for each
  /// element, but its derivative may not be 0; a separate expression has that derivative.
  ir::NodeId product_of_others() {
    const ir::NodeId zero = constant(0.0), one = constant(1.0), two = constant(2.0);
    const ir::NodeId is_zero = bool_node(ir::Op::Eq, operand_, zero);
    const ir::NodeId zero_count = reduced(ir::ReduceKind::Sum, select(is_zero, one, zero));
    const ir::NodeId nonzero_product = reduced(ir::ReduceKind::Prod, select(is_zero, one, operand_));
    const ir::NodeId has_no_zero = bool_node(ir::Op::Eq, zero_count, zero),
                     has_one_zero = bool_node(ir::Op::Eq, zero_count, one);
    const ir::NodeId quotient = node(ir::Op::Div, nonzero_product, operand_);
    const ir::NodeId value =
        select(is_zero, select(has_one_zero, nonzero_product, zero), select(has_no_zero, quotient, zero));
    // Two expressions of the elements that are 0: the product of these elements, and, in a row with two of them, for
    // each the other one. Both depend on the operand, so they have derivatives although their values are 0.
    const ir::NodeId product_of_zeros = reduced(ir::ReduceKind::Prod, select(is_zero, operand_, one));
    const ir::NodeId other_zero =
        node(ir::Op::Sub, reduced(ir::ReduceKind::Sum, select(is_zero, operand_, zero)), operand_);
    const ir::NodeId at_two_zeros =
        select(bool_node(ir::Op::Eq, zero_count, two), node(ir::Op::Mul, nonzero_product, other_zero), zero);
    const ir::NodeId derivative = select(is_zero, select(has_one_zero, nonzero_product, at_two_zeros),
                                         node(ir::Op::Mul, quotient, product_of_zeros));
    return graph_.call(ir::kCustomGradient, value, {derivative});
  }

  Builder& builder_;
  ir::Graph& graph_;
  ir::NodeId id_;
  ir::Reduction reduction_;
  ir::NodeId operand_;
  std::vector<size_t> dims_;  ///< the reduced dims
};

}  // namespace

MaskedGradient reduction_gradient(Builder& builder, ir::NodeId reduction, const IndexedValue& row_gradient) {
  return ReductionVjp(builder, reduction).run(row_gradient);
}

}  // namespace ingot::frontend
