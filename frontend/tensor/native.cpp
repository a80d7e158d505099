#include "frontend/tensor/native.h"

#include "frontend/tensor/pointwise.h"

// The boundary of a native library function: one Call node per block, at which rounding is applied and derivative rules
// are looked up. Its operands are the body, and the tensors and numbers of the call. Bools are not operands: the body
// was evaluated with their values.

namespace ingot::frontend {
Value native_result(Builder& builder, std::string_view name, const Value& body, std::span<const Value> operands) {
  // A native function inside another one is part of that function's formula, except for derivatives.
  if (!body.is_tensor() || (builder.native && !builder.tape)) return body;
  const ir::DType dtype = body.tensor()->dtype;
  std::vector<Tensor> tensors{*body.tensor()};
  std::vector<Value> inputs;
  for (const Value& operand : operands) {
    if (const Tensor* tensor = operand.tensor()) {
      tensors.push_back(*tensor);
      inputs.push_back(operand);
    } else if (operand.is_number() && builder.graph.host.kind(operand.number()) != ir::HostKind::Bool) {
      const bool is_float = builder.graph.host.kind(operand.number()) == ir::HostKind::Float;
      const ir::DType type = is_float ? ir::DType::F64 : ir::DType::I64;
      tensors.push_back(number_tensor(builder, operand.number(), type, NumberCast::Wrapped));
    }
  }
  const std::string callee =
      builder.tape ? builder.tape->record(name, {operands.begin(), operands.end()}) : std::string(name);
  Tensor result = combined(builder, tensors, dtype, [&](std::span<const ir::NodeId> nodes) {
    const std::span<const ir::NodeId> rest = nodes.subspan(1);
    const ir::NodeId node = builder.graph.call(callee, nodes[0], {rest.begin(), rest.end()});
    return rounded_result_node(builder, node, dtype);
  });
  record_layout(builder, result, inputs, dtype);
  return result;
}

Value reduction_result(Builder& builder, std::string_view name, const Value& body) {
  if (builder.native) return body;
  if (const std::vector<Value>* items = body.items()) {
    std::vector<Value> results;
    for (const Value& item : *items) results.push_back(reduction_result(builder, name, item));
    return Tuple{std::make_shared<const std::vector<Value>>(std::move(results)), body.as<Tuple>().type};
  }
  if (!body.is_tensor()) return body;
  Tensor result = *body.tensor();
  for (ConcatBlock& block : result.blocks)
    block.node =
        rounded_result_node(builder, builder.with_location(builder.graph.call(name, block.node, {})), result.dtype);
  result.handle = record_contiguous(builder, shape_of(builder, result));
  return result;
}

}  // namespace ingot::frontend
