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
  In,
  NotIn,  // a host operation only; an error for tensors
  Neg,
  Pos,
  Invert,
  Not,
};

/// "+", "//", "<=", "not in", …
std::string_view spelling(Operator op);

}  // namespace ingot::frontend
