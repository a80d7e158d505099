#include "ir/types/constant.h"

#include <algorithm>
#include <cmath>

#include "ir/host/checked.h"

namespace ingot::ir {
namespace {

using Args = std::span<const Constant>;

std::optional<bool> compare(Op op, auto x, auto y) {
  switch (op) {
    case Op::Eq:
      return x == y;
    case Op::Ne:
      return x != y;
    case Op::Lt:
      return x < y;
    case Op::Le:
      return x <= y;
    case Op::Gt:
      return x > y;
    case Op::Ge:
      return x >= y;
    default:
      return std::nullopt;
  }
}

// Floats

/// Min or max of two floats. NaN wins in maximum and minimum and loses in fmax and fmin. Returns nullopt for 0.0 and
/// -0.0, because a target may return either.
template <typename T>
std::optional<double> extreme(Op op, T x, T y) {
  const bool is_max = op == Op::Maximum || op == Op::Fmax;
  const bool propagates_nan = op == Op::Maximum || op == Op::Minimum;
  if (std::isnan(x)) return propagates_nan ? x : y;
  if (std::isnan(y)) return propagates_nan ? y : x;
  if (x == y && std::signbit(x) != std::signbit(y)) return std::nullopt;
  return is_max == (x > y) ? x : y;
}

/// Folds an op with a floating result, computed in T.
template <typename T>
std::optional<double> fold_float(Op op, Args args) {
  const auto x = static_cast<T>(args[0].real);
  const auto y = static_cast<T>(args.size() > 1 ? args[1].real : 0);
  const auto z = static_cast<T>(args.size() > 2 ? args[2].real : 0);
  switch (op) {
    case Op::Add:
      return x + y;
    case Op::Sub:
      return x - y;
    case Op::Mul:
      return x * y;
    case Op::Div:
      return x / y;
    case Op::Fma:
      return std::fma(x, y, z);
    case Op::Neg:
      return -x;
    case Op::Abs:
      return std::abs(x);
    case Op::Reciprocal:
      return T{1} / x;
    case Op::Sqrt:
      return std::sqrt(x);
    case Op::Floor:
      return std::floor(x);
    case Op::Ceil:
      return std::ceil(x);
    case Op::Trunc:
      return std::trunc(x);
    case Op::Round:
      return std::nearbyint(x);
    case Op::Copysign:
      return std::copysign(x, y);
    case Op::Maximum:
    case Op::Minimum:
    case Op::Fmax:
    case Op::Fmin:
      return extreme(op, x, y);
    default:
      return std::nullopt;
  }
}

std::optional<bool> test_float(Op op, Args args) {
  const double x = args[0].real;
  switch (op) {
    case Op::Isnan:
      return std::isnan(x);
    case Op::Isinf:
      return std::isinf(x);
    case Op::Isfinite:
      return std::isfinite(x);
    case Op::Signbit:
      if (std::isnan(x)) return std::nullopt;
      return std::signbit(x);
    default:
      return args.size() == 2 ? compare(op, x, args[1].real) : std::nullopt;
  }
}

// Integers and bool

int64_t wrapping(Op op, int64_t x, int64_t y) {
  const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  switch (op) {
    case Op::Add:
      return static_cast<int64_t>(a + b);
    case Op::Sub:
      return static_cast<int64_t>(a - b);
    default:
      return static_cast<int64_t>(a * b);
  }
}

std::optional<int64_t> shifted(Op op, DType type, int64_t x, int64_t y) {
  const int width = 8 * size_of(type);
  const bool is_out_of_range = y < 0 || y >= width;
  if (op == Op::ShiftLeft) {
    return is_out_of_range ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << y);
  }
  return is_out_of_range ? (x < 0 ? -1 : 0) : x >> y;
}

std::optional<int64_t> fold_integer(Op op, DType type, Args args) {
  const int64_t x = args[0].integer;
  const int64_t y = args.size() > 1 ? args[1].integer : 0;
  const bool divides = y != 0 && y != -1;  // division by -1 overflows for the smallest dividend
  switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
      return wrapping(op, x, y);
    case Op::Neg:
      return wrapping(Op::Sub, 0, x);
    case Op::Abs:
      return x < 0 ? wrapping(Op::Sub, 0, x) : x;
    case Op::Sign:
      return (x > 0) - (x < 0);
    case Op::FloorDivide:
      return divides ? std::optional(floor_div(x, y)) : std::nullopt;
    case Op::TruncDivide:
      return divides ? std::optional(x / y) : std::nullopt;
    case Op::Remainder:
      return divides ? std::optional(floor_mod(x, y)) : std::nullopt;
    case Op::Fmod:
      return divides ? std::optional(x % y) : std::nullopt;
    case Op::Maximum:
    case Op::Fmax:
      return std::max(x, y);
    case Op::Minimum:
    case Op::Fmin:
      return std::min(x, y);
    case Op::BitwiseAnd:
      return x & y;
    case Op::BitwiseOr:
      return x | y;
    case Op::BitwiseXor:
      return x ^ y;
    case Op::BitwiseNot:
      return ~x;
    case Op::ShiftLeft:
    case Op::ShiftRight:
      return shifted(op, type, x, y);
    default:
      return std::nullopt;
  }
}

std::optional<bool> test_integer(Op op, Args args) {
  const bool x = args[0].integer != 0;
  const bool y = args.size() > 1 && args[1].integer != 0;
  switch (op) {
    case Op::LogicalAnd:
      return x && y;
    case Op::LogicalOr:
      return x || y;
    case Op::LogicalXor:
      return x != y;
    case Op::LogicalNot:
      return !x;
    case Op::Isnan:
    case Op::Isinf:
      return false;
    case Op::Isfinite:
      return true;
    case Op::Signbit:
      return args[0].integer < 0;
    default:
      return args.size() == 2 ? compare(op, args[0].integer, args[1].integer) : std::nullopt;
  }
}

/// Folds arithmetic whose operands and result are bool.
std::optional<bool> fold_bool(Op op, Args args) {
  const bool x = args[0].integer, y = args.size() > 1 && args[1].integer;
  switch (op) {
    case Op::Add:
    case Op::Maximum:
    case Op::Fmax:
    case Op::BitwiseOr:
      return x || y;
    case Op::Mul:
    case Op::Minimum:
    case Op::Fmin:
    case Op::BitwiseAnd:
      return x && y;
    case Op::BitwiseXor:
      return x != y;
    case Op::BitwiseNot:
      return !x;
    case Op::Sign:
      return x;
    default:
      return std::nullopt;
  }
}

/// The power of two past the largest value of an integer type. The values are less than it, and at least -limit, or 0
/// if the type is unsigned.
double limit_of(DType type) { return std::ldexp(1, 8 * size_of(type) - is_signed(type)); }

}  // namespace

bool Constant::is(double value) const {
  if (!is_float()) return static_cast<double>(integer) == value;
  return real == value && std::signbit(real) == std::signbit(value);
}

std::optional<Constant> constant_of(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.op != Op::Scalar || !graph.host.is_constant(graph.host_of(id))) return std::nullopt;
  const HostValue value = graph.host.value(graph.host_of(id));
  if (value.kind != HostKind::Float) {
    return cast({value.kind == HostKind::Bool ? DType::Bool : DType::I64, value.integer, 0}, node.dtype);
  }
  if (node.dtype == DType::F64) return Constant{node.dtype, 0, value.real};
  return Constant{node.dtype, 0, static_cast<float>(value.real)};
}

NodeId add_constant(Graph& graph, const Constant& constant) {
  const HostId value = constant.is_float()            ? graph.host.real(constant.real)
                       : constant.type == DType::Bool ? graph.host.boolean(constant.integer != 0)
                                                      : graph.host.integer(constant.integer);
  return graph.scalar(constant.type, value);
}

std::optional<Constant> cast(const Constant& constant, DType type) {
  if (type == DType::Bool) {
    return Constant::of_bool(constant.is_float() ? constant.real != 0 : constant.integer != 0);
  }
  if (constant.is_float() && is_floating(type)) {
    return Constant{type, 0, round_to(type, constant.real)};
  }
  // `integer` cannot represent a uint64 past the largest int64.
  if (constant.type == DType::U64 && constant.integer < 0 && is_floating(type)) return std::nullopt;
  if (constant.is_float()) {
    if (type == DType::U64) return std::nullopt;
    const double whole = std::trunc(constant.real);
    const double limit = limit_of(type);
    if (!(whole < limit && whole >= (is_signed(type) ? -limit : 0))) return std::nullopt;
    return Constant{type, static_cast<int64_t>(whole), 0};
  }
  if (type == DType::F64) return Constant{type, 0, static_cast<double>(constant.integer)};
  if (is_floating(type)) {
    return Constant{type, 0, round_to(type, static_cast<float>(constant.integer))};
  }
  return Constant{type, wrap_to(type, constant.integer), 0};
}

std::optional<Constant> fold(Op op, DType type, Args args) {
  if (info(op).accuracy != Accuracy::Exact || info(op).rule == Rule::Select) return std::nullopt;
  if (is_floating(type)) {
    const auto result = type == DType::F64 ? fold_float<double>(op, args) : fold_float<float>(op, args);
    if (!result) return std::nullopt;
    return Constant{type, 0, *result};
  }
  if (type != DType::Bool) {
    const auto result = fold_integer(op, type, args);
    if (!result) return std::nullopt;
    return Constant{type, wrap_to(type, *result), 0};
  }
  const bool is_arithmetic = info(op).rule == Rule::Arith;
  const auto result = is_arithmetic        ? fold_bool(op, args)
                      : args[0].is_float() ? test_float(op, args)
                                           : test_integer(op, args);
  if (!result) return std::nullopt;
  return Constant::of_bool(*result);
}

}  // namespace ingot::ir
