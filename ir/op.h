#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/types/dtype.h"

namespace ingot::ir {

/// The operation of a node. Structural ops come first, then the primitives of ops.def.
enum class Op : uint8_t {
  Load,     ///< an element of a parameter, or of the reduction args[0]; attr: Access
  Gather,   ///< a Load whose Access has `indirect` indices; attr: Access. args: the reduction, if the node reads one,
            ///< then one node for each index
  Scalar,   ///< a host value, the same for every element; attr: HostId. A constant is a Scalar of a constant host
            ///< expression
  Index,    ///< a position, int64: the coordinate that its Access computes, as if it read an iota (SourceRef); attr:
            ///< Access
  Cast,     ///< the value in another dtype; float to integer as eager PyTorch does on the same device
  Bitcast,  ///< the same bits as another dtype of the same width
  Call,  ///< the call of a library function; attr: its name. args[0] is the function's inlined body, args[1..] are its
         ///< operands. Rounding is applied, and derivative rules are looked up, at this boundary. inline_calls removes
         ///< the node
  Reduce,  ///< args[0] reduced along some dims of its domain to one value or several; attr: Reduction. Only Load and
           ///< Gather nodes may have it as an argument
#define INGOT_OP(id, name, arity, rule, accepts, accuracy, cost, numbers, summary) id,
#include "ir/ops.def"
#undef INGOT_OP
};

/// Whether the attr of nodes of this op is an Access.
constexpr bool has_access(Op op) { return op == Op::Load || op == Op::Gather || op == Op::Index; }

/// The last structural op; the primitives follow.
inline constexpr Op kLastStructural = Op::Reduce;

/// Determines, from the dtypes of an op's operands, the dtype to which the operands are cast and the dtype of the
/// result. `common` is PyTorch's promotion of all operands.
enum class Rule : uint8_t {
  Arith,    ///< operands: common;  result: common
  Float,    ///< operands: common, or the default dtype if that is not floating;  result: as the operands
  Compare,  ///< operands: common;  result: bool
  Logical,  ///< operands: bool, each one by itself (x != 0);  result: bool
  Select,   ///< where: the condition is bool; arms: their common type;  result: as the arms
};

/// A set of dtypes: categories, plus flags for the dtypes that only some ops accept.
struct Accepts {
  bool boolean, integral, floating;
  bool extended_unsigned = false, float8 = false;
  bool contains(DType type) const {
    if (is_extended_unsigned(type)) return extended_unsigned;
    if (is_float8(type)) return float8;
    const Category type_category = category(type);
    return type_category == Category::Bool ? boolean : type_category == Category::Integral ? integral : floating;
  }
};

namespace accepted {  // abbreviations of ops.def, explained there
inline constexpr Accepts BIF{true, true, true}, IF{false, true, true}, BI{true, true, false};
inline constexpr Accepts B{true, false, false}, I{false, true, false}, F{false, false, true};
inline constexpr Accepts BIFU{true, true, true, true}, IFU{false, true, true, true}, BIU{true, true, false, true};
inline constexpr Accepts BIFUE{true, true, true, true, true}, BIFE{true, true, true, false, true};
inline constexpr Accepts IFE{false, true, true, false, true};
}  // namespace accepted

/// Exact: IEEE or integer arithmetic, the same bits everywhere. Ulp: a transcendental function.
enum class Accuracy : uint8_t { Exact, Ulp };

/// Which operands PyTorch's function accepts as Python numbers. Operators accept a number on either side.
enum class ScalarOperands : uint8_t { None, Second, Any };

/// One row of ops.def.
struct OpInfo {
  Op op;
  std::string_view id;    ///< the enumerator's name, for dumps and tables
  std::string_view name;  ///< the name that authors write; internal if it starts with '_'
  int arity;
  Rule rule;
  Accepts accepts;
  Accuracy accuracy;
  uint32_t cost;  ///< number of instructions of the common path in float32 on a GPU; an addition counts 1
  ScalarOperands numbers;
  std::string_view summary;  ///< one line of documentation
};

/// All primitives, in the order of ops.def.
std::span<const OpInfo> primitives();
/// The row of a primitive. Throws Error(Internal) for a structural op, which has no row.
const OpInfo& info(Op op);
bool is_primitive(Op op);
/// "Load", "Add", …
std::string_view id_of(Op op);
std::optional<Op> primitive_named(std::string_view name);

}  // namespace ingot::ir
