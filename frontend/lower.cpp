#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>

#include "base/error.h"
#include "frontend/gradient/residuals.h"
#include "frontend/interpret/evaluation.h"
#include "frontend/tensor/layouts.h"
#include "frontend/tensor/promotion.h"
#include "frontend/tensor/refused_gradients.h"
#include "frontend/tensor/results.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/storage.h"
#include "frontend/tensor/tensors.h"
#include "ir/host/gradient_condition.h"
#include "ir/passes/canonical.h"
#include "ir/passes/rewrite.h"
#include "ir/passes/unroll_reductions.h"

// Lowering makes a value for each parameter, evaluates the op on these values, and makes the graph's results from the
// returned values. If evaluation needs the value of a symbol, lowering restarts with that value known. The graph is
// then valid only for this value (ir::Static).

namespace ingot::frontend {
namespace {

/// A size or a number of the call, in the order in which a graph lists its static values.
struct Symbol {
  uint32_t param, dim;  ///< `dim` is 0 for a number
  bool is_size;
  auto operator<=>(const Symbol&) const = default;
};

struct KnownValue {
  ir::HostValue value;
  bool only_if_special;  ///< requested only because of the value: a small size, or a number that is 0
};

/// The symbols whose values are known.
using Specialization = std::map<Symbol, KnownValue>;
/// The known answers to alias queries, by the indices of the queries.
using Aliases = std::map<uint32_t, ir::AliasFact>;

void make_residual_result(Builder& builder, const Residual& residual) {
  const ir::NodeId node = node_of(builder, residual);
  make_inner_result(builder, whole(builder, node, builder.graph[node].dtype, residual.shape), ir::Use::Residual,
                    residual.name);
}

const KnownValue* find(const Specialization& specialization, const Symbol& symbol) {
  const auto entry = specialization.find(symbol);
  return entry == specialization.end() ? nullptr : &entry->second;
}

ir::HostKind kind_of(ir::DType type) {
  switch (ir::category(type)) {
    case ir::Category::Bool:
      return ir::HostKind::Bool;
    case ir::Category::Integral:
      return ir::HostKind::Int;
    case ir::Category::Floating:
      return ir::HostKind::Float;
  }
  throw_internal("a dtype of no category");
}

class LoweringContext {
 public:
  /// `saves_residuals`: the residuals that the requested gradients read become results.
  LoweringContext(const Definition& definition, const Signature& signature, const SymbolValues& symbol_values,
                  bool saves_residuals, const Specialization& specialization, const Aliases& aliases)
      : definition_(definition),
        saves_residuals_(saves_residuals),
        specialization_(specialization),
        evaluation_(Builder(lowered_, signature, symbol_values), call_stack_) {
    lowered_.aliases = aliases;
  }

  ir::Graph run() {
    evaluation_.graph.name = definition_.name();
    evaluation_.graph.host.assume_sizes_not_one();
    evaluation_.graph.host.limit_work(Budget::kHostWork);
    const std::vector<std::optional<Value>> arguments = make_arguments();
    call_stack_.leaves = arguments;
    const uint64_t gradients = saves_residuals_ ? evaluation_.signature.gradients : 0;
    if (gradients != 0) evaluation_.tape.emplace().values_must_match = true;
    evaluation_.may_scatter = evaluation_.signature.may_scatter;
    const Value returned = definition_.evaluate(evaluation_, arguments);
    std::vector<Residual> residuals;
    if (gradients != 0) residuals = find_residuals(evaluation_, definition_, arguments, returned, gradients);
    const bool mutates = definition_.writes_arguments() && make_mutations(evaluation_, arguments);
    if (!mutates || !returned.is_none()) make_results(evaluation_, returned);
    if (definition_.writes_arguments()) refuse_unwritten(evaluation_);
    for (const Residual& residual : residuals) make_residual_result(evaluation_, residual);
    ir::find_gradients(evaluation_.graph);
    if (definition_.derivative()) mark_differentiable();
    for (const auto& [symbol, specialization] : specialization_) {
      ir::HostPool& host = evaluation_.graph.host;
      const ir::HostId id =
          symbol.is_size ? host.size(symbol.param, symbol.dim) : host.scalar(symbol.param, specialization.value.kind);
      evaluation_.graph.statics.push_back({id, specialization.value, specialization.only_if_special});
    }
    for (const auto& [query, fact] : lowered_.aliases) evaluation_.graph.aliases.push_back(fact);
    bind_residuals();
    specialize_short_reductions();
    std::vector<ir::HostId>& unspecialized = evaluation_.graph.unspecialized;
    std::ranges::sort(unspecialized);
    const auto duplicates = std::ranges::unique(unspecialized);
    unspecialized.erase(duplicates.begin(), duplicates.end());
    return ir::canonical(std::move(lowered_.graph));
  }

  /// The symbols that evaluation requested, with their values.
  Specialization requested_values(const SpecializationRequest& request) const {
    Specialization result;
    for (const ir::HostId symbol : request.symbols) {
      const ir::HostNode& node = evaluation_.graph.host[symbol];
      const bool is_size = node.op == ir::HostOp::Size;
      const ir::HostValue value = is_size ? ir::HostValue::of(evaluation_.symbol_values.size(node.a, node.b))
                                          : evaluation_.symbol_values.scalar(node.a);
      result.try_emplace(Symbol{node.a, is_size ? node.b : 0, is_size}, KnownValue{value, request.only_if_special});
    }
    return result;
  }

 private:
  std::vector<std::optional<Value>> make_arguments() {
    const std::span<const Parameter> parameters = definition_.parameters();
    const std::vector<ArgumentSpec>& specs = evaluation_.signature.arguments;
    if (specs.size() != parameters.size()) {
      evaluation_.fail(fmt::format("`{}` takes {} arguments, but {} are given", definition_.name(), parameters.size(),
                                   specs.size()));
    }
    std::vector<std::optional<Value>> values;
    for (uint32_t i = 0; i < specs.size(); ++i) {
      LocationGuard location(evaluation_.diagnostics, parameters[i].span);
      values.push_back(make_argument(i, parameters[i], specs[i]));
    }
    evaluation_.check_limits();  // after all arguments, so that their sizes are requested together
    return values;
  }

  /// Marks all returned floating-point results as having gradients with respect to all parameters: the author's custom
  /// backward computes these gradients, whatever the op computes.
  void mark_differentiable() {
    allow_gradients(evaluation_.graph);
    for (ir::Result& result : evaluation_.graph.results)
      if (!result.mutates && result.use == ir::Use::Returned && ir::category(result.dtype) == ir::Category::Floating)
        result.gradients = ~uint64_t{0};
  }

  std::optional<Value> make_argument(uint32_t index, const Parameter& parameter, const ArgumentSpec& spec) {
    ir::Param param{.name = parameter.name, .dtype = spec.dtype, .shape = {}};
    switch (spec.kind) {
      case ArgumentSpec::Kind::None:
      case ArgumentSpec::Kind::Absent:
        param.kind = ir::ParamKind::Number;
        evaluation_.graph.params.push_back(std::move(param));
        if (spec.kind == ArgumentSpec::Kind::Absent) return std::nullopt;
        return Value(None{});
      case ArgumentSpec::Kind::Number:
      case ArgumentSpec::Kind::CpuScalar: {
        const bool is_number = spec.kind == ArgumentSpec::Kind::Number;
        param.kind = ir::ParamKind::Number;
        param.number = is_number ? spec.number : kind_of(spec.dtype);
        const KnownValue* value = find(specialization_, {index, 0, false});
        ir::HostPool& host = evaluation_.graph.host;
        const ir::HostId number = value ? host.constant(value->value) : host.scalar(index, param.number);
        evaluation_.graph.params.push_back(std::move(param));
        if (is_number) return Value(Number{number});
        Tensor tensor = number_tensor(evaluation_, number, spec.dtype, NumberCast::Wrapped);
        tensor.handle = record_contiguous(evaluation_, {});
        tensor.handle.storage->param = index;
        return Value(std::move(tensor));
      }
      case ArgumentSpec::Kind::Tensor:
        break;
    }
    if (spec.rank > Signature::kMaxDims) {
      evaluation_.fail(
          fmt::format("`{}` has {} dims", parameter.name, spec.rank),
          fmt::format("an op takes tensors of at most {}: flatten some before the call", Signature::kMaxDims));
    }
    for (uint32_t dim = 0; dim < spec.rank; ++dim) param.shape.push_back(size_of_dim(index, dim, spec));
    evaluation_.graph.params.push_back(param);
    return Value(load_param(index, param));
  }

  ir::HostId size_of_dim(uint32_t index, uint32_t dim, const ArgumentSpec& spec) {
    if (spec.ones >> dim & 1) return evaluation_.integer(1);
    const KnownValue* value = find(specialization_, {index, dim, true});
    return value ? evaluation_.graph.host.constant(value->value) : evaluation_.graph.host.size(index, dim);
  }

  Tensor load_param(uint32_t index, const ir::Param& param) {
    ir::Access access;
    access.source.index = index;
    access.offsets.assign(param.shape.size(), evaluation_.integer(0));
    for (uint32_t dim = 0; dim < param.shape.size(); ++dim) {
      const bool is_varying = !is_one(evaluation_, param.shape[dim]);
      if (!is_varying && access.dims.empty()) continue;
      access.dims.push_back({param.shape[dim], {}});
      if (is_varying) access.dims.back().terms = {{dim, evaluation_.integer(1)}};
    }
    const ir::NodeId node = evaluation_.graph.load(param.dtype, std::move(access));
    evaluation_.graph.set_location(node, evaluation_.diagnostics.location());
    Tensor tensor = whole(evaluation_, node, param.dtype, param.shape);
    tensor.handle = record_param(evaluation_, index, param.shape);
    return tensor;
  }

  /// In the graph of a gradient: replaces the nodes that compute residuals by loads of the residuals, which are
  /// parameters.
  void bind_residuals() {
    const ResidualBindings& residual_bindings = evaluation_.residual_bindings;
    if (residual_bindings.nodes.empty() && residual_bindings.reduced.empty()) return;
    const ir::Graph& graph = lowered_.graph;
    lowered_.graph = ir::rewrite(graph, [&](ir::Graph& out, ir::NodeId old_id, ir::Node node) {
      const ir::DType dtype = node.dtype;
      const auto with_old_dtype = [&](ir::NodeId load) {  // hooks of saved tensors may return another dtype
        return out[load].dtype == dtype ? load : out.add(ir::Op::Cast, dtype, {load});
      };
      if (const auto load = residual_bindings.nodes.find(old_id); load != residual_bindings.nodes.end())
        return with_old_dtype(out.add(out.transfer(graph, load->second, {})));
      const std::optional<ir::NodeId> reduction = graph.reduction_read(old_id);
      if (!reduction) return out.add(std::move(node));
      const auto param = residual_bindings.reduced.find({*reduction, graph.access(old_id).source.index});
      if (param == residual_bindings.reduced.end()) return out.add(std::move(node));
      ir::Access access = graph.access(old_id);
      access.source = {ir::SourceRef::Kind::Param, param->second};
      node.args.erase(node.args.begin());
      return with_old_dtype(out.read(graph.params[param->second].dtype, std::move(access), std::move(node.args)));
    });
  }

  /// Specialises the lengths of reductions that a pass unrolls if they are short.
  void specialize_short_reductions() {
    for (const auto& [param, dim] : ir::sizes_to_unroll(lowered_.graph))
      specialize_small(evaluation_, evaluation_.graph.host.size(param, dim));
  }

  const Definition& definition_;
  const bool saves_residuals_;
  const Specialization& specialization_;
  Lowered lowered_;
  CallStack call_stack_;
  Evaluation evaluation_;
};

/// Lowers the op. Starts again with more known values each time that evaluation requests some.
ir::Graph lower_with_restarts(const Definition& definition, const Signature& signature,
                              const SymbolValues& symbol_values, bool saves_residuals) {
  Specialization specialization;
  Aliases aliases;
  while (true) {
    LoweringContext context(definition, signature, symbol_values, saves_residuals, specialization, aliases);
    try {
      return context.run();
    } catch (const SpecializationRequest& request) {
      const size_t old_size = specialization.size();
      specialization.merge(context.requested_values(request));
      if (specialization.size() == old_size) throw_internal("lowering requested values that it already knows");
    } catch (const AliasRequest& query) {
      if (!aliases.emplace(query.number, query.fact).second)
        throw_internal("lowering requested an alias fact that it already knows");
    }
  }
}

}  // namespace

// A graph depends on the requested gradients only if it must. So the op is lowered without them first. It is lowered
// again with them if a condition depends on them, and once more, to find residuals, if the graph has reductions.
ir::Graph lower(const Definition& definition, const Signature& signature, const SymbolValues& symbol_values) {
  if (signature.gradients == 0) return lower_with_restarts(definition, signature, symbol_values, false);
  Signature without_gradients = signature;
  without_gradients.gradients = 0;
  ir::Graph graph = lower_with_restarts(definition, without_gradients, symbol_values, false);
  if (std::ranges::any_of(graph.conditions, ir::depends_on_gradients))
    graph = lower_with_restarts(definition, signature, symbol_values, false);
  const auto refuses_gradients = [&](const ir::Condition& condition) {
    return ir::refuses_gradients(condition, graph.host);
  };
  if (graph.reduction_count() == 0 || std::ranges::any_of(graph.conditions, refuses_gradients)) return graph;
  try {
    ir::Graph with_residuals = lower_with_restarts(definition, signature, symbol_values, true);
    return std::ranges::count(with_residuals.results, ir::Use::Residual, &ir::Result::use) > 0
               ? std::move(with_residuals)
               : std::move(graph);
  } catch (const Error& error) {  // there is no gradient: reported when it is requested
    if (error.fault() != Fault::Author) throw;
    return graph;
  }
}

}  // namespace ingot::frontend
