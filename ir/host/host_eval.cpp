#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <limits>
#include <stdexcept>

#include "base/error.h"
#include "ir/host/checked.h"
#include "ir/host/host.h"

// Evaluates Python's arithmetic on numbers, with Python's errors. This code is as exact as CPython, also for ops in
// which C++ is less exact (int / int, comparisons of an int with a float).

namespace ingot::ir {
namespace {

using Args = std::span<const HostValue>;

[[noreturn]] void fail(const char* message) { throw std::domain_error(message); }

bool is_float(const HostValue& x) { return x.kind == HostKind::Float; }

bool any_float(Args args) {
  for (const HostValue& x : args) {
    if (is_float(x)) return true;
  }
  return false;
}

/// Compares numbers as Python does: exactly, also an int with a float.
std::partial_ordering compare(const HostValue& x, const HostValue& y) {
  if (is_float(x) && is_float(y)) return x.real <=> y.real;
  if (!is_float(x) && !is_float(y)) return x.integer <=> y.integer;
  if (is_float(x)) return 0 <=> compare(y, x);
  if (std::isnan(y.real)) return std::partial_ordering::unordered;
  if (y.real >= 0x1p63) return std::partial_ordering::less;
  if (y.real < -0x1p63) return std::partial_ordering::greater;
  const double whole = std::trunc(y.real);
  const auto order = x.integer <=> static_cast<int64_t>(whole);
  return order != 0 ? std::partial_ordering(order) : 0.0 <=> y.real - whole;
}

// Integers

/// x / y rounded once, even if x or y is not exactly representable as a double.
double true_div(int64_t x, int64_t y) {
  if (y == 0) fail(division_by_zero_message(HostOp::TrueDiv, false));
  __extension__ using Wide = unsigned __int128;
  const auto magnitude = [](int64_t v) { return v < 0 ? 0 - static_cast<uint64_t>(v) : v; };
  const uint64_t dividend = magnitude(x), divisor = magnitude(y);
  // A quotient of at least 55 bits with a sticky bit (the last bit is set if there is a remainder) rounds as the exact
  // quotient does.
  const auto width = [](uint64_t v) { return static_cast<int>(std::bit_width(v)); };
  const int shift = std::max(0, 56 + width(divisor) - width(dividend));
  const Wide scaled = static_cast<Wide>(dividend) << shift;
  const auto quotient = static_cast<uint64_t>(scaled / divisor) | (scaled % divisor != 0);
  const double result = std::ldexp(static_cast<double>(quotient), -shift);
  return (x < 0) != (y < 0) ? -result : result;
}

int64_t int_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (true) {
    if (exponent & 1) result = checked_mul(result, base);
    exponent >>= 1;
    if (exponent == 0) return result;
    base = checked_mul(base, base);
  }
}

int64_t int_product(Args args) {
  int64_t result = 1;
  for (const HostValue& x : args) {
    if (x.integer == 0) return 0;  // even if the other factors overflow
  }
  for (const HostValue& x : args) result = checked_mul(result, x.integer);
  return result;
}

int64_t int_arithmetic(HostOp op, Args args) {
  const int64_t x = args[0].integer, y = args[1].integer;
  switch (op) {
    case HostOp::Add:
      return checked_add(x, y);
    case HostOp::Sub:
      return checked_sub(x, y);
    case HostOp::FloorDiv:
      return floor_div(x, y);
    case HostOp::Mod:
      return floor_mod(x, y);
    default:
      return int_product(args);
  }
}

// Floats

/// The result of Python's divmod: the remainder has the sign of y, and the quotient is floor(x / y), as a float.
struct DivMod {
  double quotient, remainder;
};

DivMod float_divmod(double x, double y) {
  double remainder = std::fmod(x, y);
  double quotient = (x - remainder) / y;
  if (remainder == 0) {
    remainder = std::copysign(0.0, y);
  } else if ((remainder < 0) != (y < 0)) {
    remainder += y;
    quotient -= 1;
  }
  if (quotient == 0) return {std::copysign(0.0, x / y), remainder};
  const double below = std::floor(quotient);
  return {quotient - below > 0.5 ? below + 1 : below, remainder};
}

double float_arithmetic(HostOp op, double x, double y) {
  switch (op) {
    case HostOp::Add:
      return x + y;
    case HostOp::Sub:
      return x - y;
    case HostOp::FloorDiv:
      if (y == 0) fail(division_by_zero_message(op, true));
      return float_divmod(x, y).quotient;
    case HostOp::Mod:
      if (y == 0) fail(division_by_zero_message(op, true));
      return float_divmod(x, y).remainder;
    default:
      return x * y;
  }
}

double float_power(double x, double y) {
  const bool are_finite = std::isfinite(x) && std::isfinite(y);
  if (are_finite && x == 0 && y < 0) fail("0.0 cannot be raised to a negative power");
  if (are_finite && x < 0 && y != std::floor(y)) {
    fail("a negative number raised to a fractional power is complex");
  }
  const double result = std::pow(x, y);
  if (are_finite && std::isinf(result)) fail("Numerical result out of range");
  return result;
}

HostValue power(const HostValue& x, const HostValue& y) {
  if (is_float(x) || is_float(y) || y.integer < 0) {
    return HostValue::of(float_power(x.as_double(), y.as_double()));
  }
  return HostValue::of(int_power(x.integer, y.integer));
}

int64_t to_integer(double x) {
  if (std::isnan(x)) fail("cannot convert float NaN to integer");
  if (std::isinf(x)) fail("cannot convert float infinity to integer");
  if (x >= 0x1p63 || x < -0x1p63) throw_too_large();
  return static_cast<int64_t>(x);
}

int64_t rounded(HostOp op, double x) {
  switch (op) {
    case HostOp::Floor:
      return to_integer(std::floor(x));
    case HostOp::Ceil:
      return to_integer(std::ceil(x));
    case HostOp::Round:
      return to_integer(std::nearbyint(x));
    default:
      return to_integer(std::trunc(x));
  }
}

// Functions of Python's math module

double libm_value(HostOp op, double x) {
  switch (op) {
    case HostOp::Sqrt:
      return std::sqrt(x);
    case HostOp::Exp:
      return std::exp(x);
    case HostOp::Exp2:
      return std::exp2(x);
    case HostOp::Expm1:
      return std::expm1(x);
    case HostOp::Log:
      return std::log(x);
    case HostOp::Log2:
      return std::log2(x);
    case HostOp::Log10:
      return std::log10(x);
    case HostOp::Log1p:
      return std::log1p(x);
    case HostOp::Sin:
      return std::sin(x);
    case HostOp::Cos:
      return std::cos(x);
    case HostOp::Tan:
      return std::tan(x);
    case HostOp::Asin:
      return std::asin(x);
    case HostOp::Acos:
      return std::acos(x);
    case HostOp::Atan:
      return std::atan(x);
    case HostOp::Sinh:
      return std::sinh(x);
    case HostOp::Cosh:
      return std::cosh(x);
    case HostOp::Tanh:
      return std::tanh(x);
    case HostOp::Asinh:
      return std::asinh(x);
    case HostOp::Acosh:
      return std::acosh(x);
    case HostOp::Atanh:
      return std::atanh(x);
    case HostOp::Erf:
      return std::erf(x);
    case HostOp::Erfc:
      return std::erfc(x);
    case HostOp::Gamma:
      return std::tgamma(x);
    case HostOp::Lgamma: {
      int sign;  // std::lgamma writes the sign to a global variable
      return ::lgamma_r(x, &sign);
    }
    default:
      throw_internal("not a math function");
  }
}

/// Whether an infinite result for the finite operand x is an overflow rather than a pole.
bool overflows(HostOp op, double x) {
  switch (op) {
    case HostOp::Exp:
    case HostOp::Exp2:
    case HostOp::Expm1:
    case HostOp::Sinh:
    case HostOp::Cosh:
      return true;
    case HostOp::Gamma:
    case HostOp::Lgamma:
      return x > 0 || x != std::floor(x);
    default:
      return false;
  }
}

double math_function(HostOp op, double x) {
  const double result = libm_value(op, x);
  if (std::isnan(result) && !std::isnan(x)) fail("math domain error");
  if (std::isinf(result) && std::isfinite(x)) {
    fail(overflows(op, x) ? "math range error" : "math domain error");
  }
  return result;
}

double math_fmod(double x, double y) {
  if (!std::isnan(x) && !std::isnan(y) && (std::isinf(x) || y == 0)) fail("math domain error");
  return std::fmod(x, y);
}

/// 1 / x in the arithmetic of a floating dtype.
double reciprocal_in(DType type, double x) {
  if (type == DType::F64) return 1 / x;
  return round_to(type, 1.0f / static_cast<float>(round_to(type, x)));
}

const HostValue& extreme(HostOp op, Args args) {
  const HostValue* best = &args[0];
  for (const HostValue& x : args.subspan(1)) {
    const auto order = compare(x, *best);
    if (op == HostOp::Min ? order < 0 : order > 0) best = &x;
  }
  return *best;
}

int64_t broadcast(Args args) {
  for (const HostValue& x : args) {
    if (x.integer != 1) return x.integer;
  }
  return 1;
}

/// The value of an Affine node.
HostValue affine(const HostNode& node, std::span<const HostValue> slots) {
  __extension__ using Wide = __int128;
  Wide sum = node.value.integer;
  for (size_t i = 0; i < node.args.size(); ++i) {
    // A single product has at most 126 bits, so only the sum can overflow.
    const Wide product = static_cast<Wide>(node.coefs[i]) * slots[node.args[i].index].integer;
    if (__builtin_add_overflow(sum, product, &sum)) throw_too_large();
  }
  if (sum > INT64_MAX || sum < INT64_MIN) throw_too_large();
  return HostValue::of(static_cast<int64_t>(sum));
}

/// Converts a value to the kind of its node.
HostValue converted_to(const HostValue& value, HostKind kind) {
  if (value.kind == kind) return value;
  return kind == HostKind::Float ? HostValue::of(value.as_double()) : HostValue::of(value.as_int());
}

}  // namespace

const char* division_by_zero_message(HostOp op, bool is_float) {
  switch (op) {
    case HostOp::FloorDiv:
      return is_float ? "float floor division by zero" : kFloorDivByZero;
    case HostOp::Mod:
      return is_float ? "float modulo" : kModByZero;
    default:
      return is_float ? "float division by zero" : "division by zero";
  }
}

bool python_may_raise(HostOp op, std::span<const HostKind> kinds) {
  const bool has_float = std::ranges::count(kinds, HostKind::Float) > 0;
  switch (op) {
    case HostOp::TrueDiv:
    case HostOp::FloorDiv:
    case HostOp::Mod:
      return true;
    case HostOp::Pow:
    case HostOp::Int:
    case HostOp::Floor:
    case HostOp::Ceil:
    case HostOp::Trunc:
    case HostOp::Round:
      return has_float;
    case HostOp::Fmod:
    case HostOp::Sqrt:
    case HostOp::Exp:
    case HostOp::Exp2:
    case HostOp::Expm1:
    case HostOp::Log:
    case HostOp::Log2:
    case HostOp::Log10:
    case HostOp::Log1p:
    case HostOp::Sin:
    case HostOp::Cos:
    case HostOp::Tan:
    case HostOp::Asin:
    case HostOp::Acos:
    case HostOp::Sinh:
    case HostOp::Cosh:
    case HostOp::Acosh:
    case HostOp::Atanh:
    case HostOp::Gamma:
    case HostOp::Lgamma:
      return true;
    default:
      return false;
  }
}

HostValue apply(HostOp op, Args args, uint32_t dtype) {
  switch (op) {
    case HostOp::Add:
    case HostOp::Sub:
    case HostOp::Mul:
    case HostOp::FloorDiv:
    case HostOp::Mod:
      if (!any_float(args)) return HostValue::of(int_arithmetic(op, args));
      return HostValue::of(float_arithmetic(op, args[0].as_double(), args[1].as_double()));
    case HostOp::TrueDiv:
      if (!any_float(args)) return HostValue::of(true_div(args[0].integer, args[1].integer));
      if (args[1].as_double() == 0) fail(division_by_zero_message(op, true));
      return HostValue::of(args[0].as_double() / args[1].as_double());
    case HostOp::Pow:
      return power(args[0], args[1]);
    case HostOp::Neg:
      if (is_float(args[0])) return HostValue::of(-args[0].real);
      return HostValue::of(checked_sub(0, args[0].integer));
    case HostOp::Abs:
      if (is_float(args[0])) return HostValue::of(std::abs(args[0].real));
      if (args[0].integer >= 0) return HostValue::of(args[0].integer);
      return HostValue::of(checked_sub(0, args[0].integer));
    case HostOp::Min:
    case HostOp::Max:
      return extreme(op, args);

    case HostOp::Lt:
      return HostValue::of(compare(args[0], args[1]) < 0);
    case HostOp::Le:
      return HostValue::of(compare(args[0], args[1]) <= 0);
    case HostOp::Gt:
      return HostValue::of(compare(args[0], args[1]) > 0);
    case HostOp::Ge:
      return HostValue::of(compare(args[0], args[1]) >= 0);
    case HostOp::Eq:
      return HostValue::of(compare(args[0], args[1]) == 0);
    case HostOp::Ne:
      return HostValue::of(compare(args[0], args[1]) != 0);
    case HostOp::Not:
      return HostValue::of(!args[0].truthy());
    case HostOp::Select:
      return args[0].truthy() ? args[1] : args[2];

    case HostOp::Int:
    case HostOp::Floor:
    case HostOp::Ceil:
    case HostOp::Trunc:
    case HostOp::Round:
      return HostValue::of(is_float(args[0]) ? rounded(op, args[0].real) : args[0].integer);
    case HostOp::Float:
      return HostValue::of(args[0].as_double());
    case HostOp::Bool:
      return HostValue::of(args[0].truthy());
    case HostOp::IsNotOne:
      return HostValue::of(int64_t{args[0].integer != 1});
    case HostOp::Broadcast:
      return HostValue::of(broadcast(args));

    case HostOp::Atan2:
      return HostValue::of(std::atan2(args[0].as_double(), args[1].as_double()));
    case HostOp::Hypot:
      return HostValue::of(std::hypot(args[0].as_double(), args[1].as_double()));
    case HostOp::Copysign:
      return HostValue::of(std::copysign(args[0].as_double(), args[1].as_double()));
    case HostOp::Fmod:
      return HostValue::of(math_fmod(args[0].as_double(), args[1].as_double()));
    case HostOp::RoundTo:
      return HostValue::of(round_to(static_cast<DType>(dtype), args[0].as_double()));
    case HostOp::ReciprocalIn:
      return HostValue::of(reciprocal_in(static_cast<DType>(dtype), args[0].as_double()));

    case HostOp::Constant:
    case HostOp::Size:
    case HostOp::Scalar:
    case HostOp::Affine:
      throw_internal("a host op that apply() does not evaluate");
    default:
      return HostValue::of(math_function(op, args[0].as_double()));
  }
}

void evaluate(const HostPool& pool, const HostInputs& inputs, std::span<HostValue> slots, bool per_call_only) {
  std::vector<HostValue> args;
  for (uint32_t i = 0; i < pool.count(); ++i) {
    const HostNode& node = pool[{i}];
    if (per_call_only && !node.per_call) continue;
    switch (node.op) {
      case HostOp::Constant:
        slots[i] = node.value;
        break;
      case HostOp::Size:
        slots[i] = HostValue::of(inputs.size(node.a, node.b));
        break;
      case HostOp::Scalar:
        slots[i] = converted_to(inputs.scalar(node.a), node.kind);
        break;
      case HostOp::Affine:
        slots[i] = affine(node, slots);
        break;
      default:
        args.clear();
        for (const HostId arg : node.args) args.push_back(slots[arg.index]);
        slots[i] = converted_to(apply(node.op, args, node.b), node.kind);
    }
  }
}

}  // namespace ingot::ir
