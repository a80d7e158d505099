#pragma once

#include <cstdint>
#include <string_view>

namespace ingot::frontend {

/// Python's operators on values. `and` and `or` are not among them: they decide which operands are evaluated.
enum class Operator : uint8_t {
  Add,
  Sub,
  Mult,
  Div,
  FloorDiv,
  Mod,
  MatMul,
  Pow,
  BitAnd,
  BitOr,
  BitXor,
  LShift,
  RShift,
  Lt,
  LtE,
  Gt,
  GtE,
  Eq,
  NotEq,
  Is,
  IsNot,
  In,  // In and NotIn are errors for tensors
  NotIn,
  Neg,
  Pos,
  Invert,
  Not,
};

/// The operator as Python source writes it: "+", "//", "<=", "not in", …
std::string_view operator_text(Operator op);

}  // namespace ingot::frontend
