#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ir/graph.h"
#include "ir/host/equal_sizes.h"

// Verifies in two rounds: first that every id exists, so that errors of the second round can print the graph; then all
// other invariants.

namespace ingot::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    check_ids();
    is_printable_ = true;
    for (uint32_t i = 0; i < graph_.count(); ++i) {
      location_ = fmt::format("%{}", i);
      check_node({i});
    }
    for (const Result& result : graph_.results) {
      location_ = fmt::format("result {}", result.name);
      check_result(result);
    }
    for (size_t i = 0; i < graph_.eager_layouts.size(); ++i) {
      location_ = fmt::format("layout step {}", i);
      check_layout(i);
    }
    for (const Condition& condition : graph_.conditions) {
      location_ = "a condition";
      if (condition.kind == Condition::Kind::True || condition.kind == Condition::Kind::RaisesNothing) continue;
      check_integer(condition.a, "operand");
      if (has_two_operands(condition)) check_integer(condition.b, "operand");
    }
    for (const Static& fact : graph_.statics) {
      location_ = "a static value";
      const HostOp op = graph_.host[fact.symbol].op;
      expect(op == HostOp::Size || op == HostOp::Scalar, "its symbol is neither size nor scalar");
    }
  }

 private:
  void expect(bool holds, std::string_view violation) const {
    if (holds) return;
    throw_internal(fmt::format("invalid graph of {}: {}: {}", graph_.name, location_, violation),
                   is_printable_ ? print(graph_) : "");
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
      location_ = fmt::format("host expression {}", i);
      for (const HostId arg : graph_.host[{i}].args) {
        expect(arg.index < i, "its operands do not come before it");
      }
    }
    for (uint32_t i = 0; i < graph_.count(); ++i) {
      location_ = fmt::format("%{}", i);
      check_ids_of_node({i});
    }
    location_ = "the parameters";
    for (const Param& param : graph_.params) check_ids(param.shape);
    if (graph_.seed) {
      expect(*graph_.seed + 1 == graph_.params.size(), "the seed is not the last parameter");
      const Param& seed = graph_.params[*graph_.seed];
      const bool is_number = seed.kind == ParamKind::Tensor && seed.dtype == DType::I64 && seed.shape.empty();
      expect(is_number, "the seed is not an int64 tensor without dims");
    }
    for (const Result& result : graph_.results) {
      location_ = fmt::format("result {}", result.name);
      check_ids(result.shape);
      expect(!result.mutates || *result.mutates < graph_.params.size(), "it mutates a parameter that does not exist");
      expect(!result.forwards || *result.forwards < graph_.params.size(),
             "it forwards a parameter that does not exist");
      for (const OutputBlock& block : result.blocks) {
        expect(block.node.index < graph_.count(), "a node that does not exist");
        check_ids(block.domain);
        check_ids(block.store);
        expect(block.store.indirect.empty(), "a store has indirect indices");
      }
    }
    location_ = "a condition";
    for (const Condition& condition : graph_.conditions) {
      check_id(condition.a);
      if (has_two_operands(condition)) check_id(condition.b);
    }
    location_ = "a static value";
    for (const Static& fact : graph_.statics) check_id(fact.symbol);
    for (size_t i = 0; i < graph_.eager_layouts.size(); ++i) {
      location_ = fmt::format("layout step {}", i);
      check_ids_of_layout(i);
    }
    location_ = "a required view";
    for (const RequiredView& view : graph_.required_views) check_required_view(view);
  }

  void check_required_view(const RequiredView& view) const {
    const std::vector<LayoutStep>& steps = graph_.eager_layouts;
    expect(view.step < steps.size() && steps[view.step].kind == LayoutStep::Kind::Reshape, "its step is not a reshape");
  }

  void check_ids_of_layout(size_t index) const {
    const LayoutStep& step = graph_.eager_layouts[index];
    check_ids(step.shape);
    for (const uint32_t input : step.inputs) {
      expect(input < index, "its inputs do not come before it");
    }
    if (step.kind != LayoutStep::Kind::View) return;
    expect(step.inputs.size() == 1, "a view must have one input");
    const size_t rank = graph_.eager_layouts[step.inputs[0]].shape.size();
    for (const std::vector<Term>& row : step.stride_map) check_ids(row, rank + 1);
  }

  void check_ids_of_node(NodeId id) const {
    const Node& node = graph_[id];
    for (const NodeId arg : node.args) {
      expect(arg.index < id.index, "its operands do not come before it");
      const bool reads = (node.op == Op::Load || node.op == Op::Gather) && arg == node.args[0];
      expect(graph_[arg].op != Op::Reduce || reads, "a reduction is used without an access");
    }
    switch (node.op) {
      case Op::Index:
        expect(node.attr < graph_.access_count(), "an access that does not exist");
        expect(graph_.access(id).source == SourceRef{SourceRef::Kind::Position, 0},
               "its access does not read positions");
        check_ids(graph_.access(id));
        break;
      case Op::Load:
      case Op::Gather:
        expect(node.attr < graph_.access_count(), "an access that does not exist");
        expect(graph_.access(id).source.kind != SourceRef::Kind::Position, "its access reads positions");
        if (graph_.access(id).source.kind == SourceRef::Kind::Reduce)
          expect(!node.args.empty() && graph_[node.args[0]].op == Op::Reduce, "its first operand is not a reduction");
        else
          expect(graph_.access(id).source.index < graph_.params.size(), "it reads a parameter that does not exist");
        check_ids(graph_.access(id));
        expect(graph_.access(id).indirect.size() == graph_.indices(id).size(),
               "it does not have one operand for each indirect index");
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
        expect(!node.args.empty(), "a call has no body");
        break;
      default:
        break;
    }
  }

  // Second round

  void check_integer(HostId id, std::string_view what) const {
    expect(graph_.host.kind(id) != HostKind::Float, fmt::format("a float is used as {}", what));
  }

  void check_terms(const std::vector<Term>& terms) const {
    for (const Term& term : terms) check_integer(term.coef, "coefficient");
  }

  void check_access(const Access& access, size_t rank) const {
    expect(access.offsets.size() == rank, "it does not have one offset for each dim of the source");
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
    expect(access.source.index < info(read.kind).value_count, "it reads a value that the reduction does not have");
    expect(dtype == (access.source.index == 0 ? type(reduction) : DType::I64),
           "its dtype is not that of the reduction's value");
    check_access(access, read.domain.size());
    for (const AccessDim& dim : access.dims)
      for (const Term& term : dim.terms) expect(!read.reduced[term.dim], "its access moves along a reduced dim");
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
          expect(param.kind == ParamKind::Tensor, "it reads a parameter that is not a tensor");
          expect(param.dtype == node.dtype, "its dtype is not that of its parameter");
          check_access(access, param.shape.size());
        }
        expect(graph_.indices(id).empty() == (node.op == Op::Load), "a gather must have indices, and a load none");
        for (const NodeId arg : graph_.indices(id)) {
          expect(category(type(arg)) == Category::Integral, "an index is not an integer");
        }
        break;
      }
      case Op::Scalar: {
        expect(arity == 0, "a scalar has operands");
        const auto kind = static_cast<int>(graph_.host.kind(graph_.host_of(id)));
        expect(kind <= static_cast<int>(category(node.dtype)), "its dtype cannot hold the kind of its host value");
        break;
      }
      case Op::Index:
        expect(arity == 0 && node.dtype == DType::I64, "an index must be int64 and have no operands");
        check_access(graph_.access(id), 1);
        expect(graph_.host.is_int(graph_.access(id).offsets[0], 0), "an index has an offset");
        expect(graph_.access(id).indirect.empty(), "an index has indirect indices");
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
        expect(arity == 1 && type(node.args[0]) == node.dtype, "it must have one operand, of its own type");
        expect(!is_narrow_float(node.dtype), "narrow floats must be reduced in float32");
        expect(info(reduction.kind).accepts.contains(node.dtype), "the reduction does not accept its type");
        expect(reduction.reduced.size() == reduction.domain.size(), "it does not have one reduction flag for each dim");
        for (const HostId size : reduction.domain) check_integer(size, "size");
        break;
      }
      default:
        check_primitive(node);
    }
  }

  void check_primitive(const Node& node) const {
    const OpInfo& row = info(node.op);
    expect(node.args.size() == static_cast<size_t>(row.arity), "wrong number of operands");
    const auto all_are = [&](DType expected, size_t from = 0) {
      return std::all_of(node.args.begin() + static_cast<std::ptrdiff_t>(from), node.args.end(),
                         [&](NodeId arg) { return type(arg) == expected; });
    };
    const DType operand_dtype = row.rule == Rule::Compare ? type(node.args[0]) : node.dtype;
    expect(row.accepts.contains(operand_dtype), "the op does not accept its type");
    const bool may_contract =
        node.dtype == DType::F32 && (node.op == Op::Add || node.op == Op::Sub || node.op == Op::Mul);
    const bool has_valid_attr =
        (may_contract && node.attr == kContractable) || (node.op == Op::Where && node.attr == kEagerArms);
    expect(node.attr == 0 || has_valid_attr, "an attr that the op does not allow");
    switch (row.rule) {
      case Rule::Arith:
        expect(all_are(node.dtype), "operands have another type");
        break;
      case Rule::Float:
        expect(all_are(node.dtype), "operands have another type");
        expect(is_floating(node.dtype), "the result is not floating");
        break;
      case Rule::Compare:
        expect(all_are(operand_dtype), "operands have two types");
        expect(node.dtype == DType::Bool, "the result is not bool");
        break;
      case Rule::Logical:
        expect(all_are(DType::Bool) && node.dtype == DType::Bool, "a type is not bool");
        break;
      case Rule::Select:
        expect(type(node.args[0]) == DType::Bool, "the condition is not bool");
        expect(all_are(node.dtype, 1), "an arm has another type");
        break;
    }
  }

  void check_mutation(const Result& result) const {
    if (!result.mutates) return;
    const Param& param = graph_.params[*result.mutates];
    expect(param.kind == ParamKind::Tensor, "it mutates a parameter that is not a tensor");
    expect(param.dtype == result.dtype, "its dtype is not that of the parameter that it mutates");
    expect(param.shape.size() == result.shape.size(), "its rank is not that of the parameter that it mutates");
    expect(std::ranges::count(graph_.results, result.mutates, &Result::mutates) == 1,
           "another result mutates the same parameter");
  }

  void check_forwarding(const Result& result) const {
    if (!result.forwards) return;
    const Param& param = graph_.params[*result.forwards];
    expect(!result.mutates, "it both mutates and forwards a parameter");
    expect(param.kind == ParamKind::Tensor && param.dtype == result.dtype, "it forwards a parameter of another type");
    expect(std::ranges::equal(param.shape, result.shape, EqualSizes(graph_.host, graph_.conditions)),
           "it forwards a parameter of another shape");
  }

  void check_sum(const Result& result) const {
    expect(!result.addend || !result.scatters.empty(), "it has a summand `addend` but no scatters");
    const auto check_summed = [&](uint32_t index) {
      expect(index < graph_.results.size(), "a summand does not exist");
      expect(graph_.results[index].use == Use::Summed, "a summand is not marked as summed");
    };
    if (result.addend) {
      check_summed(*result.addend);
      expect(std::ranges::equal(graph_.results[*result.addend].shape, result.shape,
                                EqualSizes(graph_.host, graph_.conditions)),
             "the summand `addend` has another shape");
    }
    for (const ScatterAdd& scatter : result.scatters) {
      check_summed(scatter.values);
      check_summed(scatter.positions);
      const Result &values = graph_.results[scatter.values], &positions = graph_.results[scatter.positions];
      expect(positions.dtype == DType::I64 && category(values.dtype) == Category::Floating,
             "positions must be int64 and values floating");
      expect(positions.shape.size() + scatter.copied_dims.size() == values.shape.size(),
             "the rank of values must be that of positions plus the number of `copied_dims`");
      std::vector<uint32_t> dims = scatter.scattered_dims;
      dims.insert(dims.end(), scatter.copied_dims.begin(), scatter.copied_dims.end());
      std::ranges::sort(dims);
      bool are_all = dims.size() == result.shape.size();
      for (uint32_t dim = 0; are_all && dim < dims.size(); ++dim) are_all = dims[dim] == dim;
      expect(are_all, "`scattered_dims` and `copied_dims` must be its dims, each once");
    }
  }

  void check_result(const Result& result) const {
    check_mutation(result);
    check_forwarding(result);
    for (const HostId size : result.shape) check_integer(size, "size");
    const bool needs_no_blocks = result.forwards.has_value() || !result.scatters.empty();
    expect(result.blocks.empty() == needs_no_blocks,
           "it must have output blocks, or else forward a parameter or be a sum");
    check_sum(result);
    expect(graph_.eager_layouts.empty() || result.layout < graph_.eager_layouts.size(),
           "a layout step that does not exist");
    for (const OutputBlock& block : result.blocks) {
      expect(type(block.node) == result.dtype, "an output block has another type");
      for (const HostId size : block.domain) check_integer(size, "size");
      check_access(block.store, result.shape.size());
      expect(block.store.dims.size() <= block.domain.size(), "a store has more dims than its domain");
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
               "its parameter is not a tensor");
        break;
      case Kind::View:
        expect(step.stride_map.size() == step.shape.size(), "it does not have one row for each dim");
        for (const std::vector<Term>& row : step.stride_map) check_terms(row);
        break;
      case Kind::Reshape:
      case Kind::Preserve:
      case Kind::Unformatted:
        expect(inputs == 1, "it must have one input");
        break;
      case Kind::Pad:
        expect(inputs == 2, "it must have two inputs");
        break;
      case Kind::Gather:
        expect(inputs >= 2 && step.dims.size() + 1 == inputs, "it must have one dim for each index");
        break;
      case Kind::ChannelsLast:
        expect(step.shape.size() == 4 || step.shape.size() == 5, "channels_last needs rank 4 or 5");
        break;
      case Kind::Pointwise:
      case Kind::Contiguous:
      case Kind::Cat:
        break;
    }
  }

  const Graph& graph_;
  std::string location_;
  bool is_printable_ = false;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace ingot::ir
