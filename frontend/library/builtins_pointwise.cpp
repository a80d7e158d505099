#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/pointwise.h"

// Pointwise functions: a row for each primitive of ops.def, and rows of their own for those whose formula depends on
// more than their operands' types.

namespace ingot::frontend {
namespace {

/// The ops whose PyTorch functions take no Python number at all.
constexpr std::array kTensorsOnly = {ir::Op::Maximum,   ir::Op::Minimum,   ir::Op::Fmax,      ir::Op::Fmin,
                                     ir::Op::Atan2,     ir::Op::Hypot,     ir::Op::Nextafter, ir::Op::LogicalAnd,
                                     ir::Op::LogicalOr, ir::Op::LogicalXor};
/// Those that take one in place of `input` too.
constexpr std::array kNumbersFirst = {ir::Op::FloorDivide, ir::Op::Remainder, ir::Op::BitwiseAnd, ir::Op::BitwiseOr,
                                      ir::Op::BitwiseXor,  ir::Op::ShiftLeft, ir::Op::ShiftRight};

ir::Op op_of(const Builtin& self) {
  return ir::primitive_named(self.alias_of.empty() ? self.name : self.alias_of).value();
}

void require_operand_kinds(Lowering& lowering, const Builtin& self, ir::Op op, Args args) {
  if (args.size() < 2 || lowering.native_depth > 0 || self.name.starts_with('_')) return;
  const bool tensors_only = std::ranges::count(kTensorsOnly, op) > 0;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool number_taken = i == 0 ? std::ranges::count(kNumbersFirst, op) > 0 : !tensors_only;
    if (!args[i].is_number() || number_taken) continue;
    const bool extreme = op == ir::Op::Maximum || op == ir::Op::Minimum;
    lowering.fail(
        fmt::format("{} takes a tensor as its {} argument, not a number", self.name, i == 0 ? "first" : "second"),
        extreme ? fmt::format("write clamp(x, {}=…)", op == ir::Op::Maximum ? "min" : "max")
                : "write Python's operator, or full_like(x, number)");
  }
}

Value call_primitive(Lowering& lowering, const Builtin& self, Args args) {
  const ir::Op op = op_of(self);
  require_operand_kinds(lowering, self, op, args);
  return pointwise(lowering, op, args);
}

Value call_add(Lowering& lowering, const Builtin&, Args args) {
  return add_scaled(lowering, ir::Op::Add, args[0], args[1], args[2]);
}
Value call_sub(Lowering& lowering, const Builtin&, Args args) {
  return add_scaled(lowering, ir::Op::Sub, args[0], args[1], args[2]);
}
Value call_rsub(Lowering& lowering, const Builtin&, Args args) {
  return add_scaled(lowering, ir::Op::Sub, args[1], args[0], args[2]);
}
Value call_div(Lowering& lowering, const Builtin&, Args args) { return divide(lowering, args[0], args[1], args[2]); }
Value call_floor_divide(Lowering& lowering, const Builtin& self, Args args) {
  require_operand_kinds(lowering, self, ir::Op::FloorDivide, args);
  return floor_divide(lowering, args[0], args[1]);
}
Value call_true_divide(Lowering& lowering, const Builtin&, Args args) {
  return divide(lowering, args[0], args[1], None{});
}
Value call_pow(Lowering& lowering, const Builtin&, Args args) { return power(lowering, args[0], args[1]); }
Value call_nextafter(Lowering& lowering, const Builtin& self, Args args) {
  require_operand_kinds(lowering, self, ir::Op::Nextafter, args);
  return nextafter(lowering, args[0], args[1]);
}

/// Of bool it is the identity, which only PyTorch's CUDA kernel knows.
Value call_abs(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor* input = args[0].tensor();
  const bool of_bool = input && input->dtype == ir::DType::Bool && lowering.signature.device == Device::Cuda;
  return of_bool ? pointwise(lowering, ir::Op::BitwiseOr, {args[0], args[0]}) : call_primitive(lowering, self, args);
}

Value call_clamp(Lowering& lowering, const Builtin&, Args args) { return clamp(lowering, args[0], args[1], args[2]); }
Value call_clamp_min(Lowering& lowering, const Builtin&, Args args) {
  return clamp(lowering, args[0], args[1], None{});
}
Value call_clamp_max(Lowering& lowering, const Builtin&, Args args) {
  return clamp(lowering, args[0], None{}, args[1]);
}
Value call_where(Lowering& lowering, const Builtin&, Args args) {
  if (args[1].is_none() || args[2].is_none()) {
    lowering.fail("where(condition) alone gives as many indices as there are true elements",
                  "choose element by element: where(condition, a, b)");
  }
  return where(lowering, args[0], args[1], args[2]);
}

/// torch.max(a, b) and torch.min(a, b); with anything else they reduce.
Value call_extreme(Lowering& lowering, const Builtin& self, Args args) {
  const bool largest = self.name == "max";
  if (args[0].is_tensor() && args[1].is_tensor()) {
    return pointwise(lowering, largest ? ir::Op::Maximum : ir::Op::Minimum, {args[0], args[1]});
  }
  const bool float_second = args[1].is_number() && lowering.graph.host.kind(args[1].number()) == ir::HostKind::Float;
  if (float_second || !args[0].is_tensor()) {
    lowering.fail(fmt::format("torch.{} takes two tensors, not a tensor and a number", self.name),
                  fmt::format("write clamp(x, {}=…)", largest ? "min" : "max"));
  }
  lowering.fail(fmt::format("reductions are not in the language yet: {} of one tensor", self.name),
                fmt::format("{} of two tensors works element by element; reduce the op's result", self.name));
}

Value call_positive(Lowering& lowering, const Builtin&, Args args) {
  if (require_tensor(lowering, args[0], "positive: `input`").dtype == ir::DType::Bool) {
    lowering.fail("the `+` operator, on a bool tensor is not supported");
  }
  return args[0];
}

constexpr std::string_view summary_of(ir::Op op) {
  switch (op) {
    case ir::Op::Add:
      return "input + alpha * other";
    case ir::Op::Sub:
      return "input - alpha * other";
    case ir::Op::Mul:
      return "input * other";
    case ir::Op::Div:
      return "input / other, rounded towards zero or minus infinity where rounding_mode says so";
    case ir::Op::FloorDivide:
      return "input // other: the quotient rounded down";
    case ir::Op::Remainder:
      return "input % other, with the sign of other";
    case ir::Op::Fmod:
      return "the rest of input / other, with the sign of input";
    case ir::Op::Pow:
      return "input ** exponent";
    case ir::Op::Neg:
      return "-input";
    case ir::Op::Abs:
      return "the absolute value";
    case ir::Op::Sign:
      return "-1, 0 or 1";
    case ir::Op::Reciprocal:
      return "1 / input";
    case ir::Op::Sqrt:
      return "the square root";
    case ir::Op::Rsqrt:
      return "1 / sqrt(input)";
    case ir::Op::Floor:
      return "rounded down";
    case ir::Op::Ceil:
      return "rounded up";
    case ir::Op::Trunc:
      return "rounded towards zero";
    case ir::Op::Round:
      return "rounded to the nearest integer, halves to the even one";
    case ir::Op::Maximum:
      return "the larger of two, NaN if either is";
    case ir::Op::Minimum:
      return "the smaller of two, NaN if either is";
    case ir::Op::Fmax:
      return "the larger of two, of a NaN and a number the number";
    case ir::Op::Fmin:
      return "the smaller of two, of a NaN and a number the number";
    case ir::Op::Exp:
      return "e ** input";
    case ir::Op::Exp2:
      return "2 ** input";
    case ir::Op::Expm1:
      return "e ** input - 1, exact near 0";
    case ir::Op::Log:
      return "the natural logarithm";
    case ir::Op::Log2:
      return "the logarithm to base 2";
    case ir::Op::Log10:
      return "the logarithm to base 10";
    case ir::Op::Log1p:
      return "log(1 + input), exact near 0";
    case ir::Op::Sin:
      return "the sine";
    case ir::Op::Cos:
      return "the cosine";
    case ir::Op::Tan:
      return "the tangent";
    case ir::Op::Asin:
      return "the inverse sine";
    case ir::Op::Acos:
      return "the inverse cosine";
    case ir::Op::Atan:
      return "the inverse tangent";
    case ir::Op::Sinh:
      return "the hyperbolic sine";
    case ir::Op::Cosh:
      return "the hyperbolic cosine";
    case ir::Op::Tanh:
      return "the hyperbolic tangent";
    case ir::Op::Asinh:
      return "the inverse hyperbolic sine";
    case ir::Op::Acosh:
      return "the inverse hyperbolic cosine";
    case ir::Op::Atanh:
      return "the inverse hyperbolic tangent";
    case ir::Op::Atan2:
      return "the angle of the point (other, input)";
    case ir::Op::Hypot:
      return "sqrt(input**2 + other**2) without overflow on the way";
    case ir::Op::Erf:
      return "the error function";
    case ir::Op::Erfc:
      return "1 - erf(input), exact where that is small";
    case ir::Op::Lgamma:
      return "the logarithm of the absolute value of the gamma function";
    case ir::Op::Copysign:
      return "the magnitude of input with the sign of other";
    case ir::Op::Nextafter:
      return "the next floating-point number after input towards other";
    case ir::Op::Eq:
      return "input == other";
    case ir::Op::Ne:
      return "input != other";
    case ir::Op::Lt:
      return "input < other";
    case ir::Op::Le:
      return "input <= other";
    case ir::Op::Gt:
      return "input > other";
    case ir::Op::Ge:
      return "input >= other";
    case ir::Op::Isnan:
      return "whether it is NaN";
    case ir::Op::Isinf:
      return "whether it is infinite";
    case ir::Op::Isfinite:
      return "whether it is neither NaN nor infinite";
    case ir::Op::Signbit:
      return "whether the sign bit is set, -0.0 included";
    case ir::Op::LogicalAnd:
      return "whether both are not zero";
    case ir::Op::LogicalOr:
      return "whether one is not zero";
    case ir::Op::LogicalXor:
      return "whether exactly one is not zero";
    case ir::Op::LogicalNot:
      return "whether it is zero";
    case ir::Op::BitwiseAnd:
      return "input & other";
    case ir::Op::BitwiseOr:
      return "input | other";
    case ir::Op::BitwiseXor:
      return "input ^ other";
    case ir::Op::BitwiseNot:
      return "~input";
    case ir::Op::ShiftLeft:
      return "input << other";
    case ir::Op::ShiftRight:
      return "input >> other";
    case ir::Op::Where:
      return "input where the condition holds, elsewhere other";
    default:
      return {};
  }
}

struct Alias {
  std::string_view name, of;
};
constexpr std::array kAliases = {
    Alias{"subtract", "sub"},     Alias{"multiply", "mul"},  Alias{"divide", "div"},    Alias{"negative", "neg"},
    Alias{"absolute", "abs"},     Alias{"fix", "trunc"},     Alias{"sgn", "sign"},      Alias{"greater", "gt"},
    Alias{"greater_equal", "ge"}, Alias{"less", "lt"},       Alias{"less_equal", "le"}, Alias{"not_equal", "ne"},
    Alias{"arcsin", "asin"},      Alias{"arccos", "acos"},   Alias{"arctan", "atan"},   Alias{"arctan2", "atan2"},
    Alias{"arcsinh", "asinh"},    Alias{"arccosh", "acosh"}, Alias{"arctanh", "atanh"}, Alias{"clip", "clamp"}};

}  // namespace

std::vector<Builtin> pointwise_builtins() {
  std::vector<Builtin> rows = {
      {"add", "(input, other, *, alpha=1)", kFunction, kMethod, {}, call_add, summary_of(ir::Op::Add)},
      {"sub", "(input, other, *, alpha=1)", kFunction, kMethod, {}, call_sub, summary_of(ir::Op::Sub)},
      {"rsub", "(input, other, *, alpha=1)", kFunction, kNoMethod, {}, call_rsub, "other - alpha * input"},
      {"div", "(input, other, *, rounding_mode=None)", kFunction, kMethod, {}, call_div, summary_of(ir::Op::Div)},
      {"true_divide", "(input, other)", kFunction, kMethod, "div", call_true_divide, "input / other"},
      {"floor_divide", "(input, other)", kFunction, kMethod, {}, call_floor_divide, summary_of(ir::Op::FloorDivide)},
      {"abs", "(input)", kFunction, kMethod, {}, call_abs, summary_of(ir::Op::Abs)},
      {"nextafter", "(input, other)", kFunction, kMethod, {}, call_nextafter, summary_of(ir::Op::Nextafter)},
      {"pow", "(input, exponent)", kFunction, kMethod, {}, call_pow, summary_of(ir::Op::Pow)},
      {"where", "(condition, input=None, other=None)", kFunction, kNoMethod, {}, call_where, summary_of(ir::Op::Where)},
      {"clamp",
       "(input, min=None, max=None)",
       kFunction,
       kMethod,
       {},
       call_clamp,
       "held between two limits, either of which may be left out; NaN stays"},
      {"clamp_min", "(input, min)", kFunction, kMethod, {}, call_clamp_min, "at least min"},
      {"clamp_max", "(input, max)", kFunction, kMethod, {}, call_clamp_max, "at most max"},
      {"max",
       "(input, other=None, *, dim=None, keepdim=False)",
       kFunction,
       kMethod,
       {},
       call_extreme,
       "the larger of two tensors, as maximum"},
      {"min",
       "(input, other=None, *, dim=None, keepdim=False)",
       kFunction,
       kMethod,
       {},
       call_extreme,
       "the smaller of two tensors, as minimum"},
      {"positive", "(input)", kFunction, kMethod, {}, call_positive, "+input"},
  };
  for (const ir::OpInfo& row : ir::primitives()) {
    const bool special = std::ranges::any_of(rows, [&](const Builtin& known) { return known.name == row.name; });
    if (special) continue;
    static constexpr std::string_view kSignatures[] = {"(input)", "(input, other)", "(input, other, third)"};
    rows.push_back({row.name,
                    kSignatures[row.arity - 1],
                    kFunction,
                    !row.name.starts_with('_'),
                    {},
                    call_primitive,
                    summary_of(row.op)});
  }
  for (const Alias& alias : kAliases) {
    const auto of = std::ranges::find(rows, alias.of, &Builtin::name);
    Builtin row = *of;
    row.name = alias.name;
    row.alias_of = alias.of;
    rows.push_back(row);
  }
  return rows;
}

Value tensor_operator(Lowering& lowering, Operator op, std::span<const Value> operands) {
  for (const Value& operand : operands) {
    if (operand.is_tensor() || operand.is_number()) continue;
    lowering.fail(fmt::format("`{}` takes tensors and numbers, not {}", spelling(op), describe(operand)),
                  operand.is_none() ? "test for it with `is None`" : "");
  }
  const auto primitive = [&](ir::Op primitive_op) { return pointwise(lowering, primitive_op, operands); };
  switch (op) {
    case Operator::Add:
      return primitive(ir::Op::Add);
    case Operator::Sub:
      return primitive(ir::Op::Sub);
    case Operator::Mult:
      return primitive(ir::Op::Mul);
    case Operator::Div:
      return divide_operator(lowering, operands[0], operands[1]);
    case Operator::FloorDiv:
      return floor_divide(lowering, operands[0], operands[1]);
    case Operator::Mod:
      return primitive(ir::Op::Remainder);
    case Operator::Pow:
      return power(lowering, operands[0], operands[1]);
    case Operator::BitAnd:
      return primitive(ir::Op::BitwiseAnd);
    case Operator::BitOr:
      return primitive(ir::Op::BitwiseOr);
    case Operator::BitXor:
      return primitive(ir::Op::BitwiseXor);
    case Operator::LShift:
      return primitive(ir::Op::ShiftLeft);
    case Operator::RShift:
      return primitive(ir::Op::ShiftRight);
    case Operator::Lt:
      return primitive(ir::Op::Lt);
    case Operator::LtE:
      return primitive(ir::Op::Le);
    case Operator::Gt:
      return primitive(ir::Op::Gt);
    case Operator::GtE:
      return primitive(ir::Op::Ge);
    case Operator::Eq:
      return primitive(ir::Op::Eq);
    case Operator::NotEq:
      return primitive(ir::Op::Ne);
    case Operator::Neg:
      return primitive(ir::Op::Neg);
    case Operator::Pos:
      return call_positive(lowering, {}, operands);
    case Operator::Invert:
      return primitive(ir::Op::BitwiseNot);
    case Operator::Is:
    case Operator::IsNot:
    case Operator::In:
    case Operator::NotIn:
    case Operator::Not:
      break;
  }
  lowering.fail(fmt::format("`{}` has no meaning on tensors", spelling(op)));
}

}  // namespace ingot::frontend
