#include <algorithm>
#include <optional>
#include <span>

#include "ir/passes/rewrite.h"
#include "ir/types/constant.h"

// Exact rewrites. Each rule examines one node, whose operands have been simplified, and returns its replacement or
// nothing. Rewrites preserve signed zeros, infinities, NaN and the wrapping of integers; the bits of a NaN may change.
// Between ops, a value of a 16-bit float type may be a float32, so a cast of such a value to its own type rounds it.

namespace ingot::ir {
namespace {

using Rewritten = std::optional<NodeId>;

NodeId simplified(Graph& graph, Node node);

NodeId make(Graph& graph, Op op, DType type, std::vector<NodeId> args) {
  return simplified(graph, {op, type, 0, std::move(args)});
}

bool is(const Graph& graph, NodeId id, Op op) { return graph[id].op == op; }

bool is_constant(const Graph& graph, NodeId id, double value) {
  const auto constant = constant_of(graph, id);
  return constant && constant->is(value);
}

bool is_integer(const Graph& graph, NodeId id) { return category(graph[id].dtype) == Category::Integral; }

NodeId boolean(Graph& graph, bool value) { return add_constant(graph, Constant::of_bool(value)); }

// Constants

/// Converts a constant to the HostKind of its dtype, so that 2 and 2.0 as float32 are one node.
Rewritten constant_in_its_kind(Graph& graph, const Node& node) {
  if (node.op != Op::Scalar) return std::nullopt;
  const NodeId id = graph.add(node);
  const HostKind kind = graph.host.kind(graph.host_of(id));
  const auto constant = constant_of(graph, id);
  if (!constant || (constant->is_float() && kind == HostKind::Float)) return id;
  return add_constant(graph, *constant);
}

Rewritten constant_folding(Graph& graph, const Node& node) {
  if (!is_primitive(node.op) && node.op != Op::Cast) return std::nullopt;
  std::vector<Constant> args;
  for (const NodeId arg : node.args) {
    const auto constant = constant_of(graph, arg);
    if (!constant) return std::nullopt;
    args.push_back(*constant);
  }
  const auto result = node.op == Op::Cast ? cast(args[0], node.dtype) : fold(node.op, node.dtype, args);
  if (!result) return std::nullopt;
  return add_constant(graph, *result);
}

// Casts

/// Bits of precision: of the significand for a float, without the sign for an integer.
int precision(DType type) {
  switch (type) {
    case DType::Bool:
      return 1;
    case DType::F8E5M2:
    case DType::F8E5M2FNUZ:
      return 3;
    case DType::F8E4M3FN:
    case DType::F8E4M3FNUZ:
      return 4;
    case DType::F16:
      return 11;
    case DType::BF16:
      return 8;
    case DType::F32:
      return 24;
    case DType::F64:
      return 53;
    default:
      return 8 * size_of(type) - is_signed(type);
  }
}

/// Whether type `to` can represent every value that a node of type `from` may have.
bool is_lossless_cast(DType from, DType to) {
  if (from == to) return !is_narrow_float(from);
  if (is_floating(from)) return is_floating(to) && precision(to) >= 24 && precision(to) >= precision(from);
  if (from == DType::Bool) return true;
  return precision(to) >= precision(from) && (is_signed(to) || !is_signed(from));
}

/// Whether the value of a node is a value of its type, rather than a float32 that has not been rounded to 16 bits yet.
bool is_value_of_its_type(const Graph& graph, NodeId id) {
  const Op op = graph[id].op;
  return !is_narrow_float(graph[id].dtype) || op == Op::Load || op == Op::Gather || op == Op::Cast || op == Op::Bitcast;
}

Rewritten cast_to_same_type(Graph& graph, const Node& node) {
  if (node.op != Op::Cast && node.op != Op::Bitcast) return std::nullopt;
  const NodeId x = node.args[0];
  if (graph[x].dtype == node.dtype && is_value_of_its_type(graph, x)) return x;
  return std::nullopt;
}

/// Removes the inner one of two casts if it loses nothing, or if all three dtypes are integral and the outer cast's
/// dtype is not wider than the inner one's.
Rewritten cast_of_cast(Graph& graph, const Node& node) {
  if (node.op != Op::Cast || !is(graph, node.args[0], Op::Cast)) return std::nullopt;
  const NodeId x = graph[node.args[0]].args[0];
  const DType from = graph[x].dtype, middle = graph[node.args[0]].dtype, to = node.dtype;
  const auto is_integral = [](DType type) { return category(type) == Category::Integral; };
  const bool is_narrowing =
      is_integral(from) && is_integral(middle) && is_integral(to) && size_of(to) <= size_of(middle);
  // Targets may convert an out-of-range float to an integer differently, depending on the float's type.
  const bool is_independent_of_float_type = is_floating(to) || to == DType::Bool || !is_floating(middle);
  if (!is_narrowing && !(is_lossless_cast(from, middle) && is_independent_of_float_type)) return std::nullopt;
  return make(graph, Op::Cast, to, {x});
}

Rewritten bitcast_of_bitcast(Graph& graph, const Node& node) {
  if (node.op != Op::Bitcast || !is(graph, node.args[0], Op::Bitcast)) return std::nullopt;
  return make(graph, Op::Bitcast, node.dtype, {graph[node.args[0]].args[0]});
}

// Arithmetic

/// Removes a neutral operand: x + 0 (-0.0 for floats), x - 0, x * 1, x / 1, and similar cases for integers.
Rewritten neutral_operand(Graph& graph, const Node& node) {
  if (node.args.size() != 2) return std::nullopt;
  const auto [x, y] = std::pair(node.args[0], node.args[1]);
  const bool is_float = is_floating(node.dtype), is_integral = is_integer(graph, x);
  const double zero = is_float ? -0.0 : 0.0;
  switch (node.op) {
    case Op::Add:
      if (is_constant(graph, y, zero)) return x;
      if (is_constant(graph, x, zero)) return y;
      return std::nullopt;
    case Op::Sub:
    case Op::BitwiseOr:
    case Op::BitwiseXor:
    case Op::ShiftLeft:
    case Op::ShiftRight:
      if (is_constant(graph, y, 0.0)) return x;
      return std::nullopt;
    case Op::Mul:
      if (is_constant(graph, y, 1)) return x;
      if (is_constant(graph, x, 1)) return y;
      return std::nullopt;
    case Op::Div:
      if (is_constant(graph, y, 1)) return x;
      return std::nullopt;
    case Op::FloorDivide:
    case Op::TruncDivide:
      if (is_integral && is_constant(graph, y, 1)) return x;
      return std::nullopt;
    case Op::BitwiseAnd:
      if (is_integral && is_signed(node.dtype) && is_constant(graph, y, -1)) return x;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

/// Replaces 0 * x by 0 for integers. For floats, 0 * x may be -0.0 or NaN.
Rewritten absorbing_zero(Graph& graph, const Node& node) {
  if (node.op != Op::Mul && node.op != Op::BitwiseAnd) return std::nullopt;
  if (is_floating(node.dtype)) return std::nullopt;
  for (const NodeId arg : node.args) {
    if (is_constant(graph, arg, 0)) return arg;
  }
  return std::nullopt;
}

/// Simplifies op(x, x) to x, to 0 or to a bool, if this is exact.
Rewritten same_operands(Graph& graph, const Node& node) {
  if (node.args.size() != 2 || node.args[0] != node.args[1]) return std::nullopt;
  const NodeId x = node.args[0];
  const bool is_never_nan = !is_floating(graph[x].dtype);
  switch (node.op) {
    case Op::Maximum:
    case Op::Minimum:
    case Op::Fmax:
    case Op::Fmin:
    case Op::BitwiseAnd:
    case Op::BitwiseOr:
    case Op::LogicalAnd:
    case Op::LogicalOr:
      return x;
    case Op::Sub:
    case Op::BitwiseXor:
      if (is_never_nan) return add_constant(graph, {node.dtype, 0, 0});
      return std::nullopt;
    case Op::LogicalXor:
      return boolean(graph, false);
    case Op::Eq:
    case Op::Le:
    case Op::Ge:
      if (is_never_nan) return boolean(graph, true);  // NaN is not equal to itself
      return std::nullopt;
    case Op::Ne:
    case Op::Lt:
    case Op::Gt:
      if (is_never_nan) return boolean(graph, false);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

/// Simplifies --x, |-x|, ||x||, x + -y, x - -y.
Rewritten signs(Graph& graph, const Node& node) {
  const auto negated = [&](size_t i) -> Rewritten {
    if (!is(graph, node.args[i], Op::Neg)) return std::nullopt;
    return graph[node.args[i]].args[0];
  };
  switch (node.op) {
    case Op::Neg:
      return negated(0);
    case Op::Abs:
      if (is(graph, node.args[0], Op::Abs)) return node.args[0];
      if (const auto x = negated(0)) return make(graph, Op::Abs, node.dtype, {*x});
      return std::nullopt;
    case Op::Add:
      if (const auto y = negated(1)) return simplified(graph, {Op::Sub, node.dtype, node.attr, {node.args[0], *y}});
      return std::nullopt;
    case Op::Sub:
      if (const auto y = negated(1)) return simplified(graph, {Op::Add, node.dtype, node.attr, {node.args[0], *y}});
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

bool is_rounding(Op op) { return op == Op::Floor || op == Op::Ceil || op == Op::Trunc || op == Op::Round; }

/// Removes the rounding (floor, ceil, trunc, round) of a value that is an integer already.
Rewritten rounding(Graph& graph, const Node& node) {
  if (!is_rounding(node.op)) return std::nullopt;
  const NodeId x = node.args[0];
  const bool is_integral = is_integer(graph, x) || is_rounding(graph[x].op) ||
                           (is(graph, x, Op::Cast) && !is_floating(graph[graph[x].args[0]].dtype));
  return is_integral ? Rewritten(x) : std::nullopt;
}

/// Replaces a power by a number for which eager PyTorch does not call pow.
Rewritten power_by_number(Graph& graph, const Node& node) {
  if (node.op != Op::PowNumber) return std::nullopt;
  const NodeId x = node.args[0];
  const auto exponent = constant_of(graph, node.args[1]);
  if (!exponent) return std::nullopt;
  const DType type = node.dtype;
  const auto square = [&] { return make(graph, Op::Mul, type, {x, x}); };
  const double power = exponent->is_float() ? exponent->real : static_cast<double>(exponent->integer);
  if (power == 0) return add_constant(graph, {type, 1, 1});
  if (power == 1) return x;
  if (power == 2) return square();
  if (power == 3) return make(graph, Op::Mul, type, {square(), x});
  if (is_floating(type)) {
    if (power == 0.5) return make(graph, Op::Sqrt, type, {x});
    if (power == -0.5) return make(graph, Op::Rsqrt, type, {x});
    if (power == -1) return make(graph, Op::Reciprocal, type, {x});
    if (power == -2) return make(graph, Op::Reciprocal, type, {square()});
  }
  return make(graph, Op::Pow, type, {x, node.args[1]});
}

// Logic and selection

/// The comparison that is true exactly when `op` is false. Valid for integers only: with a NaN, all comparisons but Ne
/// are false.
std::optional<Op> opposite(Op op) {
  switch (op) {
    case Op::Eq:
      return Op::Ne;
    case Op::Ne:
      return Op::Eq;
    case Op::Lt:
      return Op::Ge;
    case Op::Ge:
      return Op::Lt;
    case Op::Gt:
      return Op::Le;
    case Op::Le:
      return Op::Gt;
    default:
      return std::nullopt;
  }
}

Rewritten negation(Graph& graph, const Node& node) {
  if (node.op != Op::LogicalNot && node.op != Op::BitwiseNot) return std::nullopt;
  const Node x = graph[node.args[0]];
  if (x.op == node.op) return x.args[0];
  if (node.dtype != DType::Bool) return std::nullopt;
  const auto inverted = opposite(x.op);
  if (!inverted || is_floating(graph[x.args[0]].dtype)) return std::nullopt;
  return make(graph, *inverted, DType::Bool, x.args);
}

Rewritten logic_with_constant(Graph& graph, const Node& node) {
  if (node.args.size() != 2 || node.dtype != DType::Bool) return std::nullopt;
  for (const size_t i : {0, 1}) {
    const auto constant = constant_of(graph, node.args[i]);
    if (!constant || constant->type != DType::Bool) continue;
    const NodeId other = node.args[1 - i];
    const bool value = constant->integer != 0;
    switch (node.op) {
      case Op::LogicalAnd:
        return value ? other : node.args[i];
      case Op::LogicalOr:
        return value ? node.args[i] : other;
      case Op::LogicalXor:
        return value ? make(graph, Op::LogicalNot, DType::Bool, {other}) : other;
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

/// Simplifies an op on integers or bools to its operand, a constant or a simpler op.
Rewritten integer_identity(Graph& graph, const Node& node) {
  if (node.args.empty() || is_floating(graph[node.args[0]].dtype)) return std::nullopt;
  const NodeId x = node.args[0];
  const DType type = graph[x].dtype;
  switch (node.op) {
    case Op::Abs:
      return is_signed(type) ? std::nullopt : Rewritten(x);
    case Op::Sign:
      return type == DType::Bool ? Rewritten(x) : std::nullopt;
    case Op::Isnan:
    case Op::Isinf:
      return boolean(graph, false);
    case Op::Isfinite:
      return boolean(graph, true);
    case Op::Signbit:
      if (!is_signed(type)) return boolean(graph, false);
      return make(graph, Op::Lt, DType::Bool, {x, add_constant(graph, {type, 0, 0})});
    case Op::Fmax:
      return make(graph, Op::Maximum, node.dtype, node.args);
    case Op::Fmin:
      return make(graph, Op::Minimum, node.dtype, node.args);
    default:
      return std::nullopt;
  }
}

Rewritten selection(Graph& graph, const Node& node) {
  if (node.op != Op::Where) return std::nullopt;
  const NodeId condition = node.args[0], a = node.args[1], b = node.args[2];
  if (const auto constant = constant_of(graph, condition)) return constant->integer ? a : b;
  if (a == b) return a;
  if (node.dtype == DType::Bool && is_constant(graph, a, 1) && is_constant(graph, b, 0)) {
    return condition;
  }
  // Within an operand of a Where, the value of its condition is known.
  const auto branch_of = [&](NodeId arm, size_t operand) {
    const Node& inner = graph[arm];
    return inner.op == Op::Where && inner.args[0] == condition ? inner.args[operand] : arm;
  };
  const NodeId then = branch_of(a, 1), otherwise = branch_of(b, 2);
  if (then == a && otherwise == b) return std::nullopt;
  return simplified(graph, {Op::Where, node.dtype, node.attr, {condition, then, otherwise}});
}

using Rule = Rewritten (*)(Graph&, const Node&);

constexpr Rule kRules[] = {
    constant_in_its_kind, constant_folding, cast_to_same_type,   cast_of_cast, bitcast_of_bitcast,
    integer_identity,  // before `signs`: for unsigned types |-x| is -x
    neutral_operand,      absorbing_zero,   same_operands,       signs,        rounding,
    power_by_number,      negation,         logic_with_constant, selection,
};

NodeId simplified(Graph& graph, Node node) {
  for (const Rule rule : kRules) {
    if (const Rewritten result = rule(graph, node)) return *result;
  }
  return graph.add(std::move(node));
}

}  // namespace

Graph simplify(const Graph& graph) {
  return compact(rewrite(graph, [](Graph& out, NodeId, Node node) { return simplified(out, std::move(node)); }));
}

}  // namespace ingot::ir
