#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/types/dtype.h"

namespace ingot::ir {

/// What a node does. Structural ops first, then the primitives of ops.def.
enum class Op : uint8_t {
  Load,     ///< an element of a parameter or of a reduction, which then is args[0]; attr: Access
  Gather,   ///< a load some of whose coordinates are values; args: a reduction if it is of one, then the indices; attr:
            ///< Access with leads
  Scalar,   ///< a host value, the same for every element; attr: HostId. Constants are scalars of constant hosts
  Index,    ///< a position, int64: of its access the coordinate itself, as if the source's elements were their own
            ///< coordinates; attr: Access
  Cast,     ///< the value in another dtype; float to integer as the target's eager does
  Bitcast,  ///< the same bits as another dtype of the same width
  Call,     ///< args[0], computed by the library function attr names, of operands args[1..]; a boundary for rounding
            ///< and differentiation, dissolved by inline_calls
  Reduce,   ///< the values of args[0] along some dims of its domain made one, or several; attr: Reduction. Only loads
            ///< of it have it for an argument
#define INGOT_OP(id, name, arity, rule, accepts, accuracy, cost, numbers, summary) id,
#include "ir/ops.def"
#undef INGOT_OP
};

/// Whether the attr of such nodes is an Access.
constexpr bool has_access(Op op) { return op == Op::Load || op == Op::Gather || op == Op::Index; }

/// Behind it come the primitives.
inline constexpr Op kLastStructural = Op::Reduce;

/// How operand types become the type in which the op works and the type of its result. `common` is PyTorch's
/// promotion of all operands; every operand is cast to the work type.
enum class Rule : uint8_t {
  Arith,    ///< work: common;  result: common
  Float,    ///< work: common, the default dtype where that is not floating;  result: work
  Compare,  ///< work: common;  result: bool
  Logical,  ///< work: bool, operand by operand (x != 0);  result: bool
  Select,   ///< where: the condition is bool, the arms' common type is the result
};

/// A set of dtypes: categories, and of the types that only some ops take those that are taken.
struct Accepts {
  bool boolean, integral, floating;
  bool wide_unsigned = false, float8 = false;
  bool contains(DType type) const {
    if (is_wide_unsigned(type)) return wide_unsigned;
    if (is_float8(type)) return float8;
    const Category of = category(type);
    return of == Category::Bool ? boolean : of == Category::Integral ? integral : floating;
  }
};

namespace accepted {  // the abbreviations of ops.def
inline constexpr Accepts BIF{true, true, true}, IF{false, true, true}, BI{true, true, false};
inline constexpr Accepts B{true, false, false}, I{false, true, false}, F{false, false, true};
inline constexpr Accepts BIFU{true, true, true, true}, IFU{false, true, true, true}, BIU{true, true, false, true};
inline constexpr Accepts BIFUE{true, true, true, true, true}, BIFE{true, true, true, false, true};
inline constexpr Accepts IFE{false, true, true, false, true};
}  // namespace accepted

enum class Accuracy : uint8_t { Exact, Ulp };

/// Which operands may be Python numbers in a call of PyTorch's function; operators take them anywhere.
enum class Numbers : uint8_t { None, Second, Any };

/// One row of ops.def.
struct OpInfo {
  Op op;
  std::string_view id;    ///< the enumerator, for prints and tables
  std::string_view name;  ///< the author's spelling, or internal when it begins with '_'
  int arity;
  Rule rule;
  Accepts accepts;
  Accuracy accuracy;
  uint32_t cost;
  Numbers numbers;
  std::string_view summary;  ///< one line of what it gives
};

/// All primitives, in the order of ops.def.
std::span<const OpInfo> primitives();
/// The row of a primitive; structural ops have none and are a broken invariant here.
const OpInfo& info(Op op);
bool is_primitive(Op op);
/// "Load", "Add", …
std::string_view id_of(Op op);
std::optional<Op> primitive_named(std::string_view name);

}  // namespace ingot::ir
