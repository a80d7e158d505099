#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/types/dtype.h"

// Host expressions: what is computed from sizes, scalars and constants alone. It is Python's arithmetic, done once a
// call (or once a shape) on the host and handed to the kernel as an argument. Integers are kept in affine normal form,
// c + k1*s1 + k2*s2 + …, before they are hash-consed: two offsets that are equal as polynomials are one node.

namespace ingot::ir {

enum class HostKind : uint8_t { Bool, Int, Float };

/// A Python number.
struct HostValue {
  HostKind kind = HostKind::Int;
  union {
    int64_t integer;  ///< also a bool: 0 or 1
    double real;
  };

  static HostValue of(bool value);
  static HostValue of(int64_t value);
  static HostValue of(double value);
  int64_t as_int() const;    ///< of a Bool or an Int
  double as_double() const;  ///< of any kind
  bool truthy() const;
  /// Same kind and same bits: 1, 1.0 and True differ, and so do 0.0 and -0.0.
  bool operator==(const HostValue& other) const;
};

/// A handle on an expression of one HostPool.
struct HostId {
  uint32_t index = 0;
  auto operator<=>(const HostId&) const = default;
};

/// What a host expression can do. Python's meaning, except where a line says otherwise. Over integers Add, Sub, Neg and
/// products with constants become Affine; Mul, Min, Max and Broadcast are flattened and take any number of operands,
/// ascending.
// clang-format off
enum class HostOp : uint8_t {
  Constant,
  Size,       ///< the size of dim `b` of parameter `a`
  Scalar,     ///< the value of scalar parameter `a` (a number, or a CPU 0-dim tensor beside CUDA tensors)
  Affine,     ///< integer: constant + Σ coefficient · operand; the terms stand in the node
  Add, Sub, Mul, TrueDiv, FloorDiv, Mod, Pow, Neg, Abs, Min, Max,
  Lt, Le, Gt, Ge, Eq, Ne, Not,
  Select,     ///< args: condition, then, otherwise
  Int, Float, Bool,  ///< Python's conversions
  NotOne,     ///< integer: 0 where the size is 1, else 1: the factor of a stride that a size of 1 makes irrelevant
  Broadcast,  ///< integer: the size that two sizes broadcast to (either, when the other is 1)
  Sqrt, Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Atan2,
  Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Floor, Ceil, Trunc, Round, Erf, Erfc, Gamma, Lgamma, Hypot, Copysign, Fmod,
  RoundTo,       ///< float: the operand rounded to the floating dtype `b`, as a double
  ReciprocalIn,  ///< float: 1 / operand, both the operand and the result rounded to the floating dtype `b`
};
// clang-format on

struct HostNode {
  HostOp op;
  HostKind kind;
  bool per_call = false;  ///< depends on a scalar, so it is computed at every call; else only when a shape is new
  uint32_t a = 0, b = 0;  ///< Size, Scalar, RoundTo: see HostOp
  HostValue value{};      ///< Constant: itself; Affine: the constant
  std::vector<HostId> args = {};
  std::vector<int64_t> coefs = {};  ///< Affine: one for each of args, none 0, args ascending

  bool operator==(const HostNode&) const = default;
};

/// The values of the symbols.
struct HostInputs {
  std::function<int64_t(uint32_t param, uint32_t dim)> size;
  std::function<HostValue(uint32_t param)> scalar;
};

/// Thrown by a pool that was given a limit of work and has done more.
struct TooMuchWork : std::length_error {
  TooMuchWork() : std::length_error("the arithmetic of sizes and numbers takes too long") {}
};

/// Owns host expressions; ids are in topological order. The constructors fold constants and normalise.
/// Errors of Python's arithmetic (division by zero, a domain error, an integer past 64 bits) are thrown as
/// std::domain_error with Python's words when a constant is folded and when a program is evaluated; callers attach
/// the place.
class HostPool {
 public:
  HostId constant(HostValue value);
  HostId integer(int64_t value) { return constant(HostValue::of(value)); }
  HostId real(double value) { return constant(HostValue::of(value)); }
  HostId boolean(bool value) { return constant(HostValue::of(value)); }
  HostId size(uint32_t param, uint32_t dim);
  HostId scalar(uint32_t param, HostKind kind);
  /// Any other op, folded and normalised. `b` is the dtype of RoundTo and ReciprocalIn.
  HostId make(HostOp op, std::vector<HostId> args, uint32_t b = 0);
  /// Whether Python's result is an int for some values and a float for others: an integer to the power of a run-time
  /// integer that may be negative; min, max or a choice of different kinds. Such an operand has to be static: `make`
  /// refuses the power (Error of kind Internal) and gives the others the widest kind.
  bool kind_depends_on_value(HostOp op, std::span<const HostId> args) const;

  // Integer arithmetic.
  HostId add(HostId x, HostId y) { return make(HostOp::Add, {x, y}); }
  HostId sub(HostId x, HostId y) { return make(HostOp::Sub, {x, y}); }
  HostId mul(HostId x, HostId y) { return make(HostOp::Mul, {x, y}); }
  HostId product(std::span<const HostId> factors);

  /// Records that two integers are equal (two sizes that broadcast and are known not to be 1); `make` and
  /// `resolve` use the representative from then on: a constant, else the older of the two.
  void unify(HostId x, HostId y);
  HostId resolve(HostId x) const;
  // What is known of integers whatever the symbols are. Folding looks at it, so what is assumed must hold wherever the
  // expressions are evaluated.

  /// Declares that symbol sizes are never 1 (a signature tells which sizes are 1, so the others are not).
  void assume_sizes_not_one();
  bool sizes_not_one() const { return sizes_not_one_; }
  /// Declares that a symbol size is never less.
  void assume_at_least(HostId size, int64_t least);
  static constexpr int64_t kNoLeast = INT64_MIN;
  /// What an integer is at least; kNoLeast where nothing is known.
  int64_t least(HostId x) const { return facts_[resolve(x).index].least; }
  /// What bound + coef · term is at least, of such a bound.
  int64_t least_sum(int64_t bound, int64_t coef, HostId term) const;
  bool known_not_one(HostId x) const { return facts_[resolve(x).index].not_one; }
  bool known_nonnegative(HostId x) const { return least(x) >= 0; }
  bool same(HostId x, HostId y) const { return resolve(x) == resolve(y); }

  /// From now on `make` throws TooMuchWork once it has looked at more than so many operands. Sums are kept multiplied
  /// out, so a short text may ask for a great many.
  void limit_work(uint64_t operands) { work_left_ = operands; }

  const HostNode& operator[](HostId id) const { return nodes_[id.index]; }
  size_t count() const { return nodes_.size(); }
  HostKind kind(HostId id) const { return nodes_[id.index].kind; }
  bool is_constant(HostId id) const { return nodes_[id.index].op == HostOp::Constant; }
  /// The value of a constant; nothing else may be asked.
  HostValue value(HostId id) const { return nodes_[id.index].value; }
  bool is_int(HostId id, int64_t value) const;
  /// The Size and Scalar nodes that an expression is made of, ascending.
  std::vector<HostId> symbols(HostId id) const;

  /// Python-like text: "x.size(0)*4 + 1", "(1 - abar) ** 0.5". `names` are those of the parameters. What is deep inside
  /// a large expression is printed as the number of its node, "h17".
  std::string print(HostId id, std::span<const std::string> names) const;

  /// Appends a node as it stands (used when a pool is compacted or read back).
  HostId append(HostNode node);

 private:
  friend class HostFolder;

  struct Facts {
    int64_t least = kNoLeast;
    bool not_one = false;
  };

  void spend(uint64_t operands) {
    if (operands > work_left_) throw TooMuchWork();
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

/// One op of Python's arithmetic on values, of any op with operands but Affine; throws std::domain_error with Python's
/// words. Broadcast throws nothing: that sizes meet is for conditions to say.
HostValue apply(HostOp op, std::span<const HostValue> args, uint32_t b = 0);

/// Whether Python's op raises an error for some operands; that an integer does not fit in 64 bits is not among them.
bool python_raises(HostOp op, std::span<const HostKind> kinds);

/// What Python says of a division by zero.
const char* division_by_zero(HostOp op, bool is_float);

/// Computes all nodes of a pool, or only those that depend on a scalar (`per_call`), into `slots` (one for each node,
/// the others as an earlier evaluation left them).
void evaluate(const HostPool& pool, const HostInputs& inputs, std::span<HostValue> slots, bool per_call_only = false);

}  // namespace ingot::ir

template <>
struct std::hash<ingot::ir::HostId> {
  size_t operator()(ingot::ir::HostId id) const noexcept { return id.index; }
};
