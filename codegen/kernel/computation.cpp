#include "codegen/kernel/computation.h"

#include <algorithm>
#include <span>

#include "base/error.h"
#include "codegen/schedule/cost.h"
#include "codegen/schedule/regions.h"
#include "codegen/target/spellings.h"

namespace ingot::codegen {
namespace {

using ir::DType;
using ir::Op;
using Naming = Value::Naming;

constexpr uint32_t kScopesOfAPhase = 1 << 20;  // more than the number of regions in any op

/// Turns graph nodes into values of the kernel: the nodes that one Job (computation.h) requests.
class Computation {
 public:
  Computation(const KernelContext& context, Assembly& assembly, Memory& memory, AccessEmitter& emitter, const Job& job)
      : graph_(context.graph),
        context_(context),
        assembly_(assembly),
        memory_(memory),
        emitter_(emitter),
        job_(job),
        nodes_(nodes_of(context.graph, roots_of(job))),
        regions_(context.graph, context.outline, context.layout, roots_of(job), context.schedule.lazy) {
    number_accesses();
    for (const ir::NodeId id : nodes_)
      for (const Region region : regions_of(id)) nodes_in_[region].push_back(id);
    for (uint32_t d = 0; d < regions_.decisions().size(); ++d)
      for (const ir::NodeId where : regions_.decisions()[d].wheres)
        decision_of_[{where, regions_.decisions()[d].region}] = d;
  }

  std::vector<ValueId> compute() {
    enter(kAlways);
    compute_all_of(kAlways);
    std::vector<ValueId> results;
    for (const Job::Root& root : job_.roots) {
      assembly_.set_node(root.node);
      results.push_back(cast(value_of(root.node), root.dtype));
    }
    return results;
  }

 private:
  /// Numbers accesses, and likewise divisions, in the graph's order, independent of the order in which they are
  /// computed.
  void number_accesses() {
    uint32_t accesses = 0, divisions = 0;
    for (const ir::NodeId id : nodes_of(graph_, context_.outline)) {
      if (is_access(graph_, context_.outline, id)) number_of_[id] = accesses++;
      if (may_divide_by_zero(graph_, id)) number_of_[id] = divisions++;
    }
    regions_of_accesses_ = regions_of_accesses(regions_, graph_, context_.outline, context_.layout);
  }

  // Regions

  /// A node within one of its regions.
  using Site = std::pair<ir::NodeId, Region>;

  /// The regions in which a node is computed. Scalars, and loads that are not masked, are computed unconditionally.
  const std::vector<Region>& regions_of(ir::NodeId id) const {
    static const std::vector<Region> always = {kAlways};
    const Op op = graph_[id].op;
    if (op == Op::Scalar) return always;
    if (op != Op::Load || !number_of_.contains(id)) return regions_.of(id);
    const uint32_t access = number_of_.at(id);
    return context_.schedule.accesses[access].is_masked ? regions_of_accesses_[access] : always;
  }

  /// The site whose value of the node a use in region `seen_from` takes.
  Site site_of(ir::NodeId id, Region seen_from) const {
    for (const Region region : regions_of(id))
      if (regions_.contains(region, seen_from)) return {id, region};
    throw_internal("a node is needed where it is not computed");
  }

  /// From now on emits statements in the body of this region.
  void enter(Region region) {
    region_ = region;
    assembly_.set_scope(job_.phase * kScopesOfAPhase + region);
    assembly_.redirect(region == kAlways ? nullptr : &bodies_[region]);
  }

  void compute_all_of(Region region) {
    const auto entry = nodes_in_.find(region);
    if (entry == nodes_in_.end()) return;
    for (const ir::NodeId id : entry->second) value_of(id, region);
  }

  /// The value of a node as seen from a region; computed at the node's own site if it is not computed yet.
  ValueId value_of(ir::NodeId id, Region seen_from) {
    const Site site = site_of(id, seen_from);
    if (const auto entry = of_site_.find(site); entry != of_site_.end()) return entry->second;
    if (const auto entry = job_.known.find(id); entry != job_.known.end()) return entry->second;
    const Region outer = region_, inner = site.second;
    if (inner != outer) enter(inner);
    if (const auto decision = decision_of_.find(site); decision != decision_of_.end()) {
      decide(decision->second);
    } else {
      for (const ir::NodeId arg : graph_[id].args)
        if (graph_[arg].op != Op::Reduce) value_of(arg);
      assembly_.set_node(id);
      const ValueId value = emit(id);
      of_site_[site] = value;
      name(value, memory_.author_name(id));
    }
    if (region_ != outer) enter(outer);
    return of_site_.at(site);
  }
  ValueId value_of(ir::NodeId id) { return value_of(id, region_); }

  /// Emits one branch for a Decision (regions.h): lazy `where`s with one condition. The results are variables; if one
  /// arm of a `where` is computed anyway, its variable is initialised with that arm.
  void decide(uint32_t number) {
    const Decision& decision = regions_.decisions()[number];
    const Region taken = Regions::taken(number), otherwise = Regions::otherwise(number);
    const ValueId condition = value_of(decision.condition);
    record_entry_condition(number, condition);
    for (const Region arm : {taken, otherwise}) {
      enter(arm);
      compute_all_of(arm);
    }
    enter(decision.region);
    for (const ir::NodeId where : decision.wheres) {
      const ir::NodeId then_arm = graph_[where].args[1], other_arm = graph_[where].args[2];
      const bool has_then = site_of(then_arm, taken).second == taken;
      const bool has_otherwise = site_of(other_arm, otherwise).second == otherwise;
      const ValueId then = value_of(then_arm, taken), other = value_of(other_arm, otherwise);
      assembly_.set_node(where);
      const SymbolId chosen = variable_of(where);
      const ValueId result = assembly_.read(chosen);
      of_site_[{where, decision.region}] = result;
      const ValueId first = has_then && has_otherwise ? ValueId{} : has_otherwise ? then : other;
      assembly_.block(Level::Element).push_back({Declare{chosen, first}});
      if (has_then || !has_otherwise) bodies_[taken].push_back({Assign{result, then}});
      if (has_otherwise) bodies_[otherwise].push_back({Assign{result, other}});
    }
    If branch{condition, std::move(bodies_[taken]), std::move(bodies_[otherwise])};
    if (branch.then.empty()) {
      branch.condition = assembly_.inverse(condition);
      std::swap(branch.then, branch.otherwise);
    }
    assembly_.block(Level::Element).push_back({std::move(branch)});
  }

  // Conditions that are uniform for a row

  /// Whether the value is computed once per kernel, row or thread, before the loops over elements.
  bool is_ahead_of_elements(ValueId value) const { return assembly_[value].level < Level::Fetch; }

  /// Records the conditions under which the decision's regions are entered, if they are known before the elements.
  void record_entry_condition(uint32_t number, ValueId condition) {
    const Region outer = regions_.decisions()[number].region;
    if (!is_ahead_of_elements(condition) || (outer != kAlways && !entry_conditions_.contains(outer))) return;
    entry_conditions_[Regions::taken(number)] = within(outer, condition);
    entry_conditions_[Regions::otherwise(number)] = within(outer, assembly_.inverse(condition));
  }

  /// Whether the condition holds and the region `outer` is entered.
  ValueId within(Region outer, ValueId condition) {
    if (outer == kAlways) return condition;
    return assembly_.add({.kind = Value::Kind::Primitive,
                          .type = {DType::Bool},
                          .op = Op::LogicalAnd,
                          .operand_type = DType::Bool,
                          .operands = {entry_conditions_.at(outer), condition},
                          .naming = Naming::Inline});
  }

  /// Emits a gather. Indices that are known before a row's elements are checked there, if the conditions around the
  /// gather are known there too.
  ValueId gather(ir::NodeId id) {
    const uint32_t access = number_of_.at(id);
    std::vector<ValueId> indices;
    const std::span<const ir::NodeId> args = graph_.indices(id);
    for (const ir::NodeId arg : args) indices.push_back(value_of(arg));
    const auto entry = entry_conditions_.find(region_);
    const bool are_ahead = std::ranges::all_of(args, [&](ir::NodeId arg) {
      return site_of(arg, region_).second == kAlways && is_ahead_of_elements(value_of(arg));
    });
    const ValueId entry_condition = entry != entry_conditions_.end() && are_ahead ? entry->second : ValueId{};
    const Region outer = region_;
    if (entry_condition) enter(kAlways);
    const std::vector<ValueId> wrapped = emitter_.wrap_indices(access, indices, entry_condition);
    if (entry_condition) enter(outer);
    return cast(emitter_.gather(access, wrapped), graph_[id].dtype);
  }

  SymbolId variable_of(ir::NodeId where) {
    const Type type{graph_[where].dtype};
    const std::string author = memory_.author_name(where);
    return author.empty() ? assembly_.variable("chosen", type, Level::Element)
                          : assembly_.variable_called(author, Level::Element, type);
  }

  // Nodes

  /// Gives a value the author's name, if its naming is Auto or Placed. A value with another naming keeps its name, or
  /// has none.
  void name(ValueId id, std::string author) {
    Value& value = assembly_[id];
    if (author.empty() || (value.naming != Naming::Auto && value.naming != Naming::Placed)) return;
    value.naming = value.naming == Naming::Auto ? Naming::Author : Naming::Exact;
    value.name = std::move(author);
  }

  ValueId emit(ir::NodeId id) {
    const ir::Node& node = graph_[id];
    switch (node.op) {
      case Op::Load:
        if (!number_of_.contains(id)) return job_.reduced->at({node.args[0], graph_.access(id).source.index});
        return load(number_of_.at(id), node.dtype);
      case Op::Gather:
        return gather(id);
      case Op::Index:
        return position(number_of_.at(id));
      case Op::Scalar:
        return scalar(node.dtype, graph_.host_of(id));
      case Op::Cast:
        return cast(value_of(node.args[0]), node.dtype);
      case Op::Bitcast:
        return assembly_.add(
            {.kind = Value::Kind::Bitcast, .type = {node.dtype}, .operands = {value_of(node.args[0])}});
      default:
        return primitive(id);
    }
  }

  ValueId load(uint32_t access, DType dtype) {
    const ValueId loaded = emitter_.load(access), value = cast(loaded, dtype);
    if (ir::is_narrow_float(dtype) && loaded != value) widened_[value] = loaded;
    return value;
  }

  ValueId position(uint32_t access) {
    const std::optional<ValueId> index = emitter_.position(access);
    return index ? cast(*index, DType::I64) : literal(DType::I64, ir::HostValue::of(int64_t{0}));
  }

  ValueId literal(DType dtype, ir::HostValue number) {
    return assembly_.add({.kind = Value::Kind::Literal, .type = {dtype}, .number = number, .naming = Naming::Inline});
  }

  ValueId scalar(DType dtype, ir::HostId host) {
    if (graph_.host.is_constant(host)) return literal(dtype, graph_.host.value(host));
    const std::vector<ScalarUse>& uses = context_.outline.scalars;
    const auto use = std::ranges::find_if(uses, [&](const ScalarUse& candidate) {
      return candidate.value == host && candidate.dtype == ir::compute_type(dtype);
    });
    const ValueId value = assembly_.read(memory_.scalar(static_cast<uint32_t>(use - uses.begin())));
    return ir::is_narrow_float(dtype) ? cast(value, dtype, Naming::Inline) : value;
  }

  ValueId cast(ValueId operand, DType to, Naming naming = Naming::Auto) {
    const DType from = assembly_[operand].type.dtype;
    if (from == to) return operand;
    if (const auto wide = widened_.find(operand); wide != widened_.end()) return cast(wide->second, to, naming);
    // 8- and 16-bit floats convert only from and to float32, as in c10.
    if ((ir::is_narrow_float(from) && to != DType::F32 && to != DType::F64) ||
        (ir::is_narrow_float(to) && from != DType::F32))
      return cast(cast(operand, DType::F32), to);
    return assembly_.add(
        {.kind = Value::Kind::Cast, .type = {to}, .operand_type = from, .operands = {operand}, .naming = naming});
  }

  ValueId primitive(ir::NodeId id) {
    const ir::Node& node = graph_[id];
    const ir::OpInfo& info = ir::info(node.op);
    std::vector<ValueId> operands;
    for (const ir::NodeId arg : node.args) operands.push_back(value_of(arg));
    if (may_divide_by_zero(graph_, id)) operands[1] = emitter_.checked_divisor(operands[1], number_of_.at(id));
    if (node.op == Op::Where) return make(node.op, node.dtype, node.dtype, std::move(operands));

    DType compute_dtype = info.rule == ir::Rule::Compare   ? assembly_[operands[0]].type.dtype
                          : info.rule == ir::Rule::Logical ? DType::Bool
                                                           : node.dtype;
    const DType result = info.rule == ir::Rule::Compare ? DType::Bool : ir::compute_type(compute_dtype);
    compute_dtype = ir::compute_type(compute_dtype);
    for (ValueId& operand : operands) operand = cast(operand, compute_dtype);
    if (node.op == Op::Div && compute_dtype == DType::F32)
      if (const std::optional<ValueId> quotient = emitter_.quotient(operands[0], operands[1]))
        return cast(*quotient, node.dtype);
    if (node.op == Op::Exp && compute_dtype == DType::F32 && is_below_largest(node.args[0]))
      return cast(assembly_.add({.kind = Value::Kind::ExpOfNonPositive, .type = {compute_dtype}, .operands = operands}),
                  node.dtype);
    return cast(make(node.op, compute_dtype, result, std::move(operands)), node.dtype);
  }

  /// Whether the node is an element minus the maximum of its row, and so not above 0. The exponential of such a node is
  /// cheaper (docs/performance.md: cpu-decaying-exponential). False if the difference may be above 0: if a product in
  /// it is not rounded, or if the element depends on a function that is rounded differently in vector and in scalar
  /// code.
  bool is_below_largest(ir::NodeId id) const {
    const ir::Node& difference = graph_[id];
    if (context_.cuda() || context_.options.fast_math || difference.op != Op::Sub) return false;
    if (difference.attr == ir::kContractable) return false;
    const ir::NodeId subtrahend = difference.args[1];
    if (graph_[subtrahend].op != Op::Load || number_of_.contains(subtrahend)) return false;
    const ir::NodeId reduce = graph_[subtrahend].args[0];
    const ir::Reduction& reduction = graph_.reduction(reduce);
    const ir::NodeId element = difference.args[0];
    return reduction.kind == ir::ReduceKind::Max && reduction.domain == context_.outline.domain &&
           graph_[reduce].args[0] == element &&
           std::ranges::none_of(nodes_of(graph_, std::vector{element}),
                                [&](ir::NodeId node) { return depends_on_vector_width(graph_, node); });
  }

  /// A primitive, without its operands if the target's expression for it uses none.
  ValueId make(Op op, DType compute_dtype, DType result, std::vector<ValueId> operands) {
    if (!needs_operands(context_.target.kind, op, compute_dtype)) operands.clear();
    return assembly_.add({.kind = Value::Kind::Primitive,
                          .type = {result},
                          .op = op,
                          .operand_type = compute_dtype,
                          .operands = std::move(operands)});
  }

  const ir::Graph& graph_;
  const KernelContext& context_;
  Assembly& assembly_;
  Memory& memory_;
  AccessEmitter& emitter_;
  const Job& job_;
  std::map<Site, ValueId> of_site_;
  std::map<ValueId, ValueId> widened_;  ///< for 16-bit values that were loaded as float32: the float32
  std::vector<ir::NodeId> nodes_;
  std::map<ir::NodeId, uint32_t> number_of_;  ///< of an access among the accesses, of a division among the divisions
  Regions regions_;
  std::vector<std::vector<Region>> regions_of_accesses_;
  std::map<Region, std::vector<ir::NodeId>> nodes_in_;
  std::map<Site, uint32_t> decision_of_;
  Region region_ = kAlways;
  std::map<Region, Body> bodies_;
  std::map<Region, ValueId>
      entry_conditions_;  ///< the condition under which a region is entered, if known before the elements
};

}  // namespace

std::vector<ir::NodeId> roots_of(const Job& job) {
  std::vector<ir::NodeId> nodes;
  for (const Job::Root& root : job.roots) nodes.push_back(root.node);
  return nodes;
}

Job job_of_output_blocks(const ir::Graph& graph, const KernelOutline& outline) {
  Job job;
  for (const KernelOutline::OutputBlockRef& ref : outline.output_blocks) {
    const ir::Result& result = graph.results[ref.result];
    job.roots.push_back({result.blocks[ref.block].node, result.dtype});
  }
  return job;
}

HoistedPredicates hoisted_predicates_of(const KernelContext& context, const Job& job) {
  constexpr uint32_t kFirstPhase = 1 << 10;  // more phases than a kernel has
  const ir::Graph& graph = context.graph;
  HoistedPredicates hoisted{{.roots = {}, .reduced = job.reduced, .phase = kFirstPhase + job.phase}, {}};
  const auto& accesses = context.schedule.accesses;
  if (std::ranges::count(accesses, true, &AccessSchedule::is_hoisted) == 0) return hoisted;
  const Regions regions(graph, context.outline, context.layout, roots_of(job), context.schedule.lazy);
  const auto of_accesses = regions_of_accesses(regions, graph, context.outline, context.layout);
  for (uint32_t access = 0; access < accesses.size(); ++access) {
    if (!accesses[access].is_hoisted) continue;
    const std::optional<HoistedPredicate> predicate =
        hoisted_predicate(regions, of_accesses[access], graph, context.outline);
    if (!predicate) continue;
    hoisted.job.roots.push_back({predicate->condition, DType::Bool});
    hoisted.groups.emplace_back(access, predicate->holds);
  }
  return hoisted;
}

std::vector<ValueId> compute(const KernelContext& context, Assembly& assembly, Memory& memory, AccessEmitter& emitter,
                             const Job& job) {
  return Computation(context, assembly, memory, emitter, job).compute();
}

}  // namespace ingot::codegen
