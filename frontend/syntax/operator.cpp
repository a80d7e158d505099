#include "frontend/syntax/operator.h"

#include "base/error.h"

namespace ingot::frontend {

std::string_view operator_text(Operator op) {
  switch (op) {
    case Operator::Add:
      return "+";
    case Operator::Sub:
      return "-";
    case Operator::Mult:
      return "*";
    case Operator::Div:
      return "/";
    case Operator::FloorDiv:
      return "//";
    case Operator::Mod:
      return "%";
    case Operator::MatMul:
      return "@";
    case Operator::Pow:
      return "**";
    case Operator::BitAnd:
      return "&";
    case Operator::BitOr:
      return "|";
    case Operator::BitXor:
      return "^";
    case Operator::LShift:
      return "<<";
    case Operator::RShift:
      return ">>";
    case Operator::Lt:
      return "<";
    case Operator::LtE:
      return "<=";
    case Operator::Gt:
      return ">";
    case Operator::GtE:
      return ">=";
    case Operator::Eq:
      return "==";
    case Operator::NotEq:
      return "!=";
    case Operator::Is:
      return "is";
    case Operator::IsNot:
      return "is not";
    case Operator::In:
      return "in";
    case Operator::NotIn:
      return "not in";
    case Operator::Neg:
      return "-";
    case Operator::Pos:
      return "+";
    case Operator::Invert:
      return "~";
    case Operator::Not:
      return "not";
  }
  throw_internal("an operator without a text");
}

}  // namespace ingot::frontend
