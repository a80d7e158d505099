#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/types/dtype.h"

// Host expressions: values that are computed only from symbols and constants. A symbol is an input of a call: a size of
// a tensor, or a scalar (a number, or a CPU 0-dim tensor next to CUDA tensors). Host expressions follow Python's
// arithmetic, are evaluated on the host once per call (or once per shape), and are passed to the kernel as arguments.
// Integers are kept in a normal form, c + k1*m1 + k2*m2 + … (HostOp::Affine), before they are hash-consed. c and k are
// constants; m is a symbol, an expression of another op, or a product of these. So two offsets that are equal as
// polynomials are one node, unless they contain a product of sums that is too large to expand.

namespace ingot::ir {

enum class HostKind : uint8_t { Bool, Int, Float };

/// A Python number.
struct HostValue {
  HostKind kind = HostKind::Int;
  union {
    int64_t integer;  ///< also holds a bool: 0 or 1
    double real;
  };

  static HostValue of(bool value);
  static HostValue of(int64_t value);
  static HostValue of(double value);
  int64_t as_int() const;    ///< of a Bool or an Int
  double as_double() const;  ///< of any kind
  bool truthy() const;
  /// Whether kind and bits are the same: 1, 1.0 and True differ, and so do 0.0 and -0.0.
  bool operator==(const HostValue& other) const;
};

/// The id of an expression in one HostPool.
struct HostId {
  uint32_t index = 0;
  auto operator<=>(const HostId&) const = default;
};

/// The operations of host expressions, with Python's meaning unless noted otherwise. Over integers, Add, Sub, Neg and
/// products with constants become Affine. Mul, Min, Max and Broadcast are flattened: they have any number of operands,
/// with ascending ids.
// clang-format off
enum class HostOp : uint8_t {
  Constant,
  Size,       ///< the size of dim `b` of parameter `a`
  Scalar,     ///< the value of scalar parameter `a`
  Affine,     ///< integer: constant + Σ coefficient · operand, both stored in the node (HostNode::value, coefs)
  Add, Sub, Mul, TrueDiv, FloorDiv, Mod, Pow, Neg, Abs, Min, Max,
  Lt, Le, Gt, Ge, Eq, Ne, Not,
  Select,     ///< args: condition, then, otherwise
  Int, Float, Bool,  ///< Python's conversions
  IsNotOne,   ///< integer: 0 if the size is 1, else 1; a factor that cancels the stride of a dim of size 1
  Broadcast,  ///< integer: the size that its operands broadcast to: the operand that is not 1, if there is one
  Sqrt, Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Atan2,
  Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Floor, Ceil, Trunc, Round, Erf, Erfc, Gamma, Lgamma, Hypot, Copysign, Fmod,
  RoundTo,       ///< float: the operand rounded to the floating dtype `b`, as a double
  ReciprocalIn,  ///< float: 1 / operand, both the operand and the result rounded to the floating dtype `b`
};
// clang-format on

struct HostNode {
  HostOp op;
  HostKind kind;
  bool per_call = false;  ///< depends on a scalar and is evaluated at every call; other nodes are evaluated only when a
                          ///< shape is new
  uint32_t a = 0, b = 0;  ///< Size, Scalar, RoundTo, ReciprocalIn: see HostOp
  HostValue value{};      ///< Constant: its value; Affine: the constant term
  std::vector<HostId> args = {};
  std::vector<int64_t> coefs = {};  ///< Affine: the coefficients of args, none of them 0; the ids of args ascend

  bool operator==(const HostNode&) const = default;
};

/// The values of the symbols of a call.
struct HostInputs {
  std::function<int64_t(uint32_t param, uint32_t dim)> size;
  std::function<HostValue(uint32_t param)> scalar;
};

/// Thrown by a pool that exceeds its work limit (HostPool::limit_work).
struct WorkLimitExceeded : std::length_error {
  WorkLimitExceeded() : std::length_error("the arithmetic of sizes and numbers takes too long") {}
};

/// Owns host expressions; ids are in topological order. The functions that create expressions fold constants and
/// normalise. These functions and `evaluate` throw std::domain_error: for an error of Python's arithmetic (division by
/// zero, a domain error) with Python's message, for a complex result or an integer past 64 bits with Ingot's own.
/// Callers attach the location.
class HostPool {
 public:
  HostId constant(HostValue value);
  HostId integer(int64_t value) { return constant(HostValue::of(value)); }
  HostId real(double value) { return constant(HostValue::of(value)); }
  HostId boolean(bool value) { return constant(HostValue::of(value)); }
  HostId size(uint32_t param, uint32_t dim);
  HostId scalar(uint32_t param, HostKind kind);
  /// Creates any other op, folded and normalised. `b` is the dtype of RoundTo and ReciprocalIn.
  HostId make(HostOp op, std::vector<HostId> args, uint32_t b = 0);
  /// Whether Python's result is an int for some operand values and a float for others: an integer raised to a run-time
  /// integer that may be negative; min, max or a conditional expression of different kinds. Callers must make the
  /// operand that decides this static. Otherwise, `make` throws Error(Internal) for Pow, and gives Min, Max and Select
  /// the widest kind.
  bool kind_depends_on_value(HostOp op, std::span<const HostId> args) const;

  // Integer arithmetic.
  HostId add(HostId x, HostId y) { return make(HostOp::Add, {x, y}); }
  HostId sub(HostId x, HostId y) { return make(HostOp::Sub, {x, y}); }
  HostId mul(HostId x, HostId y) { return make(HostOp::Mul, {x, y}); }
  HostId product(std::span<const HostId> factors);

  /// Records that two integers are equal (two sizes that broadcast and are known not to be 1). From then on, `make` and
  /// `resolve` use one representative, as in a union-find: a constant if there is one, else the older expression.
  void unify(HostId x, HostId y);
  HostId resolve(HostId x) const;

  // Facts about integers that hold for all values of the symbols. Folding uses these facts, so they must hold for every
  // evaluation of the expressions.

  /// Declares that symbolic sizes are never 1. (A signature states which sizes are 1, so all other sizes are not 1.)
  void assume_sizes_not_one();
  bool sizes_not_one() const { return sizes_not_one_; }
  /// Declares that a symbolic size is at least `bound`.
  void assume_at_least(HostId size, int64_t bound);
  static constexpr int64_t kUnbounded = INT64_MIN;
  /// The known lower bound of an integer; kUnbounded if none is known.
  int64_t lower_bound(HostId x) const { return facts_[resolve(x).index].lower_bound; }
  /// A lower bound of b + coef · term, given that b is at least `bound`.
  int64_t lower_bound_of_sum(int64_t bound, int64_t coef, HostId term) const;
  /// Whether the integer is known not to be 1.
  bool known_not_one(HostId x) const { return facts_[resolve(x).index].is_not_one; }
  bool known_nonnegative(HostId x) const { return lower_bound(x) >= 0; }
  bool same(HostId x, HostId y) const { return resolve(x) == resolve(y); }
  /// Whether two lists have the same numbers at the same positions.
  bool same(std::span<const HostId> x, std::span<const HostId> y) const {
    return std::ranges::equal(x, y, [this](HostId a, HostId b) { return same(a, b); });
  }

  /// Limits the work: `make` throws WorkLimitExceeded once the calls of `make` have processed more operands than this,
  /// all together. Sums are kept expanded, so a short source can require very many operands.
  void limit_work(uint64_t operands) { work_left_ = operands; }

  const HostNode& operator[](HostId id) const { return nodes_[id.index]; }
  size_t count() const { return nodes_.size(); }
  HostKind kind(HostId id) const { return nodes_[id.index].kind; }
  bool is_constant(HostId id) const { return nodes_[id.index].op == HostOp::Constant; }
  /// The value of a constant. The expression must be one.
  HostValue value(HostId id) const { return nodes_[id.index].value; }
  bool is_int(HostId id, int64_t value) const;
  /// The Size and Scalar nodes that an expression depends on, ascending.
  std::vector<HostId> symbols(HostId id) const;

  /// Returns Python-like text: "x.size(0)*4 + 1", "(1 - abar) ** 0.5". `names` are the names of the parameters. After
  /// the first 64 nodes, further operands are printed by the id of their node alone, "h17".
  std::string print(HostId id, std::span<const std::string> names) const;

  /// Appends a node without folding it, to copy a part of another pool or to read a stored pool.
  HostId append(HostNode node);

 private:
  friend class HostFolder;

  struct Facts {
    int64_t lower_bound = kUnbounded;
    bool is_not_one = false;
  };

  void spend(uint64_t operands) {
    if (operands > work_left_) throw WorkLimitExceeded();
    work_left_ -= operands;
  }
  HostId intern(HostNode node);
  bool is_per_call(const HostNode& node) const;
  Facts facts_of(const HostNode& node) const;
  void refresh_facts();

  std::vector<HostNode> nodes_;
  std::vector<Facts> facts_;
  std::vector<HostId> representative_;
  std::unordered_map<size_t, std::vector<HostId>> table_;
  bool sizes_not_one_ = false;
  uint64_t work_left_ = UINT64_MAX;
};

/// Evaluates one op of Python's arithmetic on values. Accepts every op that has operands, except Affine. Throws
/// std::domain_error as HostPool does. Broadcast does not check that sizes match, because conditions do. `dtype`: of
/// RoundTo and ReciprocalIn.
HostValue apply(HostOp op, std::span<const HostValue> args, uint32_t dtype = 0);

/// Whether Python raises an error for some operand values of these kinds. An integer that does not fit in 64 bits does
/// not count.
bool python_may_raise(HostOp op, std::span<const HostKind> kinds);

/// Python's message for a division by zero.
const char* division_by_zero_message(HostOp op, bool is_float);

/// Evaluates all nodes of a pool into `slots`: the value of the node with id i is slots[i]. With `per_call_only`,
/// evaluates only the nodes that depend on a scalar and leaves the other slots as they are.
void evaluate(const HostPool& pool, const HostInputs& inputs, std::span<HostValue> slots, bool per_call_only = false);

}  // namespace ingot::ir

template <>
struct std::hash<ingot::ir::HostId> {
  size_t operator()(ingot::ir::HostId id) const noexcept { return id.index; }
};
