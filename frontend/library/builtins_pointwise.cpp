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
constexpr std::array kTensorsOnly = {ir::Op::Maximum,   ir::Op::Minimum,    ir::Op::Fmax,      ir::Op::Fmin,
                                     ir::Op::Atan2,     ir::Op::Hypot,      ir::Op::Nextafter, ir::Op::LogicalAnd,
                                     ir::Op::LogicalOr, ir::Op::LogicalXor, ir::Op::Gcd,       ir::Op::Igamma,
                                     ir::Op::Igammac};
/// Those that take one in place of `input` too.
constexpr std::array kNumbersFirst = {ir::Op::Mul,        ir::Op::FloorDivide, ir::Op::Remainder,
                                      ir::Op::BitwiseAnd, ir::Op::BitwiseOr,   ir::Op::BitwiseXor,
                                      ir::Op::ShiftLeft,  ir::Op::ShiftRight,  ir::Op::Zeta};

ir::Op op_of(const Builtin& self) {
  return ir::primitive_named(self.alias_of.empty() ? self.name : self.alias_of).value();
}

void require_operand_kinds(Builder& builder, const Builtin& self, ir::Op op, Args args) {
  if (args.size() < 2 || builder.native || self.name.starts_with('_')) return;
  const bool tensors_only = std::ranges::count(kTensorsOnly, op) > 0;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool number_taken = i == 0 ? std::ranges::count(kNumbersFirst, op) > 0 : !tensors_only;
    if (!args[i].is_number() || number_taken) continue;
    const bool extreme = op == ir::Op::Maximum || op == ir::Op::Minimum;
    builder.fail(
        fmt::format("{} takes a tensor as its {} argument, not a number", self.name, i == 0 ? "first" : "second"),
        extreme ? fmt::format("write clamp(x, {}=…)", op == ir::Op::Maximum ? "min" : "max")
                : "write Python's operator, or full_like(x, number)");
  }
}

Value call_primitive(Builder& builder, const Builtin& self, Args args) {
  const ir::Op op = op_of(self);
  require_operand_kinds(builder, self, op, args);
  return pointwise(builder, op, args);
}

Value call_add(Builder& builder, const Builtin&, Args args) {
  return add_scaled(builder, ir::Op::Add, args[0], args[1], args[2]);
}
Value call_sub(Builder& builder, const Builtin&, Args args) {
  return add_scaled(builder, ir::Op::Sub, args[0], args[1], args[2]);
}
Value call_rsub(Builder& builder, const Builtin&, Args args) {
  require_tensor(builder, args[0], "rsub: `input`");
  return add_scaled(builder, ir::Op::Sub, args[1], args[0], args[2]);
}
Value call_div(Builder& builder, const Builtin&, Args args) { return divide(builder, args[0], args[1]); }
Value call_multiplies_by_reciprocal(Builder& builder, const Builtin&, Args args) {
  return Number{builder.graph.host.boolean(multiplies_by_reciprocal(builder, args[0], args[1]))};
}
Value call_divides_in_16_bits(Builder& builder, const Builtin&, Args args) {
  return Number{builder.graph.host.boolean(divides_in_16_bits(builder, args[0], args[1]))};
}
Value call_pow(Builder& builder, const Builtin&, Args args) { return power(builder, args[0], args[1]); }
/// Of bool it is the identity, which only PyTorch's CUDA kernel knows.
Value call_abs(Builder& builder, const Builtin& self, Args args) {
  const Tensor* input = args[0].tensor();
  const bool of_bool = input && input->dtype == ir::DType::Bool && builder.signature.device == Device::Cuda;
  return of_bool ? pointwise(builder, ir::Op::BitwiseOr, {args[0], args[0]}) : call_primitive(builder, self, args);
}

Value call_clamp(Builder& builder, const Builtin&, Args args) { return clamp(builder, args[0], args[1], args[2]); }
Value call_clamp_min(Builder& builder, const Builtin&, Args args) { return clamp(builder, args[0], args[1], None{}); }
Value call_clamp_max(Builder& builder, const Builtin&, Args args) { return clamp(builder, args[0], None{}, args[1]); }
Value call_where(Builder& builder, const Builtin&, Args args) {
  if (args[1].is_none() || args[2].is_none()) {
    builder.fail("where(condition) alone gives as many indices as there are true elements",
                 "choose element by element: where(condition, a, b)");
  }
  return where(builder, args[0], args[1], args[2]);
}

/// torch.max(a, b) and torch.min(a, b); with anything else they reduce.
Value call_extreme(Builder& builder, const Builtin& self, Args args) {
  const bool largest = self.name == "max";
  if (args[0].is_tensor() && args[1].is_tensor()) {
    return pointwise(builder, largest ? ir::Op::Maximum : ir::Op::Minimum, {args[0], args[1]});
  }
  const bool float_second = args[1].is_number() && builder.graph.host.kind(args[1].number()) == ir::HostKind::Float;
  if (float_second || !args[0].is_tensor()) {
    builder.fail(fmt::format("torch.{} takes two tensors, not a tensor and a number", self.name),
                 fmt::format("write clamp(x, {}=…)", largest ? "min" : "max"));
  }
  builder.fail(fmt::format("reductions are not in the language yet: {} of one tensor", self.name),
               fmt::format("{} of two tensors works element by element; reduce the op's result", self.name));
}

Value call_positive(Builder& builder, const Builtin&, Args args) {
  if (require_tensor(builder, args[0], "positive: `input`").dtype == ir::DType::Bool) {
    builder.fail("the `+` operator, on a bool tensor is not supported");
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
    case ir::Op::Erfinv:
      return "the inverse of the error function";
    case ir::Op::Zeta:
      return "Hurwitz's zeta function: the sum of (other + k) ** -input over k = 0, 1, 2, …";
    case ir::Op::Igamma:
      return "the regularised lower incomplete gamma function";
    case ir::Op::Igammac:
      return "the regularised upper incomplete gamma function";
    case ir::Op::Gcd:
      return "the greatest common divisor";
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
  bool is_method = kMethod;
};
constexpr std::array kAliases = {
    Alias{"subtract", "sub"}, Alias{"multiply", "mul"}, Alias{"negative", "neg"}, Alias{"absolute", "abs"},
    Alias{"fix", "trunc"}, Alias{"sgn", "sign"}, Alias{"greater", "gt"}, Alias{"greater_equal", "ge"},
    Alias{"less", "lt"}, Alias{"less_equal", "le"}, Alias{"not_equal", "ne"}, Alias{"arcsin", "asin"},
    Alias{"arccos", "acos"}, Alias{"arctan", "atan"}, Alias{"arctan2", "atan2"}, Alias{"arcsinh", "asinh"},
    Alias{"arccosh", "acosh"}, Alias{"arctanh", "atanh"}, Alias{"clip", "clamp"},
    // torch.special's
    Alias{"gammaln", "lgamma", kNoMethod}, Alias{"gammainc", "igamma", kNoMethod},
    Alias{"gammaincc", "igammac", kNoMethod}};

}  // namespace

std::vector<Builtin> pointwise_builtins() {
  std::vector<Builtin> rows = {
      {"add", "(input, other, *, alpha=1)", kFunction, kMethod, {}, call_add, summary_of(ir::Op::Add)},
      {"sub", "(input, other, *, alpha=1)", kFunction, kMethod, {}, call_sub, summary_of(ir::Op::Sub)},
      {"rsub", "(input, other, *, alpha=1)", kFunction, kNoMethod, {}, call_rsub, "other - alpha * input"},
      {"_div", "(input, other)", kFunction, kNoMethod, {}, call_div},
      {"_multiplies_by_reciprocal", "(input, other)", kFunction, kNoMethod, {}, call_multiplies_by_reciprocal},
      {"_divides_in_16_bits", "(input, other)", kFunction, kNoMethod, {}, call_divides_in_16_bits},
      {"abs", "(input)", kFunction, kMethod, {}, call_abs, summary_of(ir::Op::Abs)},
      {"zeta", "(input, other)", kFunction, kNoMethod, {}, call_primitive, summary_of(ir::Op::Zeta)},
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
    row.is_method = row.is_method && alias.is_method;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace ingot::frontend
