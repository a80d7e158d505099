#pragma once

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

// A simple evaluator of pointwise graphs at one element, for comparing graphs. If targets may differ, the evaluator
// returns an arbitrary marker, so that a rewrite that relies on one target's result is detected.

namespace ingot::ir {

/// An element's value. A 16-bit float is a float32 value here, as between the ops of a kernel; only a cast rounds it.
struct Element {
  DType type = DType::F32;
  int64_t integer = 0;
  double real = 0;

  bool same_as(const Element& other) const {
    if (type != other.type) return false;
    if (!is_floating(type)) return integer == other.integer;
    if (std::isnan(real)) return std::isnan(other.real);
    return real == other.real && std::signbit(real) == std::signbit(other.real);
  }
};

namespace reference {

template <typename T>
constexpr bool kFloat = std::is_floating_point_v<T>;

/// Calls `f` with a value of the C++ type in which the dtype is computed.
template <typename F>
auto with_type(DType type, F f) {
  switch (type) {
    case DType::Bool:
      return f(bool{});
    case DType::U8:
      return f(uint8_t{});
    case DType::I8:
      return f(int8_t{});
    case DType::I16:
      return f(int16_t{});
    case DType::I32:
      return f(int32_t{});
    case DType::I64:
      return f(int64_t{});
    case DType::F64:
      return f(double{});
    default:
      return f(float{});
  }
}

template <typename T>
T value(const Element& x) {
  if constexpr (kFloat<T>) return static_cast<T>(x.real);
  return static_cast<T>(x.integer);
}

template <typename T>
Element element(DType type, T value) {
  if constexpr (kFloat<T>) return {type, 0, value};
  return {type, static_cast<int64_t>(value), 0};
}

template <typename T>
T float_op(Op op, T x, T y, T z) {
  switch (op) {
    case Op::Add:
      return x + y;
    case Op::Sub:
      return x - y;
    case Op::Mul:
      return x * y;
    case Op::Div:
      return x / y;
    case Op::Neg:
      return -x;
    case Op::Abs:
      return std::abs(x);
    case Op::Reciprocal:
      return T{1} / x;
    case Op::Sqrt:
      return std::sqrt(x);
    case Op::Rsqrt:
      return T{1} / std::sqrt(x);
    case Op::Floor:
      return std::floor(x);
    case Op::Ceil:
      return std::ceil(x);
    case Op::Trunc:
      return std::trunc(x);
    case Op::Round:
      return std::nearbyint(x);
    case Op::Exp:
      return std::exp(x);
    case Op::Fma:
      return std::fma(x, y, z);
    case Op::Copysign:
      return std::copysign(x, y);
    case Op::Maximum:
      return std::isnan(x) || x > y ? x : y;  // for two zeros, the second one
    case Op::Minimum:
      return std::isnan(x) || x < y ? x : y;
    case Op::Fmax:
      return std::isnan(y) || x > y ? x : y;
    case Op::Fmin:
      return std::isnan(y) || x < y ? x : y;
    case Op::Pow:
      return std::pow(x, y);
    case Op::PowNumber:
      if (y == 0) return 1;
      if (y == 1) return x;
      if (y == 2) return x * x;
      if (y == 3) return x * x * x;
      if (y == T{0.5}) return std::sqrt(x);
      if (y == T{-0.5}) return T{1} / std::sqrt(x);
      if (y == -1) return T{1} / x;
      if (y == -2) return T{1} / (x * x);
      return std::pow(x, y);
    default:
      throw_internal("not in the reference evaluator");
  }
}

/// Evaluates an op on integers in 64 bits; the caller truncates the result to T.
inline int64_t integer_op(Op op, int64_t x, int64_t y, int width) {
  const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  const bool divides = y != 0 && !(x == INT64_MIN && y == -1);
  switch (op) {
    case Op::Add:
      return static_cast<int64_t>(a + b);
    case Op::Sub:
      return static_cast<int64_t>(a - b);
    case Op::Mul:
      return static_cast<int64_t>(a * b);
    case Op::Neg:
      return static_cast<int64_t>(0 - a);
    case Op::Abs:
      return x < 0 ? static_cast<int64_t>(0 - a) : x;
    case Op::FloorDivide:
      return divides ? x / y - (x % y != 0 && (x < 0) != (y < 0)) : 77;
    case Op::Remainder:
      return divides ? x % y + (x % y != 0 && (x < 0) != (y < 0) ? y : 0) : 78;
    case Op::TruncDivide:
      return divides ? x / y : 79;
    case Op::Maximum:
      return x > y ? x : y;
    case Op::Minimum:
      return x < y ? x : y;
    case Op::BitwiseAnd:
      return x & y;
    case Op::BitwiseOr:
      return x | y;
    case Op::BitwiseXor:
      return x ^ y;
    case Op::BitwiseNot:
      return ~x;
    case Op::ShiftLeft:
      return y < 0 || y >= width ? 0 : static_cast<int64_t>(a << y);
    case Op::ShiftRight:
      return y < 0 || y >= width ? -(x < 0) : x >> y;
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round:
      return x;
    case Op::Pow:
    case Op::PowNumber: {
      uint64_t power = 1;
      for (int64_t n = 0; n < y; ++n) power *= a;
      return static_cast<int64_t>(power);
    }
    default:
      throw_internal("not in the reference evaluator");
  }
}

inline bool bool_op(Op op, bool x, bool y) {
  switch (op) {
    case Op::Add:
    case Op::Maximum:
    case Op::BitwiseOr:
      return x || y;
    case Op::Mul:
    case Op::Minimum:
    case Op::BitwiseAnd:
      return x && y;
    case Op::BitwiseXor:
      return x != y;
    case Op::BitwiseNot:
      return !x;
    default:
      throw_internal("not in the reference evaluator");
  }
}

template <typename T>
bool test_op(Op op, T x, T y) {
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
    case Op::LogicalAnd:
      return x && y;
    case Op::LogicalOr:
      return x || y;
    case Op::LogicalXor:
      return !x != !y;
    case Op::LogicalNot:
      return !x;
    case Op::Isnan:
      return x != x;
    case Op::Isinf:
      return kFloat<T> && std::abs(static_cast<double>(x)) == std::numeric_limits<double>::infinity();
    case Op::Isfinite:
      return !kFloat<T> || std::isfinite(static_cast<double>(x));
    default:
      throw_internal("not in the reference evaluator");
  }
}

inline Element cast(const Element& x, DType type) {
  if (type == DType::Bool) return {type, is_floating(x.type) ? x.real != 0 : x.integer != 0, 0};
  if (is_floating(type)) {
    if (is_floating(x.type)) return {type, 0, round_to(type, x.real)};
    if (type == DType::F64) return {type, 0, static_cast<double>(x.integer)};
    return {type, 0, round_to(type, static_cast<float>(x.integer))};
  }
  if (!is_floating(x.type)) return {type, wrap_to(type, x.integer), 0};
  const double limit = std::ldexp(1, 8 * size_of(type) - is_signed(type));
  const double whole = std::trunc(x.real);
  const bool fits = whole < limit && whole >= (is_signed(type) ? -limit : 0);
  return {type, fits ? static_cast<int64_t>(whole) : x.type == DType::F64 ? 66 : 55, 0};
}

inline Element primitive(const Node& node, const std::vector<Element>& args) {
  const Rule rule = info(node.op).rule;
  const Element none{args[0].type, 0, 0};
  const Element& x = args[0];
  const Element& y = args.size() > 1 ? args[1] : none;
  const Element& z = args.size() > 2 ? args[2] : none;
  if (rule == Rule::Select) return x.integer ? y : z;
  const bool is_predicate = rule == Rule::Compare || rule == Rule::Logical;
  return with_type(x.type, [&](auto zero) {
    using T = decltype(zero);
    const T a = value<T>(x), b = value<T>(y);
    if (is_predicate) return element(DType::Bool, test_op(node.op, a, b));
    if constexpr (std::is_same_v<T, bool>) {
      return element(node.dtype, bool_op(node.op, a, b));
    } else if constexpr (kFloat<T>) {
      return element(node.dtype, float_op(node.op, a, b, value<T>(z)));
    } else {
      const int64_t wide = integer_op(node.op, x.integer, y.integer, 8 * size_of(node.dtype));
      return element(node.dtype, static_cast<T>(wide));
    }
  });
}

}  // namespace reference

/// Returns the values of all nodes at one element. `params` are the elements that loads of each parameter read. Scalars
/// must be constant.
inline std::vector<Element> evaluate_nodes(const Graph& graph, const std::vector<Element>& params) {
  std::vector<Element> values;
  for (uint32_t i = 0; i < graph.count(); ++i) {
    const Node& node = graph[{i}];
    std::vector<Element> args;
    for (const NodeId arg : node.args) args.push_back(values[arg.index]);
    switch (node.op) {
      case Op::Load:
        values.push_back(params[graph.access({i}).source.index]);
        break;
      case Op::Scalar: {
        const HostValue value = graph.host.value(graph.host_of({i}));
        if (value.kind != HostKind::Float) {
          values.push_back(reference::cast({DType::I64, value.integer, 0}, node.dtype));
        } else {
          const bool is_single = node.dtype != DType::F64;
          values.push_back({node.dtype, 0, is_single ? static_cast<float>(value.real) : value.real});
        }
        break;
      }
      case Op::Cast:
        values.push_back(reference::cast(args[0], node.dtype));
        break;
      case Op::Call:
        values.push_back(args[0]);
        break;
      default:
        values.push_back(reference::primitive(node, args));
    }
  }
  return values;
}

}  // namespace ingot::ir
