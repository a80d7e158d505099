#include "codegen/kernel/reduction.h"

#include <algorithm>
#include <limits>

#include "ir/types/limits.h"

namespace ingot::codegen {
namespace {

using ir::DType;
using ir::Op;
using ir::ReduceKind;

/// The op that makes two values one.
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

ir::HostValue extreme(DType dtype, bool smallest) {
  if (dtype == DType::Bool) return ir::HostValue::of(!smallest);
  if (ir::is_floating(dtype))
    return ir::HostValue::of(smallest ? -std::numeric_limits<double>::infinity()
                                      : std::numeric_limits<double>::infinity());
  const ir::IntegerLimits limits = ir::integer_limits(dtype);
  return ir::HostValue::of(smallest ? limits.smallest : limits.largest);
}

/// What is found of no elements.
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

RowReductions::RowReductions(const KernelContext& context, Assembly& assembly, Memory& memory)
    : context_(context), assembly_(assembly), memory_(memory) {
  uint32_t states = 0;
  for (const KernelOutline::ReductionRef& ref : context.outline.reductions) {
    RowReduction& reduction = reductions_.emplace_back();
    reduction.node = ref.node;
    reduction.kind = context.graph.reduction(ref.node).kind;
    reduction.phase = ref.phase;
    reduction.first_state = states;
    const DType dtype = context.graph[ref.node].dtype;
    for (uint32_t v = 0; v < ir::info(reduction.kind).values; ++v) {
      reduction.types.push_back(v == 0 ? dtype : DType::I64);
      reduction.results.push_back(result_of(ref.node, v, reduction.types[v]));
      known_[{ref.node, v}] = assembly.read(reduction.results[v]);
    }
    states += ir::info(reduction.kind).values;
  }
}

/// Called as the author calls what reads it; else by what it is.
SymbolId RowReductions::result_of(ir::NodeId node, uint32_t value, DType dtype) {
  const ir::Graph& graph = context_.graph;
  for (const ir::NodeId id : nodes_of(graph, context_.outline))
    if (graph.reduction_read(id) == node && graph.access(id).source.index == value)
      if (const std::string name = memory_.author_name(id); !name.empty())
        return assembly_.variable_called(name, Level::Row, {dtype});
  return assembly_.variable(value == 0 ? ir::info(graph.reduction(node).kind).name : "index", {dtype}, Level::Row);
}

std::vector<DType> RowReductions::states() const {
  std::vector<DType> states;
  for (const RowReduction& reduction : reductions_)
    states.insert(states.end(), reduction.types.begin(), reduction.types.end());
  return states;
}

uint32_t RowReductions::phases() const {
  uint32_t phases = 0;
  for (const RowReduction& reduction : reductions_) phases = std::max(phases, reduction.phase + 1);
  return phases;
}

void RowReductions::declare(Body& block, RowReduction& reduction, uint32_t classes, Loop::Kind kind) {
  if (class_name_.empty()) class_name_ = assembly_.claim("c");
  const SymbolId c = assembly_.variable_called(class_name_, Level::Thread);
  Body initial;
  reduction.classes.clear();
  for (uint32_t v = 0; v < reduction.types.size(); ++v) {
    const DType dtype = reduction.types[v];
    const std::string& name = assembly_[reduction.results[v]].name;
    const SymbolId array = assembly_.variable(name + "_of", {dtype}, Level::Thread);
    assembly_[array].extents = {classes};
    reduction.classes.push_back(array);
    block.push_back({Declare{array}});
    const ir::HostValue none = v == 0 ? value_of_none(reduction.kind, dtype)
                                      : ir::HostValue::of(std::numeric_limits<int64_t>::max());
    const ValueId literal = assembly_.add(
        {.kind = Value::Kind::Literal, .type = {dtype}, .number = none, .naming = Value::Naming::Inline});
    initial.push_back({Assign{assembly_.item(assembly_.read(array), assembly_.read(c)), literal}});
  }
  block.push_back({Loop{kind, c, assembly_.whole(0), assembly_.whole(classes), std::move(initial)}});
}

void RowReductions::fold(Body& block, const RowReduction& reduction, ValueId class_number,
                         const std::vector<ValueId>& found) {
  std::vector<ValueId> into;
  for (const SymbolId array : reduction.classes)
    into.push_back(assembly_.item(assembly_.read(array), class_number));
  if (into.size() == 1) {
    const ValueId both = assembly_.add({.kind = Value::Kind::Primitive,
                                        .type = {reduction.types[0]},
                                        .op = op_of(reduction.kind),
                                        .work = reduction.types[0],
                                        .operands = {into[0], found[0]},
                                        .naming = Value::Naming::Inline});
    block.push_back({Assign{into[0], both}});
    return;
  }
  const auto take =
      reduction.kind == ReduceKind::ArgMax ? Call::Function::TakeLarger : Call::Function::TakeSmaller;
  block.push_back({Call{take, {into[0], into[1], found[0], found[1]}, reduction.classes[0]}});
}

void RowReductions::combine(Body& block, RowReduction& reduction, uint32_t lanes, uint32_t threads) {
  block.push_back({Combine{reduction.kind, reduction.classes, reduction.results, lanes, threads, slots_++}});
}

SymbolId RowReductions::state_pointer(uint32_t state) {
  return assembly_.parameter({KernelParameter::Kind::State, state, 0, DType::I64, {}},
                             {.dtype = states()[state], .is_pointer = true}, "found");
}

}  // namespace ingot::codegen
