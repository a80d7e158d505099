#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ir/graph.h"
#include "ir/host/equal_sizes.h"

// Verifies in two rounds: first that every id exists, so that the graph can be printed, then all other invariants.

namespace ingot::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    check_ids();
    printable_ = true;
    for (uint32_t i = 0; i < graph_.count(); ++i) {
      where_ = fmt::format("%{}", i);
      check_node({i});
    }
    for (const Result& result : graph_.results) {
      where_ = fmt::format("result {}", result.name);
      check_result(result);
    }
    for (size_t i = 0; i < graph_.eager_layouts.size(); ++i) {
      where_ = fmt::format("layout step {}", i);
      check_layout(i);
    }
    for (const Condition& condition : graph_.conditions) {
      where_ = "a condition";
      if (condition.kind == Condition::Kind::True || condition.kind == Condition::Kind::Computes) continue;
      check_integer(condition.a, "operand");
      if (has_two_operands(condition)) check_integer(condition.b, "operand");
    }
    for (const Static& fact : graph_.statics) {
      where_ = "a static value";
      const HostOp op = graph_.host[fact.symbol].op;
      expect(op == HostOp::Size || op == HostOp::Scalar, "its symbol is neither size nor scalar");
    }
  }

 private:
  void expect(bool holds, std::string_view complaint) const {
    if (holds) return;
    throw_internal(fmt::format("the graph of {} is broken: {}: {}", graph_.name, where_, complaint),
                   printable_ ? print(graph_) : "");
  }

  static bool has_two_operands(const Condition& condition) {
    return condition.kind == Condition::Kind::Equal || condition.kind == Condition::Kind::Broadcasts ||
           condition.kind == Condition::Kind::InRange || condition.kind == Condition::Kind::NonEmpty;
  }

  // First round

  void check_id(HostId id) const { expect(id.index < graph_.host.count(), "a host expression that does not exist"); }
  void check_ids(const std::vector<HostId>& ids) const {
    for (const HostId id : ids) check_id(id);
  }
  /// Checks terms over the dims of a tensor of this rank.
  void check_ids(const std::vector<Term>& terms, size_t rank) const {
    for (const Term& term : terms) {
      expect(term.dim < rank, "a term for a dim beyond the rank");
      check_id(term.coef);
    }
  }
  void check_ids(const Access& access) const {
    check_ids(access.offsets);
    for (const AccessDim& dim : access.dims) {
      check_id(dim.size);
      check_ids(dim.terms, access.offsets.size());
    }
    for (const IndirectIndex& indirect : access.indirect) {
      check_id(indirect.extent);
      check_ids(indirect.terms, access.offsets.size());
    }
  }

  void check_ids() {
    for (uint32_t i = 0; i < graph_.host.count(); ++i) {
      where_ = fmt::format("host expression {}", i);
      for (const HostId arg : graph_.host[{i}].args) {
        expect(arg.index < i, "its operands do not come before it");
      }
    }
    for (uint32_t i = 0; i < graph_.count(); ++i) {
      where_ = fmt::format("%{}", i);
      check_ids_of_node({i});
    }
    where_ = "the parameters";
    for (const Param& param : graph_.params) check_ids(param.shape);
    if (graph_.seed) {
      expect(*graph_.seed + 1 == graph_.params.size(), "the seed is not the last one");
      const Param& seed = graph_.params[*graph_.seed];
      const bool is_number = seed.kind == ParamKind::Tensor && seed.dtype == DType::I64 && seed.shape.empty();
      expect(is_number, "the seed is no int64 tensor without dims");
    }
    for (const Result& result : graph_.results) {
      where_ = fmt::format("result {}", result.name);
      check_ids(result.shape);
      expect(!result.mutates || *result.mutates < graph_.params.size(), "it mutates a parameter that does not exist");
      expect(!result.forwards || *result.forwards < graph_.params.size(),
             "it forwards a parameter that does not exist");
      for (const OutputBlock& block : result.blocks) {
        expect(block.node.index < graph_.count(), "a node that does not exist");
        check_ids(block.domain);
        check_ids(block.store);
        expect(block.store.indirect.empty(), "a store through indices");
      }
    }
    where_ = "a condition";
    for (const Condition& condition : graph_.conditions) {
      check_id(condition.a);
      if (has_two_operands(condition)) check_id(condition.b);
    }
    where_ = "a static value";
    for (const Static& fact : graph_.statics) check_id(fact.symbol);
    for (size_t i = 0; i < graph_.eager_layouts.size(); ++i) {
      where_ = fmt::format("layout step {}", i);
      check_ids_of_layout(i);
    }
    where_ = "a required view";
    for (const RequiredView& view : graph_.required_views) check_required_view(view);
  }

  void check_required_view(const RequiredView& view) const {
    const std::vector<LayoutStep>& steps = graph_.eager_layouts;
    expect(view.step < steps.size() && steps[view.step].kind == LayoutStep::Kind::Reshape, "it is of no reshape");
  }

  void check_ids_of_layout(size_t index) const {
    const LayoutStep& step = graph_.eager_layouts[index];
    check_ids(step.shape);
    for (const uint32_t input : step.inputs) {
      expect(input < index, "its inputs do not come before it");
    }
    if (step.kind != LayoutStep::Kind::View) return;
    expect(step.inputs.size() == 1, "a view of not one input");
    const size_t rank = graph_.eager_layouts[step.inputs[0]].shape.size();
    for (const std::vector<Term>& row : step.rows) check_ids(row, rank + 1);
  }

  void check_ids_of_node(NodeId id) const {
    const Node& node = graph_[id];
    for (const NodeId arg : node.args) {
      expect(arg.index < id.index, "its operands do not come before it");
      const bool reads = (node.op == Op::Load || node.op == Op::Gather) && arg == node.args[0];
      expect(graph_[arg].op != Op::Reduce || reads, "a reduction that is not read through an access");
    }
    switch (node.op) {
      case Op::Index:
        expect(node.attr < graph_.access_count(), "an access that does not exist");
        expect(graph_.access(id).source == SourceRef{SourceRef::Kind::Position, 0}, "it reads what is no position");
        check_ids(graph_.access(id));
        break;
      case Op::Load:
      case Op::Gather:
        expect(node.attr < graph_.access_count(), "an access that does not exist");
        expect(graph_.access(id).source.kind != SourceRef::Kind::Position, "it reads what is no memory");
        if (graph_.access(id).source.kind == SourceRef::Kind::Reduce)
          expect(!node.args.empty() && graph_[node.args[0]].op == Op::Reduce, "it reads no reduction");
        else
          expect(graph_.access(id).source.index < graph_.params.size(), "it reads a parameter that does not exist");
        check_ids(graph_.access(id));
        expect(graph_.access(id).indirect.size() == graph_.indices(id).size(),
               "not one operand for each gathered coordinate");
        break;
      case Op::Reduce:
        expect(node.attr < graph_.reduction_count(), "a reduction that does not exist");
        check_ids(graph_.reduction(id).domain);
        break;
      case Op::Scalar:
        check_id({node.attr});
        break;
      case Op::Call:
        expect(node.attr < graph_.callee_count(), "a function that does not exist");
        expect(!node.args.empty(), "a call without a body");
        break;
      default:
        break;
    }
  }

  // Second round

  void check_integer(HostId id, std::string_view what) const {
    expect(graph_.host.kind(id) != HostKind::Float, fmt::format("a float as {}", what));
  }

  void check_terms(const std::vector<Term>& terms) const {
    for (const Term& term : terms) check_integer(term.coef, "coefficient");
  }

  void check_access(const Access& access, size_t rank) const {
    expect(access.offsets.size() == rank, "not one offset for each dim of the source");
    for (const HostId offset : access.offsets) check_integer(offset, "offset");
    for (const AccessDim& dim : access.dims) {
      check_integer(dim.size, "size");
      check_terms(dim.terms);
    }
    for (const IndirectIndex& indirect : access.indirect) {
      check_integer(indirect.extent, "extent");
      check_terms(indirect.terms);
    }
  }

  void check_read(NodeId reduction, const Access& access, DType dtype) const {
    const Reduction& read = graph_.reduction(reduction);
    expect(access.source.index < info(read.kind).values, "it reads a value that the reduction does not give");
    expect(dtype == (access.source.index == 0 ? type(reduction) : DType::I64), "its dtype is not the value's");
    check_access(access, read.domain.size());
    for (const AccessDim& dim : access.dims)
      for (const Term& term : dim.terms) expect(!read.reduced[term.dim], "it moves along a dim that is reduced");
  }

  DType type(NodeId id) const { return graph_[id].dtype; }

  void check_node(NodeId id) const {
    const Node& node = graph_[id];
    const size_t arity = node.args.size();
    switch (node.op) {
      case Op::Load:
      case Op::Gather: {
        const Access& access = graph_.access(id);
        if (const std::optional<NodeId> reduction = graph_.reduction_read(id)) {
          check_read(*reduction, access, node.dtype);
        } else {
          const Param& param = graph_.params[access.source.index];
          expect(param.kind == ParamKind::Tensor, "it reads a parameter that is no tensor");
          expect(param.dtype == node.dtype, "its dtype is not the parameter's");
          check_access(access, param.shape.size());
        }
        expect(graph_.indices(id).empty() == (node.op == Op::Load), "a gather without indices");
        for (const NodeId arg : graph_.indices(id)) {
          expect(category(type(arg)) == Category::Integral, "an index that is no integer");
        }
        break;
      }
      case Op::Scalar: {
        expect(arity == 0, "a scalar with operands");
        const auto kind = static_cast<int>(graph_.host.kind(graph_.host_of(id)));
        expect(kind <= static_cast<int>(category(node.dtype)), "a host value of a kind that its dtype cannot hold");
        break;
      }
      case Op::Index:
        expect(arity == 0 && node.dtype == DType::I64, "an index is int64 and has no operands");
        check_access(graph_.access(id), 1);
        expect(graph_.host.is_int(graph_.access(id).offsets[0], 0), "an index to which something is added");
        expect(graph_.access(id).indirect.empty(), "an index that is gathered");
        break;
      case Op::Cast:
        expect(arity == 1, "a cast has one operand");
        break;
      case Op::Bitcast:
        expect(arity == 1 && size_of(type(node.args[0])) == size_of(node.dtype),
               "a bit cast has one operand, of the same width");
        break;
      case Op::Call:
        expect(type(node.args[0]) == node.dtype, "its dtype is not that of its body");
        break;
      case Op::Reduce: {
        const Reduction& reduction = graph_.reduction(id);
        expect(arity == 1 && type(node.args[0]) == node.dtype, "it has one operand, of its own type");
        expect(!is_narrow_float(node.dtype), "16-bit floats are reduced in float32");
        expect(info(reduction.kind).accepts.contains(node.dtype), "a type that the reduction does not take");
        expect(reduction.reduced.size() == reduction.domain.size(), "not one mark for each dim");
        for (const HostId size : reduction.domain) check_integer(size, "size");
        break;
      }
      default:
        check_primitive(node);
    }
  }

  void check_primitive(const Node& node) const {
    const OpInfo& row = info(node.op);
    expect(node.args.size() == static_cast<size_t>(row.arity), "a wrong number of operands");
    const auto all_are = [&](DType wanted, size_t from = 0) {
      return std::all_of(node.args.begin() + static_cast<std::ptrdiff_t>(from), node.args.end(),
                         [&](NodeId arg) { return type(arg) == wanted; });
    };
    const DType work = row.rule == Rule::Compare ? type(node.args[0]) : node.dtype;
    expect(row.accepts.contains(work), "a type that the op does not take");
    const bool may_contract =
        node.dtype == DType::F32 && (node.op == Op::Add || node.op == Op::Sub || node.op == Op::Mul);
    const bool has_mark =
        (may_contract && node.attr == kContractable) || (node.op == Op::Where && node.attr == kEagerArms);
    expect(node.attr == 0 || has_mark, "an attr that the op does not have");
    switch (row.rule) {
      case Rule::Arith:
        expect(all_are(node.dtype), "operands of another type");
        break;
      case Rule::Float:
        expect(all_are(node.dtype), "operands of another type");
        expect(is_floating(node.dtype), "a result that is not floating");
        break;
      case Rule::Compare:
        expect(all_are(work), "operands of two types");
        expect(node.dtype == DType::Bool, "a result that is not bool");
        break;
      case Rule::Logical:
        expect(all_are(DType::Bool) && node.dtype == DType::Bool, "a type that is not bool");
        break;
      case Rule::Select:
        expect(type(node.args[0]) == DType::Bool, "a condition that is not bool");
        expect(all_are(node.dtype, 1), "an arm of another type");
        break;
    }
  }

  void check_mutation(const Result& result) const {
    if (!result.mutates) return;
    const Param& param = graph_.params[*result.mutates];
    expect(param.kind == ParamKind::Tensor, "it mutates a parameter that is no tensor");
    expect(param.dtype == result.dtype, "its dtype is not that of the parameter that it mutates");
    expect(param.shape.size() == result.shape.size(), "its rank is not that of the parameter that it mutates");
    expect(std::ranges::count(graph_.results, result.mutates, &Result::mutates) == 1,
           "another result mutates the same parameter");
  }

  void check_forwarding(const Result& result) const {
    if (!result.forwards) return;
    const Param& param = graph_.params[*result.forwards];
    expect(!result.mutates, "it is written, and forwards a parameter");
    expect(param.kind == ParamKind::Tensor && param.dtype == result.dtype, "it forwards what has another type");
    expect(std::ranges::equal(param.shape, result.shape, EqualSizes(graph_.host, graph_.conditions)),
           "it forwards what has another shape");
  }

  void check_sum(const Result& result) const {
    expect(!result.beside || !result.scatters.empty(), "it is a sum of one result");
    const auto check_summed = [&](uint32_t index) {
      expect(index < graph_.results.size(), "it is a sum of what does not exist");
      expect(graph_.results[index].use == Use::Summed, "it is a sum of what is returned");
    };
    if (result.beside) {
      check_summed(*result.beside);
      expect(std::ranges::equal(graph_.results[*result.beside].shape, result.shape,
                                EqualSizes(graph_.host, graph_.conditions)),
             "it is a sum of what has another shape");
    }
    for (const Scatter& scatter : result.scatters) {
      check_summed(scatter.values);
      check_summed(scatter.positions);
      const Result &values = graph_.results[scatter.values], &positions = graph_.results[scatter.positions];
      expect(positions.dtype == DType::I64 && category(values.dtype) == Category::Floating, "sums of other types");
      expect(positions.shape.size() + scatter.along.size() == values.shape.size(), "values of another rank");
      std::vector<uint32_t> dims = scatter.through;
      dims.insert(dims.end(), scatter.along.begin(), scatter.along.end());
      std::ranges::sort(dims);
      bool are_all = dims.size() == result.shape.size();
      for (uint32_t dim = 0; are_all && dim < dims.size(); ++dim) are_all = dims[dim] == dim;
      expect(are_all, "its dims are not those that positions and values have");
    }
  }

  void check_result(const Result& result) const {
    check_mutation(result);
    check_forwarding(result);
    for (const HostId size : result.shape) check_integer(size, "size");
    const bool is_made_otherwise = result.forwards.has_value() || !result.scatters.empty();
    expect(result.blocks.empty() == is_made_otherwise, "it has no parts, or some beside what it forwards or sums up");
    check_sum(result);
    expect(graph_.eager_layouts.empty() || result.layout < graph_.eager_layouts.size(),
           "a layout step that does not exist");
    for (const OutputBlock& block : result.blocks) {
      expect(type(block.node) == result.dtype, "a part of another type");
      for (const HostId size : block.domain) check_integer(size, "size");
      check_access(block.store, result.shape.size());
      expect(block.store.dims.size() <= block.domain.size(), "a store with more dims than its domain");
    }
  }

  void check_layout(size_t index) const {
    const LayoutStep& step = graph_.eager_layouts[index];
    for (const HostId size : step.shape) check_integer(size, "size");
    using Kind = LayoutStep::Kind;
    const size_t inputs = step.inputs.size();
    switch (step.kind) {
      case Kind::Param:
        expect(step.param < graph_.params.size() && graph_.params[step.param].kind == ParamKind::Tensor,
               "it is of no tensor parameter");
        break;
      case Kind::View:
        expect(step.rows.size() == step.shape.size(), "not one row for each dim");
        for (const std::vector<Term>& row : step.rows) check_terms(row);
        break;
      case Kind::Reshape:
      case Kind::Preserve:
      case Kind::Unformatted:
        expect(inputs == 1, "it has one input");
        break;
      case Kind::Pad:
        expect(inputs == 2, "it has two inputs");
        break;
      case Kind::Gather:
        expect(inputs >= 2 && step.dims.size() + 1 == inputs, "not one dim for each index");
        break;
      case Kind::ChannelsLast:
        expect(step.shape.size() == 4 || step.shape.size() == 5, "no channels to be last");
        break;
      case Kind::Pointwise:
      case Kind::Contiguous:
      case Kind::Cat:
        break;
    }
  }

  const Graph& graph_;
  std::string where_;
  bool printable_ = false;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace ingot::ir
