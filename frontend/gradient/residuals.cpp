#include "frontend/gradient/residuals.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/error.h"
#include "frontend/gradient/op_gradients.h"
#include "frontend/gradient/varying_dims.h"
#include "frontend/tensor/layouts.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/tensors.h"

// Finds the residuals of an op. A gradient recomputes what its op has computed. Recomputing an element is cheap, but
// recomputing a reduction takes a pass over the row. The op therefore saves the reduction values that the gradient
// reads, or values computed from them once per row, called row statistics here (docs/performance.md:
// saved-row-statistics). To find them, a Trial builds the gradient for unknown upstream gradients. Then the search
// follows the gradient's nodes from its results down to the first values that the op computes once per row.

namespace ingot::frontend {
namespace {

/// A value of a reduction: the reduction's node, and the index of the value.
using ReductionValue = std::pair<ir::NodeId, uint32_t>;

class ResidualFinder {
 public:
  /// Nodes from `first_gradient_node` and parameters from `first_gradient_param` on belong to the gradient.
  /// `is_needed`: for each node, whether the op's results depend on it.
  ResidualFinder(const Builder& builder, ir::HostId one, ir::NodeId first_gradient_node, uint32_t first_gradient_param,
                 std::vector<bool> is_needed)
      : builder_(builder),
        graph_(builder.graph),
        one_(one),
        first_gradient_node_(first_gradient_node),
        is_needed_(std::move(is_needed)) {
    is_needed_.resize(graph_.count());
    for (uint32_t i = 0; i < graph_.count(); ++i) facts_.push_back(facts_of({i}, first_gradient_param));
  }

  /// Follows the operands of a node of the gradient, down to the first row statistics and reduction values.
  void follow(ir::NodeId root) {
    std::vector<ir::NodeId> pending{root};
    while (!pending.empty()) {
      const ir::NodeId id = pending.back();
      pending.pop_back();
      if (!seen_.insert(id).second) continue;
      const bool is_statistic = graph_[id].op != ir::Op::Call && !graph_.reduction_read(id) && is_row_statistic(id);
      if (is_statistic)
        statistics_.insert(id);
      else if (const std::optional<ReductionValue> reduced = forward_value(id)) {
        reduction_values_.insert(*reduced);
        std::ranges::copy(graph_.indices(id), std::back_inserter(pending));
      } else
        std::ranges::copy(operands(graph_, id), std::back_inserter(pending));
    }
  }

  /// The row statistics and reduction values that `follow` found, or all reduction values that they depend on:
  /// whichever set is smaller.
  std::vector<Residual> residuals() const {
    const std::set<ReductionValue> reductions = all_reduction_values();
    std::vector<Residual> residuals;
    const bool use_reductions = reductions.size() < statistics_.size() + reduction_values_.size();
    for (const auto& [reduction, value] : use_reductions ? reductions : reduction_values_)
      residuals.push_back({reduction, value, rows_of(reduction), name_of(reduction)});
    if (!use_reductions)
      for (const ir::NodeId id : statistics_) residuals.push_back({id, {}, shape_of(id), name_of(id)});
    return residuals;
  }

 private:
  struct NodeFacts {
    VaryingDims varying;
    bool is_per_row = false;  ///< the node varies along the same dims as a reduction value that it depends on
    bool is_forward = true;   ///< the forward op computes all reductions that the node depends on, and the node depends
                              ///< on no upstream gradient
  };

  NodeFacts facts_of(ir::NodeId id, uint32_t first_gradient_param) const {
    NodeFacts facts;
    const ir::Node& node = graph_[id];
    if (ir::has_access(node.op)) add_varying(facts.varying, varying_dims_of(builder_, graph_.access(id)));
    const std::optional<ir::NodeId> reduction = graph_.reduction_read(id);
    if (node.op == ir::Op::Load || node.op == ir::Op::Gather)
      facts.is_forward = reduction || graph_.access(id).source.index < first_gradient_param ||
                         graph_.access(id).source.index == graph_.seed;
    if (node.op == ir::Op::Reduce) facts.is_forward = is_needed_[id.index];
    for (const ir::NodeId operand : operands(graph_, id)) {
      facts.is_forward = facts.is_forward && facts_[operand.index].is_forward;
      if (operand != reduction && node.op != ir::Op::Reduce) add_varying(facts.varying, facts_[operand.index].varying);
    }
    facts.is_per_row = node.op == ir::Op::Load && reduction;
    if (node.op != ir::Op::Reduce && !reduction)
      for (const ir::NodeId operand : operands(graph_, id))
        facts.is_per_row = facts.is_per_row || (facts_[operand.index].is_per_row &&
                                                same_dims(facts_[operand.index].varying, facts.varying));
    return facts;
  }

  bool is_row_statistic(ir::NodeId id) const {
    const NodeFacts& facts = facts_[id.index];
    return id < first_gradient_node_ && facts.is_per_row && facts.is_forward &&
           facts.varying.size() <= Signature::kMaxDims;
  }

  /// The reduction value that a node reads, if the op computes that reduction as well.
  std::optional<ReductionValue> forward_value(ir::NodeId id) const {
    const std::optional<ir::NodeId> reduction = graph_.reduction_read(id);
    if (!reduction || !(*reduction < first_gradient_node_) || !facts_[reduction->index].is_forward) return std::nullopt;
    if (graph_.reduction(*reduction).domain.size() > Signature::kMaxDims) return std::nullopt;
    return ReductionValue{*reduction, graph_.access(id).source.index};
  }

  std::set<ReductionValue> all_reduction_values() const {
    std::set<ReductionValue> values = reduction_values_;
    std::set<ir::NodeId> seen;
    std::vector<ir::NodeId> pending(statistics_.begin(), statistics_.end());
    while (!pending.empty()) {
      const ir::NodeId id = pending.back();
      pending.pop_back();
      if (!seen.insert(id).second) continue;
      if (const std::optional<ir::NodeId> reduction = graph_.reduction_read(id))
        values.insert({*reduction, graph_.access(id).source.index});
      else
        std::ranges::copy(operands(graph_, id), std::back_inserter(pending));
    }
    return values;
  }

  /// The shape of a reduction's values: its domain, with the reduced dims of size 1.
  Shape rows_of(ir::NodeId id) const {
    const ir::Reduction& reduction = graph_.reduction(id);
    Shape shape = reduction.domain;
    for (size_t d = 0; d < shape.size(); ++d)
      if (reduction.reduced[d]) shape[d] = one_;
    return shape;
  }

  Shape shape_of(ir::NodeId id) const {
    Shape shape;
    for (const std::optional<ir::HostId>& size : facts_[id.index].varying) shape.push_back(size.value_or(one_));
    std::ranges::reverse(shape);
    return shape;
  }

  std::string name_of(ir::NodeId id) const {
    if (const std::vector<std::string>& names = graph_.names(id); !names.empty()) return names.back();
    const bool is_reduction = graph_[id].op == ir::Op::Reduce;
    return fmt::format("row_{}", is_reduction ? ir::info(graph_.reduction(id).kind).name : "value");
  }

  const Builder& builder_;
  const ir::Graph& graph_;
  ir::HostId one_;
  ir::NodeId first_gradient_node_;
  std::vector<bool> is_needed_;  ///< for each node, whether the op's results depend on it
  std::vector<NodeFacts> facts_;
  std::set<ir::NodeId> seen_, statistics_;
  std::set<ReductionValue> reduction_values_;
};

/// For each node, whether the returned values depend on it.
std::vector<bool> needed_nodes(const ir::Graph& graph, const Value& returned) {
  std::vector<bool> needed(graph.count());
  for (const Value& result : results_of(returned))
    if (const Tensor* tensor = result.tensor())
      for (const ConcatBlock& block : tensor->blocks) needed[block.node.index] = true;
  for (size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (const ir::NodeId operand : operands(graph, {static_cast<uint32_t>(i)})) needed[operand.index] = true;
  return needed;
}

/// The upstream gradient with respect to a result, whose values are unknown: a load of a parameter that exists only in
/// the Trial.
Tensor unknown_gradient(Builder& builder, const Tensor& result) {
  const Shape shape = shape_of(builder, result);
  ir::Access access;
  access.source.index = static_cast<uint32_t>(builder.graph.params.size());
  access.offsets.assign(shape.size(), builder.integer(0));
  for (uint32_t dim = 0; dim < shape.size(); ++dim) access.dims.push_back({shape[dim], {{dim, builder.integer(1)}}});
  builder.graph.params.push_back({.name = "grad", .dtype = result.dtype, .shape = shape});
  Tensor tensor = whole(builder, builder.graph.load(result.dtype, std::move(access)), result.dtype, shape);
  tensor.handle = record_contiguous(builder, shape);
  return tensor;
}

std::vector<Argument> requested_arguments(std::span<const std::optional<Value>> arguments, uint64_t requested) {
  std::vector<Argument> result;
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    const Tensor* tensor = arguments[i] ? arguments[i]->tensor() : nullptr;
    if ((requested & ir::gradient_bit(i)) != 0 && tensor && ir::category(tensor->dtype) == ir::Category::Floating)
      result.push_back({i, *tensor});
  }
  return result;
}

void make_names_unique(std::vector<Residual>& residuals) {
  std::set<std::string> used_names;
  for (Residual& residual : residuals) {
    const std::string name = residual.name;
    for (int i = 1; !used_names.insert(residual.name).second; ++i) residual.name = fmt::format("{}_{}", name, i);
  }
}

}  // namespace

ir::NodeId node_of(Builder& builder, const Residual& residual) {
  if (!residual.value) return residual.node;
  ir::Graph& graph = builder.graph;
  const Shape& shape = residual.shape;
  ir::Access access{{ir::SourceRef::Kind::Reduce, *residual.value}, Shape(shape.size(), builder.integer(0)), {}, {}};
  for (uint32_t dim = 0; dim < shape.size(); ++dim) {
    const bool is_varying = !is_one(builder, shape[dim]);
    if (is_varying || !access.dims.empty()) access.dims.push_back({shape[dim], {}});
    if (is_varying) access.dims.back().terms = {{dim, builder.integer(1)}};
  }
  const ir::DType dtype = *residual.value == 0 ? graph[residual.node].dtype : ir::DType::I64;
  return graph.read(dtype, std::move(access), {residual.node});
}

std::vector<Residual> find_residuals(Evaluation& evaluation, const Definition& op,
                                     std::span<const std::optional<Value>> arguments, const Value& returned,
                                     uint64_t requested) {
  const ir::NodeId first_gradient_node{static_cast<uint32_t>(evaluation.graph.count())};
  const std::vector<bool> is_needed = needed_nodes(evaluation.graph, returned);
  const ir::HostId one = evaluation.integer(1);
  const Builder::Trial trial(evaluation);
  const auto param_count = static_cast<uint32_t>(evaluation.graph.params.size());
  Evaluation inside = evaluation.without_autocast().without_scatters();
  try {
    std::vector<std::optional<Value>> incoming;
    for (const Value& result : results_of(returned)) {
      const Tensor* tensor = result.tensor();
      const bool has_gradient = tensor && ir::category(tensor->dtype) == ir::Category::Floating;
      incoming.push_back(has_gradient ? std::optional(Value(unknown_gradient(inside, *tensor))) : std::nullopt);
    }
    const std::vector<Gradient> gradients =
        op_gradients(inside, op, arguments, returned, incoming, requested_arguments(arguments, requested));
    ResidualFinder finder(inside, one, first_gradient_node, param_count, is_needed);
    for (const Gradient& gradient : gradients)
      for (const ConcatBlock& block : gradient.tensor.blocks) finder.follow(block.node);
    std::vector<Residual> residuals = finder.residuals();
    make_names_unique(residuals);
    return residuals;
  } catch (const SpecializationRequest&) {  // do not specialise the op only for residuals
    return {};
  } catch (const Error& error) {  // reported when the gradient is requested
    if (error.fault() != Fault::Author) throw;
    return {};
  }
}

}  // namespace ingot::frontend
