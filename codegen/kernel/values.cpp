#include "codegen/kernel/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "codegen/target/literals.h"
#include "codegen/target/spellings.h"

namespace ingot::codegen {
namespace {

using ir::DType;
using ir::Op;

class Builder {
 public:
  Builder(const KernelContext& context, const Accesses& accesses, const std::vector<std::string>& scalars,
          const AuthorNames& names)
      : graph_(context.graph), context_(context), accesses_(accesses), scalars_(scalars), names_(names) {}

  Values build() {
    for (const ir::NodeId id : nodes_of(graph_, context_.outline)) {
      const uint32_t value = lower(id);
      of_node_[id] = value;
      const auto name = names_.find(id);
      if (name == names_.end() || values_.all[value].authored) continue;
      values_.all[value].name = name->second;
      values_.all[value].authored = true;
    }
    for (const KernelOutline::PartRef& ref : context_.outline.parts) {
      const uint32_t value = of_node_.at(graph_.results[ref.result].parts[ref.part].node);
      values_.results.push_back(cast(value, graph_.results[ref.result].dtype));
    }
    for (const Value& value : values_.all)
      for (const uint32_t operand : value.operands) ++values_.all[operand].uses;
    for (const uint32_t result : values_.results) ++values_.all[result].uses;
    drop_unused();
    return std::move(values_);
  }

 private:
  uint32_t lower(ir::NodeId id) {
    const ir::Node& node = graph_[id];
    switch (node.op) {
      case Op::Load:
        return load(node.dtype);
      case Op::Gather:
        return gather(node);
      case Op::Index:
        return coordinate();
      case Op::Scalar:
        return scalar(node.dtype, graph_.host_of(id));
      case Op::Cast:
        return cast(of_node_.at(node.args[0]), node.dtype);
      case Op::Bitcast:
        return bitcast(of_node_.at(node.args[0]), node.dtype);
      default:
        return primitive(id);
    }
  }

  uint32_t add(Value value) {
    for (const uint32_t operand : value.operands) value.inner |= values_.all[operand].inner;
    const auto next = static_cast<uint32_t>(values_.all.size());
    const auto [known, is_new] = table_.emplace(
        Key{value.kind, value.dtype, value.op, value.work, value.access, value.number, value.text.text, value.operands},
        next);
    if (is_new) values_.all.push_back(std::move(value));
    return known->second;
  }

  uint32_t leaf(DType dtype, Text text) {
    Value value;
    value.dtype = dtype;
    value.text = std::move(text);
    return add(std::move(value));
  }

  uint32_t constant(DType dtype, ir::HostValue number) {
    std::string text = literal(number, dtype);
    if (ir::is_narrow_float(dtype)) text = fmt::format("{}({})", type_name(dtype), text);
    const Precedence precedence = text[0] == '-' ? Precedence::Unary : Precedence::Primary;
    return leaf(dtype, {std::move(text), precedence});
  }

  // Memory

  /// A bool is read as a byte, and made a bool.
  uint32_t loaded(DType dtype, Value value) {
    value.dtype = dtype == DType::Bool ? DType::U8 : dtype;
    const uint32_t access = value.access;
    const uint32_t element = add(std::move(value));
    values_.all[element].name = element_name(access);
    return cast(element, dtype);
  }

  /// What an element of a tensor is called where it needs a name: x_k, x_i, or x_value outside the inner loop.
  std::string element_name(uint32_t access) const {
    const AccessPlan& plan = accesses_[access];
    if (!plan.moves_inside) return plan.pointer + "_value";
    return plan.pointer + "_" + (plan.vector ? accesses_.lane_name() : accesses_.inner_name());
  }

  uint32_t load(DType dtype) {
    const uint32_t access = next_access_++;
    const AccessPlan& plan = accesses_[access];
    Value value;
    value.access = access;
    value.inner = plan.moves_inside;
    if (plan.vector) {
      value.text.text = fmt::format("{}[{}]", accesses_.vector_name(access), accesses_.lane_name());
    } else if (const Chunk chunk = accesses_.chunk_of(access); chunk.width > 1) {
      value.text.text = fmt::format("{}[{}]", accesses_.chunk_name(plan.group, chunk), plan.shift - chunk.first);
    } else {
      value.kind = Value::Kind::Element;
    }
    return loaded(dtype, std::move(value));
  }

  uint32_t gather(const ir::Node& node) {
    const uint32_t access = next_access_++;
    Value value;
    value.kind = Value::Kind::Element;
    value.access = access;
    value.inner = accesses_[access].moves_inside;
    for (uint32_t l = 0; l < node.args.size(); ++l) {
      Value wrap;
      wrap.kind = Value::Kind::Wrap;
      wrap.dtype = DType::I64;
      wrap.access = accesses_.stride_owner(access);
      wrap.number = l;
      wrap.operands = {of_node_.at(node.args[l])};
      const Value& index = values_.all[wrap.operands[0]];
      const bool is_element = index.kind == Value::Kind::Element && !index.authored;
      wrap.name = (is_element ? accesses_[index.access].pointer : index.authored ? index.name : "index") + "_wrapped";
      value.operands.push_back(add(std::move(wrap)));
    }
    return loaded(node.dtype, std::move(value));
  }

  uint32_t coordinate() {
    const uint32_t access = next_access_++;
    std::optional<Text> text = accesses_.coordinate(access);
    if (!text) return constant(DType::I64, ir::HostValue::of(int64_t{0}));
    Value value;
    value.dtype = accesses_.index_dtype();
    value.access = access;
    value.text = std::move(*text);
    value.inner = accesses_[access].moves_inside;
    return cast(add(std::move(value)), DType::I64);
  }

  uint32_t scalar(DType dtype, ir::HostId host) {
    if (graph_.host.is_constant(host)) return constant(dtype, graph_.host.value(host));
    const std::vector<ScalarUse>& uses = context_.outline.scalars;
    const auto use = std::ranges::find_if(uses, [&](const ScalarUse& candidate) {
      return candidate.value == host && candidate.dtype == ir::compute_type(dtype);
    });
    const std::string& name = scalars_[static_cast<size_t>(use - uses.begin())];
    return leaf(dtype, {ir::is_narrow_float(dtype) ? fmt::format("{}({})", type_name(dtype), name) : name});
  }

  // Arithmetic

  uint32_t cast(uint32_t operand, DType to) {
    const DType from = values_.all[operand].dtype;
    if (from == to) return operand;
    // The 16-bit floats convert from and to float32 alone, as c10's do.
    if ((ir::is_narrow_float(from) && to != DType::F32 && to != DType::F64) ||
        (ir::is_narrow_float(to) && from != DType::F32))
      return cast(cast(operand, DType::F32), to);
    Value value;
    value.kind = Value::Kind::Cast;
    value.dtype = to;
    value.work = from;
    value.operands = {operand};
    return add(std::move(value));
  }

  uint32_t bitcast(uint32_t operand, DType to) {
    Value value;
    value.kind = Value::Kind::Bitcast;
    value.dtype = to;
    value.operands = {operand};
    return add(std::move(value));
  }

  uint32_t non_zero(uint32_t divisor) {
    Value value;
    value.kind = Value::Kind::NonZero;
    value.dtype = values_.all[divisor].dtype;
    value.number = next_division_++;
    value.operands = {divisor};
    return add(std::move(value));
  }

  uint32_t primitive(ir::NodeId id) {
    const ir::Node& node = graph_[id];
    const ir::OpInfo& info = ir::info(node.op);
    std::vector<uint32_t> operands;
    for (const ir::NodeId arg : node.args) operands.push_back(of_node_.at(arg));
    if (!context_.cuda() && may_divide_by_zero(graph_, id)) operands[1] = non_zero(operands[1]);
    if (node.op == Op::Where) return make(node.op, node.dtype, node.dtype, std::move(operands));

    DType work = info.rule == ir::Rule::Compare   ? values_.all[operands[0]].dtype
                 : info.rule == ir::Rule::Logical ? DType::Bool
                                                  : node.dtype;
    const DType result = info.rule == ir::Rule::Compare ? DType::Bool : ir::compute_type(work);
    work = ir::compute_type(work);
    for (uint32_t& operand : operands) operand = cast(operand, work);
    return cast(make(node.op, work, result, std::move(operands)), node.dtype);
  }

  uint32_t make(Op op, DType work, DType result, std::vector<uint32_t> operands) {
    Value value;
    value.kind = Value::Kind::Primitive;
    value.dtype = result;
    value.op = op;
    value.work = work;
    value.operands = std::move(operands);
    return add(std::move(value));
  }

  /// What the legal forms have made superfluous: the operand of `isnan` of an integer.
  void drop_unused() {
    for (size_t at = values_.all.size(); at-- > 0;)
      if (values_.all[at].uses == 0)
        for (const uint32_t operand : values_.all[at].operands) --values_.all[operand].uses;
  }

  using Key = std::tuple<Value::Kind, DType, Op, DType, uint32_t, uint32_t, std::string, std::vector<uint32_t>>;

  const ir::Graph& graph_;
  const KernelContext& context_;
  const Accesses& accesses_;
  const std::vector<std::string>& scalars_;
  const AuthorNames& names_;
  std::map<ir::NodeId, uint32_t> of_node_;
  std::map<Key, uint32_t> table_;
  Values values_;
  uint32_t next_access_ = 0, next_division_ = 0;
};

}  // namespace

Values build_values(const KernelContext& context, const Accesses& accesses, const std::vector<std::string>& scalars,
                    const AuthorNames& names) {
  return Builder(context, accesses, scalars, names).build();
}

}  // namespace ingot::codegen
