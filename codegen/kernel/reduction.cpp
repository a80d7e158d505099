#include "codegen/kernel/reduction.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "codegen/schedule/cost.h"
#include "codegen/schedule/row_policy.h"
#include "ir/types/limits.h"

namespace ingot::codegen {
namespace {

using ir::DType;
using ir::Op;
using ir::ReduceKind;

/// The op that combines two values.
Op op_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::Prod:
      return Op::Mul;
    case ReduceKind::Any:
      return Op::LogicalOr;
    case ReduceKind::All:
      return Op::LogicalAnd;
    case ReduceKind::Max:
      return Op::Maximum;
    case ReduceKind::Min:
      return Op::Minimum;
    default:
      return Op::Add;
  }
}

/// The name of a result that the author did not name.
std::string_view name_of_value(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::Max:
    case ReduceKind::ArgMax:
      return "largest";
    case ReduceKind::Min:
    case ReduceKind::ArgMin:
      return "smallest";
    case ReduceKind::Prod:
      return "product";
    default:
      return ir::info(kind).name;
  }
}

/// The smallest or the largest value of a type.
ir::HostValue extreme(DType dtype, bool is_smallest) {
  if (dtype == DType::Bool) return ir::HostValue::of(!is_smallest);
  if (ir::is_floating(dtype))
    return ir::HostValue::of(is_smallest ? -std::numeric_limits<double>::infinity()
                                         : std::numeric_limits<double>::infinity());
  const ir::IntegerLimits limits = ir::integer_limits(dtype);
  return ir::HostValue::of(is_smallest ? limits.smallest : limits.largest);
}

// The phase numbers of jobs that belong to no phase, counted from the number of phases.
constexpr uint32_t kOfRows = 1, kOfOtherArms = 2, kOfConditions = 3;

/// The identity of a reduction: its result for no elements.
ir::HostValue value_of_none(ReduceKind kind, DType dtype) {
  switch (kind) {
    case ReduceKind::Sum:
      return ir::is_floating(dtype) ? ir::HostValue::of(0.0) : ir::HostValue::of(int64_t{0});
    case ReduceKind::Prod:
      return ir::is_floating(dtype) ? ir::HostValue::of(1.0) : ir::HostValue::of(int64_t{1});
    case ReduceKind::Any:
    case ReduceKind::All:
      return ir::HostValue::of(kind == ReduceKind::All);
    case ReduceKind::Max:
    case ReduceKind::ArgMax:
      return extreme(dtype, true);
    case ReduceKind::Min:
    case ReduceKind::ArgMin:
      return extreme(dtype, false);
  }
  return {};
}

}  // namespace

bool RowReduction::has_order() const {
  return (kind == ReduceKind::Sum || kind == ReduceKind::Prod) && ir::is_floating(types[0]);
}

RowReductions::RowReductions(const KernelContext& context, Assembly& assembly, Memory& memory, uint32_t rows,
                             SymbolId lane)
    : context_(context), assembly_(assembly), memory_(memory), rows_(rows), lane_(lane) {
  uint32_t partials = 0;
  for (const KernelOutline::ReductionRef& ref : context.outline.reductions) {
    RowReduction& reduction = reductions_.emplace_back(reduction_of(ref, partials));
    reduction.is_speculative =
        context.schedule.speculative_phase > 0 && ref.phase == context.schedule.speculative_phase;
    for (uint32_t v = 0; v < reduction.types.size(); ++v) {
      reduction.results.push_back(result_of(ref.node, v, reduction.types[v]));
      ValueId result = assembly.read(reduction.results[v]);
      if (rows > 1) result = assembly.lane(result, assembly.read(lane));
      known_[{ref.node, v}] = v > 0 ? assembly.as_int64(result) : result;
    }
    partials += static_cast<uint32_t>(reduction.types.size());
  }
  partials = 0;
  for (const KernelOutline::ReductionRef& ref : context.outline.column_reductions) {
    column_reductions_.push_back(reduction_of(ref, partials));
    partials += static_cast<uint32_t>(column_reductions_.back().types.size());
  }
}

RowReduction RowReductions::reduction_of(const KernelOutline::ReductionRef& ref, uint32_t first_partial) const {
  RowReduction reduction{.node = ref.node,
                         .kind = context_.graph.reduction(ref.node).kind,
                         .phase = ref.phase,
                         .first_partial = first_partial};
  const DType dtype = context_.graph[ref.node].dtype;
  for (uint32_t v = 0; v < ir::info(reduction.kind).value_count; ++v)
    reduction.types.push_back(v == 0 ? dtype : context_.cuda() ? context_.index_dtype() : DType::I64);
  return reduction;
}

/// A variable for a result, named like the author's value that reads it, or by its kind.
SymbolId RowReductions::result_of(ir::NodeId node, uint32_t value, DType dtype) {
  const ir::Graph& graph = context_.graph;
  for (const ir::NodeId id : nodes_of(graph, context_.outline))
    if (graph.reduction_read(id) == node && graph.access(id).source.index == value)
      if (const std::string name = memory_.author_name(id); !name.empty())
        return with_extents(assembly_.variable_called(name, Level::Row, type_per_row(dtype)), {});
  return result(value == 0 ? name_of_value(graph.reduction(node).kind) : "index", dtype);
}

SymbolId RowReductions::result(std::string_view preferred, DType dtype) {
  return with_extents(assembly_.variable(preferred, type_per_row(dtype), Level::Row), {});
}

SymbolId RowReductions::with_extents(SymbolId array, std::vector<uint32_t> extents) {
  if (!context_.cuda() && rows_ > 1) extents.push_back(rows_);
  assembly_[array].extents = std::move(extents);
  return array;
}

std::vector<DType> RowReductions::partials() const {
  std::vector<DType> partials;
  for (const RowReduction& reduction : column_reductions_.empty() ? reductions_ : column_reductions_)
    partials.insert(partials.end(), reduction.types.begin(), reduction.types.end());
  return partials;
}

uint32_t RowReductions::phases() const {
  uint32_t phases = 0;
  for (const RowReduction& reduction : reductions_) phases = std::max(phases, reduction.phase + 1);
  return phases;
}

SymbolId RowReductions::accumulator_counter() {
  if (counter_name_.empty()) counter_name_ = assembly_.claim("c");
  return assembly_.variable_called(counter_name_, Level::Thread);
}

void RowReductions::declare(Body& block, RowReduction& reduction, uint32_t accumulators, Loop::Kind kind) {
  declare_arrays(block, reduction, accumulators);
  clear(block, reduction, accumulators, kind);
}

void RowReductions::clear(Body& block, const RowReduction& reduction, uint32_t accumulators, Loop::Kind kind) {
  const SymbolId c = accumulator_counter();
  Body initial;
  clear_accumulator(initial, reduction, assembly_.read(c), kind);
  block.push_back({Loop{kind, c, assembly_.integer(0), assembly_.integer(accumulators), std::move(initial)}});
}

void RowReductions::declare_arrays(Body& block, RowReduction& reduction, uint32_t accumulators) {
  reduction.accumulators.clear();
  reduction.levels = {}, reduction.runs = {};
  for (uint32_t v = 0; v < reduction.types.size(); ++v) {
    const std::string name = assembly_[reduction.results[v]].name + "_of";  // sum_of[…] for the result `sum`
    const SymbolId array =
        with_extents(assembly_.variable(name, type_per_row(reduction.types[v]), Level::Thread), {accumulators});
    reduction.accumulators.push_back(array);
    block.push_back({Declare{array}});
  }
}

void RowReductions::clear_accumulator(Body& block, const RowReduction& reduction, ValueId number, Loop::Kind kind) {
  Body initial;
  for (uint32_t v = 0; v < reduction.types.size(); ++v) {
    const DType dtype = reduction.types[v];
    // Index 0: if no element beats the identity (-inf for ArgMax), all equal it, and the first one is the result.
    const ir::HostValue none = v == 0 ? value_of_none(reduction.kind, dtype) : ir::HostValue::of(int64_t{0});
    const ValueId literal =
        assembly_.add({.kind = Value::Kind::Literal, .type = {dtype}, .number = none, .naming = Value::Naming::Inline});
    initial.push_back(
        {Assign{element(reduction.accumulators[v], {number, lane_ ? assembly_.read(lane_) : ValueId{}}), literal}});
  }
  const uint32_t lanes = std::max(rows_, assembly_[reduction.accumulators[0]].type.lanes);
  if (lanes > 1) initial = {{Loop{kind, lane_, assembly_.integer(0), assembly_.integer(lanes), std::move(initial)}}};
  block.insert(block.end(), initial.begin(), initial.end());
}

void RowReductions::declare_columns(Body& block, RowReduction& reduction, uint32_t steps, uint32_t lanes) {
  const std::string name = std::string(name_of_value(reduction.kind)) + "_of_columns";
  const SymbolId array = assembly_.variable(name, {reduction.types[0], lanes}, Level::Thread);
  assembly_[array].extents = {steps};
  reduction.accumulators = {array};
  block.push_back({Declare{array}});
  clear(block, reduction, steps, Loop::Kind::Unrolled);
}

ValueId RowReductions::element(SymbolId array, AccumulatorPlace place) {
  const ValueId item = assembly_.item(assembly_.read(array), place.number);
  return rows_ > 1 || assembly_[array].type.lanes > 1 ? assembly_.lane(item, place.lane) : item;
}

bool RowReductions::takes_factors(const RowReduction& reduction) const {
  return reduction_order(context_.cuda()).fuses_products && ir::is_sum_of_products(context_.graph, reduction.node);
}

void RowReductions::fold(Body& block, const RowReduction& reduction, AccumulatorPlace place,
                         const std::vector<ValueId>& operands, ValueId condition) {
  std::vector<ValueId> into;
  for (const SymbolId array : reduction.accumulators) into.push_back(element(array, place));
  if (into.size() == 1) {
    assembly_.set_node(reduction.node);
    const bool is_product = operands.size() == 2;
    // For equal extremes, which may be zeros of different sign, `maximum` and `minimum` give the second operand. The
    // accumulator is the second operand, since its value came first.
    const bool is_extreme = reduction.kind == ReduceKind::Max || reduction.kind == ReduceKind::Min;
    const std::vector<ValueId> two = is_extreme ? std::vector{operands[0], into[0]} : std::vector{into[0], operands[0]};
    const ValueId combined =
        assembly_.add({.kind = Value::Kind::Primitive,
                       .type = {reduction.types[0]},
                       .op = is_product ? ir::Op::Fma : op_of(reduction.kind),
                       .operand_type = reduction.types[0],
                       .operands = is_product ? std::vector{operands[0], operands[1], into[0]} : two,
                       .naming = Value::Naming::Inline});
    // A select instead of a branch: a value written by a masked store is slow to read back.
    const ValueId next = condition ? assembly_.add({.kind = Value::Kind::Primitive,
                                                    .type = {reduction.types[0]},
                                                    .op = ir::Op::Where,
                                                    .operand_type = reduction.types[0],
                                                    .operands = {condition, combined, into[0]},
                                                    .naming = Value::Naming::Inline})
                                   : combined;
    block.push_back({Assign{into[0], next}});
    return;
  }
  const auto take =
      reduction.kind == ReduceKind::ArgMax ? Call::Function::ReplaceIfLarger : Call::Function::ReplaceIfSmaller;
  Call call{take, {into[0], into[1], operands[0], operands[1]}, reduction.accumulators[0], reduction.node};
  if (condition)
    block.push_back({If{condition, {{std::move(call)}}}});
  else
    block.push_back({std::move(call)});
}

void RowReductions::declare_levels(Body& block, RowReduction& reduction, uint32_t groups) {
  reduction.levels = assembly_.variable(assembly_[reduction.results[0]].name + "_levels",
                                        type_per_row(reduction.types[0]), Level::Thread);
  assembly_[reduction.levels].extents = {static_cast<uint32_t>(std::bit_width(groups))};
  block.push_back({Declare{reduction.levels}});
}

void RowReductions::merge_group(Body& block, const RowReduction& reduction, ValueId group) {
  block.push_back(
      {MergeAccumulators{reduction.kind, reduction.accumulators[0], reduction.levels, group, reduction.node}});
}

void RowReductions::declare_runs(Body& block, RowReduction& reduction, uint32_t runs) {
  reduction.runs =
      assembly_.variable(assembly_[reduction.results[0]].name + "_of_runs", {reduction.types[0]}, Level::Thread);
  assembly_[reduction.runs].extents = {runs};
  block.push_back({Declare{reduction.runs}});
}

void RowReductions::declare_shared_runs(Body& block, RowReduction& reduction, uint32_t runs, uint32_t threads) {
  declare_runs(block, reduction, runs);
  assembly_[reduction.runs].extents = {runs, threads};
  assembly_[reduction.runs].is_shared = true;
}

void RowReductions::combine_run(Body& block, const RowReduction& reduction, ValueId run) {
  ValueId into = assembly_.item(assembly_.read(reduction.runs), run);
  if (assembly_[reduction.runs].is_shared)
    into = assembly_.item(
        into,
        assembly_.add(
            {.kind = Value::Kind::Thread, .type = {DType::U32}, .level = Level::Row, .naming = Value::Naming::Inline}));
  block.push_back({CombineRun{reduction.kind, reduction.accumulators[0], into, reduction.node}});
}

void RowReductions::combine(Body& block, RowReduction& reduction, uint32_t lanes, uint32_t threads, uint32_t spacing,
                            uint32_t blocks) {
  std::vector<SymbolId> arrays = reduction.levels ? std::vector{reduction.levels} : reduction.accumulators;
  if (reduction.runs) arrays = {reduction.runs}, lanes = 1;
  block.push_back({Combine{reduction.kind, arrays, reduction.results, lanes, threads, blocks, spacing, slots_++,
                           static_cast<bool>(reduction.levels), reduction.is_speculative, reduction.node}});
}

SymbolId RowReductions::partials_pointer(uint32_t number, bool is_written) {
  const SymbolId pointer = assembly_.parameter({KernelParameter::Kind::Partials, number, 0, DType::I64, {}},
                                               {.dtype = partials()[number], .is_pointer = true}, "found");
  assembly_[pointer].is_written = is_written;
  assembly_[pointer].meaning = "partial results of chunks";
  return pointer;
}

ValueId RowReductions::partial(uint32_t number, ValueId index, bool is_written) {
  const SymbolId pointer = partials_pointer(number, is_written);
  return assembly_.add({.kind = Value::Kind::Load,
                        .type = {assembly_[pointer].type.dtype},
                        .operands = {assembly_.read(pointer), index},
                        .naming = Value::Naming::Inline});
}

void RowReductions::add_root(RowWork& work, const RowReduction& reduction) const {
  const ir::NodeId operand = context_.graph[reduction.node].args[0];
  const std::vector<ir::NodeId>& operand_args = context_.graph[operand].args;
  if (takes_factors(reduction))
    for (const ir::NodeId factor : operand_args) work.job.roots.push_back({factor, reduction.types[0]});
  else
    work.job.roots.push_back({reduction.is_speculative ? operand_args[1] : operand, reduction.types[0]});
}

RowWork RowReductions::work_of_phase(uint32_t phase) {
  RowWork work{.job = {.roots = {}, .reduced = &known_, .phase = phase}};
  for (RowReduction& reduction : reductions_) {
    if (reduction.phase != phase + (reduction.is_speculative ? 1 : 0)) continue;
    work.reductions.push_back(&reduction);
    add_root(work, reduction);
  }
  for (RowReduction& reduction : column_reductions_) {
    if (reduction.phase != phase) continue;
    work.column_reductions.push_back(&reduction);
    add_root(work, reduction);
  }
  add_output_blocks(work,
                    [&](const KernelOutline::OutputBlockRef& part) { return !part.is_per_row && part.phase == phase; });
  return work;
}

RowWork RowReductions::work_of_other_arms(std::vector<RowReduction>& others) {
  RowWork work{.job = {.roots = {}, .reduced = &known_, .phase = phases() + kOfOtherArms}};
  for (const RowReduction* reduction : speculative()) {
    RowReduction& other = others.emplace_back(*reduction);
    other.is_speculative = false;
    other.results = {result(assembly_[reduction->results[0]].name + "_again", reduction->types[0])};
  }
  const std::vector<ir::NodeId> arms = other_arms();
  for (size_t r = 0; r < others.size(); ++r) {
    work.reductions.push_back(&others[r]);
    work.job.roots.push_back({arms[r], others[r].types[0]});
  }
  return work;
}

std::vector<RowReduction*> RowReductions::speculative() {
  std::vector<RowReduction*> early;
  for (RowReduction& reduction : reductions_)
    if (reduction.is_speculative) early.push_back(&reduction);
  return early;
}

std::vector<ir::NodeId> RowReductions::other_arms() const {
  std::vector<ir::NodeId> arms;
  for (const RowReduction& reduction : reductions_)
    if (reduction.is_speculative) arms.push_back(context_.graph[context_.graph[reduction.node].args[0]].args[2]);
  return arms;
}

Job RowReductions::speculative_conditions() const {
  Job job{.roots = {}, .reduced = &known_, .phase = phases() + kOfConditions};
  for (const RowReduction& reduction : reductions_)
    if (reduction.is_speculative)
      job.roots.push_back({context_.graph[context_.graph[reduction.node].args[0]].args[0], DType::Bool});
  return job;
}

RowWork RowReductions::work_of_rows() {
  RowWork work{.job = {.roots = {}, .reduced = &known_, .phase = phases() + kOfRows}};
  add_output_blocks(work, [](const KernelOutline::OutputBlockRef& part) { return part.is_per_row; });
  const std::vector<KernelOutline::WorkspaceStore>& stores = context_.outline.workspace_stores;
  for (uint32_t w = 0; w < stores.size(); ++w) {
    const ir::NodeId value = stores[w].node;
    if (!context_.graph.reduction(value).is_row_value) continue;
    work.job.roots.push_back({context_.graph[value].args[0], context_.graph[value].dtype});
    work.stores.push_back(first_workspace_store() + w);
  }
  return work;
}

uint32_t RowReductions::first_workspace_store() const {
  return context_.outline.first_store() + static_cast<uint32_t>(context_.outline.output_blocks.size());
}

template <typename IsWanted>
void RowReductions::add_output_blocks(RowWork& work, IsWanted is_wanted) const {
  const std::vector<KernelOutline::OutputBlockRef>& parts = context_.outline.output_blocks;
  for (uint32_t p = 0; p < parts.size(); ++p) {
    if (!is_wanted(parts[p])) continue;
    const ir::Result& result = context_.graph.results[parts[p].result];
    work.job.roots.push_back({result.blocks[parts[p].block].node, result.dtype});
    work.stores.push_back(context_.outline.first_store() + p);
  }
}

std::vector<std::pair<uint32_t, ValueId>> RowReductions::values_for_later_kernels() {
  std::vector<std::pair<uint32_t, ValueId>> values;
  const std::vector<KernelOutline::WorkspaceStore>& stores = context_.outline.workspace_stores;
  for (uint32_t w = 0; w < stores.size(); ++w)
    if (!context_.graph.reduction(stores[w].node).is_row_value)
      values.emplace_back(first_workspace_store() + w, known_.at({stores[w].node, stores[w].value}));
  return values;
}

bool RowPlaces::varies_in_row(uint32_t access) const {
  return varies_in_rows(context_.layout, context_.layout.accesses[access]);
}

ValueId RowPlaces::elements(uint32_t first, uint32_t last) {
  ValueId product;
  for (uint32_t d = first; d < last; ++d)
    product = product ? assembly_.index(IndexOp::Mul, product, extent(d)) : extent(d);
  return product ? product : assembly_.integer(1);
}

ValueId RowPlaces::coordinate(uint32_t axis) {
  if (row_axes() == 1) return number_;
  ValueId& cached = coordinates_[axis];
  if (!cached)
    cached = assembly_.let(block_, memory_.coordinate_of(number_, 0, row_axes(), axis),
                           assembly_.claim("i" + std::to_string(axis)));
  return cached;
}

ValueId RowPlaces::base(uint32_t access) {
  const SymbolId pointer = memory_.pointer(access);
  const uint32_t leader = context_.layout.accesses[access].leader;
  const AccessLayout& layout = context_.layout.accesses[leader];
  ValueId value = assembly_.read(pointer);
  if (!varies_in_row(access)) return value;
  ValueId& cached = pointers_[leader];
  if (cached) return cached;
  if (layout.is_linear && row_axes() > 0 && free_axes_ == 0) {
    value = assembly_.index(IndexOp::Add, value, assembly_.index(IndexOp::Mul, number_, length()));
  } else {
    for (uint32_t d = 0; d < first_axis(access); ++d) {
      if (layout.axes[d] == StrideClass::Zero) continue;
      ValueId step = coordinate(d);
      if (layout.axes[d] != StrideClass::One) step = assembly_.index(IndexOp::Mul, step, memory_.stride(leader, d));
      value = assembly_.index(IndexOp::Add, value, step);
    }
  }
  if (assembly_[value].kind == Value::Kind::Index)
    value = assembly_.let(block_, value, assembly_.claim(assembly_[pointer].name + "_row"));
  return cached = value;
}

}  // namespace ingot::codegen
