#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/interpret/autocast.h"
#include "frontend/interpret/dicts.h"
#include "frontend/interpret/interpreter.h"
#include "frontend/interpret/python_numbers.h"
#include "frontend/interpret/sequences.h"
#include "frontend/tensor/in_place.h"
#include "frontend/tensor/pointwise.h"

// Python's operators. Tensor operands dispatch to PyTorch's functions.

namespace ingot::frontend {
namespace {

/// The library function that implements an operator on tensors; empty if the operator is a primitive.
std::string_view function_of(Operator op) {
  switch (op) {
    case Operator::Pow:
      return "pow";
    case Operator::FloorDiv:
      return "floor_divide";
    case Operator::Pos:
      return "positive";
    case Operator::MatMul:
      return "matmul";
    default:
      return {};
  }
}

/// The primitive that implements an operator on tensors.
std::optional<ir::Op> primitive_of(Operator op) {
  switch (op) {
    case Operator::Add:
      return ir::Op::Add;
    case Operator::Sub:
      return ir::Op::Sub;
    case Operator::Mult:
      return ir::Op::Mul;
    case Operator::Mod:
      return ir::Op::Remainder;
    case Operator::BitAnd:
      return ir::Op::BitwiseAnd;
    case Operator::BitOr:
      return ir::Op::BitwiseOr;
    case Operator::BitXor:
      return ir::Op::BitwiseXor;
    case Operator::LShift:
      return ir::Op::ShiftLeft;
    case Operator::RShift:
      return ir::Op::ShiftRight;
    case Operator::Lt:
      return ir::Op::Lt;
    case Operator::LtE:
      return ir::Op::Le;
    case Operator::Gt:
      return ir::Op::Gt;
    case Operator::GtE:
      return ir::Op::Ge;
    case Operator::Eq:
      return ir::Op::Eq;
    case Operator::NotEq:
      return ir::Op::Ne;
    case Operator::Neg:
      return ir::Op::Neg;
    case Operator::Invert:
      return ir::Op::BitwiseNot;
    default:
      return std::nullopt;
  }
}

Value tensor_operator(Evaluation& evaluation, Operator op, std::span<const Value> operands) {
  for (const Value& operand : operands) {
    if (operand.is_tensor() || operand.is_number()) continue;
    evaluation.fail(fmt::format("`{}` takes tensors and numbers, not {}", operator_text(op), describe(operand)),
                    operand.is_none() ? "test for it with `is None`" : "");
  }
  if (const auto primitive = primitive_of(op)) return pointwise(evaluation, *primitive, operands);
  if (op == Operator::Div) {
    std::array<std::optional<Value>, 1> divisor{operands[1]};
    if (operands[0].is_number())
      autocast_arguments(evaluation, "reciprocal", {}, divisor);  // Tensor.__rtruediv__ calls it
    return divide_operator(evaluation, operands[0], *divisor[0]);
  }
  const std::string_view function = function_of(op);
  if (function.empty()) evaluation.fail(fmt::format("`{}` has no meaning on tensors", operator_text(op)));
  return call(evaluation, torch_function(function).value(), {{operands.begin(), operands.end()}, {}});
}

}  // namespace

Value operate_in_place(Evaluation& evaluation, Operator op, const Value& target, const Value& operand) {
  if (target.is<List>() && op == Operator::Add) {
    call_list_method(evaluation, "extend", target.as<List>(), {&operand, 1});
    return target;
  }
  if (target.is<Dict>() && op == Operator::BitOr) {
    update(evaluation, target.as<Dict>(), operand);
    return target;
  }
  const std::array<Value, 2> operands{target, operand};
  Evaluation inner = target.is_tensor() ? evaluation.without_autocast() : evaluation;
  const Value result = operate(inner, op, operands);
  if (target.is<List>() && op == Operator::Mult) {
    *target.as<List>().items = *result.items();
    return target;
  }
  if (!target.is_tensor()) return result;
  write_in_place(evaluation, target, result, {&operand, 1});
  return target;
}

Value operate(Evaluation& evaluation, Operator op, std::span<const Value> operands) {
  const bool has_tensor = std::ranges::any_of(operands, [](const Value& operand) { return operand.is_tensor(); });
  if (!has_tensor || op == Operator::Is || op == Operator::IsNot) return static_operator(evaluation, op, operands);
  if (op == Operator::Not) evaluation.fail("`not` has no meaning on tensors", "write `~mask`, or torch.logical_not(x)");
  if (op == Operator::In || op == Operator::NotIn) {
    evaluation.fail("`in` has no meaning on tensors", "compare with `==`, element by element");
  }
  return tensor_operator(evaluation, op, operands);
}

}  // namespace ingot::frontend
