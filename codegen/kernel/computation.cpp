#include "codegen/kernel/computation.h"

#include <algorithm>

#include "codegen/target/spellings.h"

namespace ingot::codegen {
namespace {

using ir::DType;
using ir::Op;
using Naming = Value::Naming;

class Computation {
 public:
  Computation(const KernelContext& context, Assembly& assembly, Memory& memory, Access& access)
      : graph_(context.graph), context_(context), assembly_(assembly), memory_(memory), access_(access) {}

  std::vector<ValueId> compute() {
    for (const ir::NodeId id : nodes_of(graph_, context_.outline)) {
      assembly_.making(id);
      const ValueId value = lower(id);
      of_node_[id] = value;
      name(value, memory_.author_name(id));
    }
    std::vector<ValueId> results;
    for (const KernelOutline::PartRef& ref : context_.outline.parts) {
      const ir::NodeId node = graph_.results[ref.result].parts[ref.part].node;
      assembly_.making(node);
      results.push_back(cast(of_node_.at(node), graph_.results[ref.result].dtype));
    }
    return results;
  }

 private:
  void name(ValueId id, std::string author) {
    Value& value = assembly_[id];
    if (author.empty() || (value.naming != Naming::Auto && value.naming != Naming::Pinned)) return;
    value.naming = value.naming == Naming::Auto ? Naming::Author : Naming::Always;
    value.name = std::move(author);
  }

  ValueId lower(ir::NodeId id) {
    const ir::Node& node = graph_[id];
    switch (node.op) {
      case Op::Load:
        return load(node.dtype);
      case Op::Gather:
        return gather(node);
      case Op::Index:
        return position();
      case Op::Scalar:
        return scalar(node.dtype, graph_.host_of(id));
      case Op::Cast:
        return cast(of_node_.at(node.args[0]), node.dtype);
      case Op::Bitcast:
        return assembly_.add(
            {.kind = Value::Kind::Bitcast, .type = {node.dtype}, .operands = {of_node_.at(node.args[0])}});
      default:
        return primitive(id);
    }
  }

  ValueId load(DType dtype) {
    const ValueId loaded = access_.load(next_access_++), value = cast(loaded, dtype);
    if (ir::is_narrow_float(dtype) && loaded != value) widened_[value] = loaded;
    return value;
  }

  ValueId gather(const ir::Node& node) {
    std::vector<ValueId> indices;
    for (const ir::NodeId arg : node.args) indices.push_back(of_node_.at(arg));
    return cast(access_.gather(next_access_++, indices), node.dtype);
  }

  ValueId position() {
    const std::optional<ValueId> at = access_.position(next_access_++);
    return at ? cast(*at, DType::I64) : literal(DType::I64, ir::HostValue::of(int64_t{0}));
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
    // The 16-bit floats convert from and to float32 alone, as c10's do.
    if ((ir::is_narrow_float(from) && to != DType::F32 && to != DType::F64) ||
        (ir::is_narrow_float(to) && from != DType::F32))
      return cast(cast(operand, DType::F32), to);
    return assembly_.add(
        {.kind = Value::Kind::Cast, .type = {to}, .work = from, .operands = {operand}, .naming = naming});
  }

  ValueId primitive(ir::NodeId id) {
    const ir::Node& node = graph_[id];
    const ir::OpInfo& info = ir::info(node.op);
    std::vector<ValueId> operands;
    for (const ir::NodeId arg : node.args) operands.push_back(of_node_.at(arg));
    if (may_divide_by_zero(graph_, id)) operands[1] = access_.divisor(operands[1], next_division_++);
    if (node.op == Op::Where) return make(node.op, node.dtype, node.dtype, std::move(operands));

    DType work = info.rule == ir::Rule::Compare   ? assembly_[operands[0]].type.dtype
                 : info.rule == ir::Rule::Logical ? DType::Bool
                                                  : node.dtype;
    const DType result = info.rule == ir::Rule::Compare ? DType::Bool : ir::compute_type(work);
    work = ir::compute_type(work);
    for (ValueId& operand : operands) operand = cast(operand, work);
    return cast(make(node.op, work, result, std::move(operands)), node.dtype);
  }

  ValueId make(Op op, DType work, DType result, std::vector<ValueId> operands) {
    if (!needs_operands(context_.target.kind, op, work)) operands.clear();
    return assembly_.add(
        {.kind = Value::Kind::Primitive, .type = {result}, .op = op, .work = work, .operands = std::move(operands)});
  }

  const ir::Graph& graph_;
  const KernelContext& context_;
  Assembly& assembly_;
  Memory& memory_;
  Access& access_;
  std::map<ir::NodeId, ValueId> of_node_;
  std::map<ValueId, ValueId> widened_;  ///< 16-bit floats that were loaded as float32
  uint32_t next_access_ = 0, next_division_ = 0;
};

}  // namespace

std::vector<ValueId> compute(const KernelContext& context, Assembly& assembly, Memory& memory, Access& access) {
  return Computation(context, assembly, memory, access).compute();
}

}  // namespace ingot::codegen
