#include "frontend/gradient/differentiate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "frontend/gradient/indexed_value.h"
#include "frontend/gradient/reduction_gradient.h"
#include "frontend/gradient/transpose.h"
#include "frontend/interpret/interpreter.h"
#include "frontend/library/library.h"
#include "frontend/tensor/layouts.h"
#include "frontend/tensor/promotion.h"
#include "frontend/tensor/reindex.h"
#include "frontend/tensor/tensors.h"
#include "ir/rows.h"

// Reverse-mode differentiation. Nodes are functions of an index, and so are their adjoints. A block of a result, and
// the operand of a reduction, is a function over its own shape, called a space here. Within a space, adjoints propagate
// from node to node, by the rule of each op, until they reach reads. The transpose of a read's access then maps its
// adjoint back to the source.
//
// The rules are library functions in frontend/library/derivatives.py: `_exp_backward(grad, result, input)`. A native
// function that has its own rule is differentiated by it; any other is differentiated through its body.

namespace ingot::frontend {
namespace {

/// The gradient with respect to a node's value, at an index. If the adjoint has a mask and the mask is false, the
/// node's value was not used, and the adjoint is meaningless.
struct Adjoint {
  ir::NodeId value;
  std::optional<ir::NodeId> mask = {};
};

/// A read of a source (a parameter or a reduction), with its adjoint.
struct Read {
  ir::NodeId load;
  IndexedValue adjoint;
  std::optional<ir::NodeId> mask = {};  ///< if false, the adjoint is 0
};

class Reverse {
 public:
  Reverse(Evaluation& evaluation, std::span<const Argument> arguments)
      : evaluation_(evaluation), graph_(evaluation.graph) {
    for (const Argument& argument : arguments) reads_of_param_.emplace(argument.param, std::vector<Read>());
  }

  void start_from(const Cotangent& cotangent) {
    if (ir::category(cotangent.value.dtype) != ir::Category::Floating) return;
    const std::array both{cotangent.value, cotangent.gradient};
    for (const AlignedBlock& aligned : aligned_blocks(evaluation_, both).blocks) {
      const ConcatBlock& value = aligned.blocks[0];
      const ir::DType dtype = ir::compute_type(graph_[value.node].dtype);
      add(space_of(value.shape), value.node, {cast_to(aligned.blocks[1].node, dtype)});
    }
  }

  void run() {
    while (!pending_.empty()) {
      auto [node, pending] = *pending_.begin();
      pending_.erase(pending_.begin());
      if (graph_[node].op == ir::Op::Reduce) propagate_through_reduction(node, pending.reads);
      for (const auto& [space, adjoint] : pending.adjoints) propagate(space, node, adjoint);
      evaluation_.check_limits();
    }
  }

  Gradient gradient(const Argument& argument) {
    const Shape shape = shape_of(evaluation_, argument.tensor);
    const ir::DType dtype = ir::compute_type(argument.tensor.dtype);
    const std::vector<Read>& reads = reads_of_param_.at(argument.param);
    ScatteredSum sum;
    std::vector<Read> other_reads;
    for (const Read& read : reads)
      if (std::optional<TensorScatterAdd> part = scatter_add_of(read, shape))
        sum.scatter_adds.push_back(*std::move(part));
      else
        other_reads.push_back(read);
    Gradient gradient{sum.scatter_adds.empty() || !other_reads.empty() ? sum_of(other_reads, shape, dtype)
                                                                       : zeros(shape, dtype)};
    if (!sum.scatter_adds.empty()) {
      if (!other_reads.empty()) sum.addend = std::exchange(gradient.tensor, zeros(shape, dtype));
      gradient.sum = std::move(sum);
    }
    gradient.tensor.dtype = argument.tensor.dtype;
    return gradient;
  }

 private:
  struct PendingAdjoints {
    std::map<uint32_t, Adjoint> adjoints;  ///< by space
    std::vector<Read> reads;               ///< of the node, if it is a reduction
  };

  /// Whether floating-point elements of a requested argument flow into a node. The node may be newer than the results:
  /// if a gradient and its result have different blocks, aligning the blocks creates new nodes.
  bool depends(ir::NodeId node) {
    while (depends_.size() <= node.index) depends_.push_back(compute_depends({static_cast<uint32_t>(depends_.size())}));
    return depends_[node.index];
  }

  bool compute_depends(ir::NodeId id) const {
    const ir::Node& node = graph_[id];
    if (ir::category(node.dtype) != ir::Category::Floating || is_detached(id)) return false;
    const bool is_read = node.op == ir::Op::Load || node.op == ir::Op::Gather;
    if (is_read && !graph_.reduction_read(id)) return reads_of_param_.contains(graph_.access(id).source.index);
    return std::ranges::any_of(node.args, [&](ir::NodeId arg) { return depends_[arg.index]; });
  }

  bool is_detached(ir::NodeId id) const { return graph_[id].op == ir::Op::Call && graph_.callee(id) == ir::kDetach; }

  uint32_t space_of(const Shape& shape) {
    const auto known =
        std::ranges::find_if(spaces_, [&](const Shape& other) { return same_shape(evaluation_, shape, other); });
    if (known != spaces_.end()) return static_cast<uint32_t>(known - spaces_.begin());
    spaces_.push_back(shape);
    return static_cast<uint32_t>(spaces_.size() - 1);
  }

  ir::NodeId cast_to(ir::NodeId node, ir::DType dtype) {
    return graph_[node].dtype == dtype ? node : graph_.add(ir::Op::Cast, dtype, {node});
  }

  ir::NodeId logical(ir::Op op, ir::NodeId a, ir::NodeId b) { return graph_.add(op, ir::DType::Bool, {a, b}); }

  ir::NodeId masked_value(const Adjoint& adjoint) {
    return adjoint.mask ? value_where(evaluation_, *adjoint.mask, adjoint.value) : adjoint.value;
  }

  /// Whether condition `b` is the negation of condition `a`.
  bool is_opposite(ir::NodeId a, ir::NodeId b) const {
    return graph_[b].op == ir::Op::LogicalNot && graph_[b].args[0] == a;
  }

  /// The sum of two adjoints of one node; an adjoint counts as 0 if its mask is false.
  Adjoint sum(const Adjoint& a, const Adjoint& b) {
    const ir::DType dtype = graph_[a.value].dtype;
    if (a.mask == b.mask) return {graph_.add(ir::Op::Add, dtype, {a.value, b.value}), a.mask};
    if (a.mask && b.mask) {
      if (is_opposite(*a.mask, *b.mask)) return {graph_.add(ir::Op::Where, dtype, {*a.mask, a.value, b.value})};
      if (is_opposite(*b.mask, *a.mask)) return {graph_.add(ir::Op::Where, dtype, {*b.mask, b.value, a.value})};
    }
    Adjoint result{graph_.add(ir::Op::Add, dtype, {masked_value(a), masked_value(b)})};
    if (a.mask && b.mask) result.mask = logical(ir::Op::LogicalOr, *a.mask, *b.mask);
    return result;
  }

  /// Adds an adjoint to the pending adjoint of a node over the same space.
  void add(uint32_t space, ir::NodeId node, Adjoint adjoint) {
    if (!depends(node)) return;
    adjoint.value = cast_to(adjoint.value, ir::compute_type(graph_[node].dtype));
    auto [entry, inserted] = pending_[node].adjoints.try_emplace(space, adjoint);
    if (!inserted) entry->second = sum(entry->second, adjoint);
  }

  void propagate(uint32_t space, ir::NodeId id, const Adjoint& adjoint) {
    const ir::Node node = graph_[id];
    switch (node.op) {
      case ir::Op::Load:
      case ir::Op::Gather: {
        const auto reduction = graph_.reduction_read(id);
        std::vector<Read>& reads =
            reduction ? pending_[*reduction].reads : reads_of_param_.at(graph_.access(id).source.index);
        reads.push_back({id, {masked_value(adjoint), spaces_[space]}, adjoint.mask});
        return;
      }
      case ir::Op::Cast:
        return add(space, node.args[0], adjoint);
      case ir::Op::Where: {
        const ir::NodeId condition = node.args[0];
        add(space, node.args[1], masked_by(adjoint, condition));
        add(space, node.args[2], masked_by(adjoint, graph_.add(ir::Op::LogicalNot, ir::DType::Bool, {condition})));
        return;
      }
      case ir::Op::Call:
        return propagate_through_call(space, id, adjoint);
      default:
        if (ir::is_primitive(node.op)) return propagate_through_primitive(space, id, adjoint);
    }
  }

  Adjoint masked_by(const Adjoint& adjoint, ir::NodeId condition) {
    return {adjoint.value, adjoint.mask ? logical(ir::Op::LogicalAnd, *adjoint.mask, condition) : condition};
  }

  Value tensor_over(uint32_t space, ir::NodeId node) {
    return tensor_of(evaluation_, {cast_to(node, ir::compute_type(graph_[node].dtype)), spaces_[space]});
  }

  /// The library function that is the derivative rule of `name`; null if the function is differentiated through its
  /// body.
  static const LibraryFunction* rule_of(std::string_view name) {
    name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
    return find_library_function(fmt::format("_{}_backward", name));
  }

  static bool has_low_precision_output(std::span<const Value> arguments) {
    return std::ranges::any_of(arguments, [](const Value& argument) {
      return argument.is_tensor() && ir::is_narrow_float(argument.as<std::shared_ptr<Tensor>>()->dtype);
    });
  }

  /// Calls a rule for the op or function that computes node `id` from `arguments`. Returns, for each argument, the term
  /// to add to the gradient with respect to it, or None.
  std::vector<Value> derivatives(const LibraryFunction& rule, uint32_t space, ir::NodeId id, const Adjoint& adjoint,
                                 std::vector<Value> arguments, bool is_low_precision) {
    Evaluation inside = evaluation_.inside_native();
    inside.has_low_precision_output = is_low_precision;
    Function function;
    function.module = rule.module, function.id = rule.id;
    Arguments call_arguments{{tensor_over(space, adjoint.value), tensor_over(space, id)}, {}};
    std::ranges::move(arguments, std::back_inserter(call_arguments.positional));
    const Value result = call(inside, std::make_shared<const Function>(std::move(function)), std::move(call_arguments));
    if (const std::vector<Value>* items = result.items()) return *items;
    return {result};
  }

  /// Adds `value`, which a rule returned for the operand `node`. `adjoint` is that of the node to which the rule
  /// applies.
  void add_value(uint32_t space, ir::NodeId node, const Value& value, const Adjoint& adjoint) {
    if (value.is_none()) return;
    if (value.is<std::string>()) {  // the name of a function without a derivative
      if (depends(node)) fail_without_rule(node, value.as<std::string>());
      return;
    }
    if (!value.is_tensor()) throw_internal("a derivative is not a tensor");
    const IndexedValue derivative = indexed_value_of(evaluation_, *value.tensor());
    if (derivative.shape.size() != spaces_[space].size())
      throw_internal("a derivative has another rank than its operand");
    add(space, node, {derivative.node, adjoint.mask});
  }

  [[noreturn]] void fail_without_rule(ir::NodeId id, std::string_view name) {
    const LocationGuard location(evaluation_.diagnostics, graph_.span(id));
    evaluation_.fail(fmt::format("the derivative for '{}' is not implemented", name),
                     "detach its operands: x.detach()");
  }

  void propagate_through_primitive(uint32_t space, ir::NodeId id, const Adjoint& adjoint) {
    const ir::Node node = graph_[id];
    const std::string_view name = ir::info(node.op).name;
    const LibraryFunction* rule = rule_of(name);
    if (!rule) fail_without_rule(id, name.substr(name.starts_with('_')));
    std::vector<Value> operands;
    for (const ir::NodeId arg : node.args) operands.push_back(tensor_over(space, arg));
    const bool is_low_precision = ir::is_narrow_float(node.dtype);
    const std::vector<Value> values = derivatives(*rule, space, id, adjoint, std::move(operands), is_low_precision);
    for (size_t k = 0; k < std::min(values.size(), node.args.size()); ++k)
      add_value(space, node.args[k], values[k], adjoint);
  }

  void propagate_through_call(uint32_t space, ir::NodeId id, const Adjoint& adjoint) {
    const ir::Node node = graph_[id];
    if (graph_.callee(id) == ir::kCustomGradient) return add(space, node.args[1], adjoint);
    const TapedCall* taped = evaluation_.tape->find(graph_.callee(id));
    const LibraryFunction* rule = taped ? rule_of(taped->function) : nullptr;
    if (!rule) return add(space, node.args[0], adjoint);
    std::vector<Value> arguments = taped->arguments;
    std::vector<std::optional<ir::NodeId>> operands(arguments.size());
    size_t next = 1;  // after the body
    for (size_t k = 0; k < arguments.size(); ++k) {
      const bool is_number = arguments[k].is_number() && graph_.host.kind(arguments[k].number()) != ir::HostKind::Bool;
      if (!arguments[k].is_tensor() && !is_number) continue;
      if (arguments[k].is_tensor()) {
        operands[k] = node.args.at(next);
        arguments[k] = tensor_over(space, *operands[k]);
      }
      ++next;
    }
    const bool is_low_precision = has_low_precision_output(taped->arguments);
    const std::vector<Value> values = derivatives(*rule, space, id, adjoint, std::move(arguments), is_low_precision);
    for (size_t k = 0; k < std::min(values.size(), operands.size()); ++k)
      if (operands[k]) add_value(space, *operands[k], values[k], adjoint);
  }

  void propagate_through_reduction(ir::NodeId id, const std::vector<Read>& reads) {
    const ir::Reduction reduction = graph_.reduction(id);
    Shape rows = reduction.domain;
    for (size_t dim = 0; dim < rows.size(); ++dim)
      if (reduction.reduced[dim]) rows[dim] = evaluation_.integer(1);
    const IndexedValue row_gradient =
        indexed_value_of(evaluation_, sum_of(reads, rows, ir::compute_type(graph_[id].dtype)));
    const MaskedGradient gradient = reduction_gradient(evaluation_, id, row_gradient);
    add(space_of(reduction.domain), graph_[id].args[0], {gradient.value, gradient.mask});
  }

  /// The indices of a gather. An index that is itself gathered is evaluated only if the mask of the read is true;
  /// otherwise the index is out of range.
  std::vector<ir::NodeId> indices_of(const Read& read) {
    const auto args = graph_.indices(read.load);
    std::vector<ir::NodeId> indices(args.begin(), args.end());
    if (!read.mask) return indices;
    for (ir::NodeId& index : indices) {
      const std::vector<ir::NodeId> dependencies = ir::nodes_of(graph_, {index});
      if (std::ranges::none_of(dependencies, [&](ir::NodeId id) { return graph_[id].op == ir::Op::Gather; })) continue;
      index = graph_.add(ir::Op::Where, ir::DType::I64,
                         {*read.mask, cast_to(index, ir::DType::I64), index_outside(evaluation_)});
    }
    return indices;
  }

  std::optional<TensorScatterAdd> scatter_add_of(const Read& read, const Shape& source) {
    if (!evaluation_.may_scatter) return std::nullopt;
    const ir::Access access = graph_.access(read.load);
    const std::vector<ir::NodeId> indices = indices_of(read);
    const IndexedValue values = sum_unindexed_dims(evaluation_, read.adjoint, access, indices);
    return as_scatter_add(evaluation_, values, access, indices, source);
  }

  Tensor zeros(const Shape& shape, ir::DType dtype) {
    return filled(evaluation_, shape, Number{graph_.host.real(0.0)}, dtype);
  }

  /// The gradient with respect to a source of shape `source`: the sum of the transposed adjoints of these reads.
  Tensor sum_of(const std::vector<Read>& reads, const Shape& source, ir::DType dtype) {
    std::optional<Tensor> sum;
    for (const Read& read : reads) {
      const ir::Access access = graph_.access(read.load);
      const std::vector<ir::NodeId> indices = indices_of(read);
      const LocationGuard location(evaluation_.diagnostics, graph_.span(read.load));
      const IndexedValue values = sum_unindexed_dims(evaluation_, read.adjoint, access, indices);
      Tensor term = transposed(evaluation_, values, access, indices, source);
      sum = sum ? added(evaluation_, *sum, term) : std::move(term);
    }
    return sum ? *sum : zeros(source, dtype);
  }

  Evaluation& evaluation_;
  ir::Graph& graph_;
  std::vector<bool> depends_;  ///< cached results of `depends`, for all nodes up to the newest one queried
  std::vector<Shape> spaces_;  ///< the shape of each space; a space is given by its index here
  std::map<ir::NodeId, PendingAdjoints, std::greater<>>
      pending_;  ///< newest first: all users of a node are processed before the node
  std::map<uint32_t, std::vector<Read>> reads_of_param_;  ///< the reads of each argument
};

}  // namespace

std::vector<Gradient> gradients(Evaluation& evaluation, std::span<const Cotangent> cotangents,
                                std::span<const Argument> arguments) {
  std::vector<Gradient> results;
  {
    Evaluation inside = evaluation.inside_native();
    Reverse reverse(inside, arguments);
    for (const Cotangent& cotangent : cotangents) reverse.start_from(cotangent);
    reverse.run();
    for (const Argument& argument : arguments) results.push_back(reverse.gradient(argument));
  }
  for (size_t i = 0; i < results.size(); ++i)
    results[i].tensor.handle =
        record_preserve(evaluation, arguments[i].tensor.handle, shape_of(evaluation, results[i].tensor));
  return results;
}

}  // namespace ingot::frontend
