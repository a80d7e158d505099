#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "codegen/kernel/launch.h"
#include "codegen/target/target.h"
#include "ir/graph.h"

// A kernel as a tree of statements over typed values, for any target. The tree determines all computations, their
// places, and all memory accesses. Only names and line breaks are left to the printer.

namespace ingot::codegen {

inline constexpr ir::NodeId kNoNode{UINT32_MAX};  ///< for values that belong to no node of the graph

/// The nodes that a line of source computes; the node of its outermost operation is first.
using ComputedNodes = std::vector<ir::NodeId>;

/// The index of a value in Kernel::values; none by default.
struct ValueId {
  uint32_t index = UINT32_MAX;
  auto operator<=>(const ValueId&) const = default;
  explicit operator bool() const { return index != UINT32_MAX; }
};
/// The index of a symbol in Kernel::symbols; none by default.
struct SymbolId {
  uint32_t index = UINT32_MAX;
  auto operator<=>(const SymbolId&) const = default;
  explicit operator bool() const { return index != UINT32_MAX; }
};

/// The type of a value or symbol: an element, a vector of elements, or a pointer to elements.
struct Type {
  ir::DType dtype = ir::DType::I32;
  uint32_t lanes = 1;  ///< elements of a vector
  bool is_pointer = false;
  auto operator<=>(const Type&) const = default;
};

/// How often a value is computed, from the rarest to the most frequent. A value depends only on values of its own level
/// and of earlier ones.
enum class Level : uint8_t {
  Kernel,
  Row,
  Thread,  ///< once for the elements that a thread computes together, such as a vector. In CPU reductions: once for the
           ///< elements of a line, or for those of adjacent rows
  Fetch,   ///< once per element, in a loop of loads that precedes the computation of all elements
  Element  ///< once per element, in the loop that computes it
};

/// Index and pointer arithmetic and comparisons, with C++'s semantics.
/// ShortDiv, RepeatedDiv, RepeatedRem: quotient and remainder of 32-bit numbers whose divisor is the same for many
/// elements of a thread, which share its reciprocal (docs/performance.md: heavy-formula). For ShortDiv, the product of
/// the two numbers is less than 2^30. BitOr: the sum of two numbers that have no set bit in common, as a bitwise or.
enum class IndexOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  ShortDiv,
  RepeatedDiv,
  Rem,
  RepeatedRem,
  Min,
  BitOr,
  Less,
  LessEqual,
  Equal,
  NotEqual,
  And,
  Or
};

/// An expression: an operation on other values, or a leaf such as a literal.
struct Value {
  enum class Kind : uint8_t {
    Literal,    ///< `number`
    Symbol,     ///< a parameter or a variable
    Block,      ///< blockIdx.x
    Thread,     ///< threadIdx.x
    Index,      ///< `index` applied to the operands
    Load,       ///< the element at index operand 1 of pointer operand 0; zero if operand 2, an optional condition, does
                ///< not hold. Also the target of an assignment to this element
    Pointee,    ///< the element that operand 0 points to
    Vector,     ///< `type.lanes` adjacent elements of pointer operand 0, from index operand 1 on; zeros if the optional
                ///< operand 2 does not hold
    Shifted,    ///< as Vector, for an unaligned pointer: the elements are taken from the two aligned vectors that
                ///< contain them
    VectorEnd,  ///< as Vector; the elements at and past index operand 2 (the end) are copies of the last element
                ///< before it
    ShiftedInRow,  ///< as Shifted, in a row: reads no aligned vector past the row's last one; elements past operand 2,
                   ///< the row's length, have no meaning
    HoldsForAnyRow,  ///< whether operand 0, a condition that a row's threads share, holds for at least one row: of the
                     ///< block, or of the warp if `number`, the number of threads per row, is at most that of a warp
    Quotient,    ///< CUDA, float32: operand 0 / operand 1, by a function of the prelude. Operand 2, if given, is the
                 ///< Reciprocal of operand 1. If operand 0 is a vector, its elements share operand 1
    Reciprocal,  ///< CUDA, float32: the reciprocal of operand 0, a divisor or a vector of divisors; NaN if it is very
                 ///< small or large
    ExpOfNonPositive,  ///< CPU, float32: the exponential of the operand, which is not above 0
    Element,           ///< the element of vector or array operand 0 at index operand 1
    Pack,              ///< a vector made of the operands
    Wrap,       ///< the index operand 0 into a dim of size operand 1: wrapped if negative, then clamped to the dim
    Check,      ///< as Wrap; if the index is out of range, the code `number` is written to operand 2. If operand 3, a
                ///< condition, is given and does not hold: 0, without a check
    Primitive,  ///< `op` on operands of type `operand_type`
    Cast,       ///< from type `operand_type`
    Bitcast,
  } kind = Kind::Literal;
  Type type;
  Level level = Level::Kernel;
  ir::Op op = ir::Op::Load;
  ir::DType operand_type = ir::DType::F32;
  IndexOp index = IndexOp::Add;
  SymbolId symbol = {};
  ir::HostValue number = {};
  std::vector<ValueId> operands = {};

  // Not part of a value's identity: whether it gets a name, and which one.
  enum class Naming : uint8_t {
    Inline,  ///< no name: written wherever it is used
    Auto,    ///< a name if it is used more than once or the line would be too long; `name` if that is free
    Author,  ///< the author's `name`, unless a store's target already has it
    Placed,  ///< a name, because a statement must compute it at this place
    Exact,   ///< exactly this name
  } naming = Naming::Auto;
  std::string name = {};
  ir::NodeId node = kNoNode;  ///< the node for which it was created
};

/// A parameter or a variable of the kernel; unlike the symbols of host expressions, which are values of a call.
struct Symbol {
  std::string name;
  Type type;
  Level level = Level::Kernel;
  std::optional<KernelParameter> parameter = {};
  /// For the comment that describes a pointer: the index of an accessed element is the sum of index · stride over
  /// `index_terms`. A missing stride is 1; a missing index is a gathered coordinate.
  struct Term {
    ValueId index;
    ValueId stride;
  };
  std::vector<Term> index_terms = {};  ///< for a pointer
  std::vector<ir::NodeId> nodes = {};  ///< for a pointer: the nodes that are loaded from it or stored to it
  uint32_t neighbours = 0;  ///< for a pointer: the number of elements after each indexed element that are accessed too
  /// For a pointer. is_bool: the elements are bools, although they are loaded as bytes.
  bool is_contiguous = false, is_bool = false, is_written = false;
  std::string meaning = {};            ///< for a vector, the name of its pointer; otherwise the comment
  std::vector<uint32_t> extents = {};  ///< for an array
  bool is_shared = false;              ///< in shared memory
  uint32_t alignment = 0;              ///< in bytes, if stricter than the type's
  uint32_t register_elements = 0;      ///< for an array whose other elements are in shared memory; 0: all are in
                                       ///< registers
};

struct Statement;
/// A sequence of statements.
using Body = std::vector<Statement>;

/// Computes the value here.
struct Let {
  ValueId value;
};
/// Declares a variable, with or without an initial value.
struct Declare {
  SymbolId variable;
  ValueId value = {};
};
/// target = value; the target is a variable, or an element of a vector or of memory.
struct Assign {
  ValueId target, value;
};
/// variable += by.
struct Advance {
  SymbolId variable;
  ValueId by;
};
/// Stores a vector to memory, from element `index` on. If `end` is given, elements at or past it are not written; if
/// `begin` is given, elements before it are not written.
struct StoreVector {
  ValueId pointer, index, vector, end = {}, begin = {};
};
/// Executes `then` if the condition holds, else `otherwise`.
struct If {
  ValueId condition;
  Body then, otherwise = {};
};
/// A loop from `begin` to `end`, with a variable.
struct Loop {
  enum class Kind : uint8_t {
    Unrolled,
    Simd,       ///< for vector instructions
    SimdWhole,  ///< as Simd, from 0 on; the last vector is computed as a whole even if it reaches past `end`
    Serial,
    BodyAdvances,  ///< the body advances the variable, for example from row to row
    Strided,       ///< in steps of `step`
    Steps,  ///< CUDA: `step` steps of a block from its first element, `begin`, on. In each step, a thread computes
            ///< `lanes` adjacent elements; the variable is the index of the first one
  } kind;
  SymbolId variable;
  ValueId begin, end;
  Body body;
  SymbolId max_variable = {};  ///< Simd: the variable of the clause `reduction(max : …)`; none without this clause
  uint32_t lanes = 0;          ///< Simd: elements per vector, or 0: the compiler's choice; Steps: see there
  uint32_t step = 1;           ///< Strided, Unrolled: the increment of the variable; Steps: the number of steps
  SymbolId valid = {};         ///< a bool variable of the body. SimdWhole: whether the element is below the end; Steps:
                        ///< whether all elements of the vector are. None if no vector is only partly below the end.
  uint32_t unroll = 0;  ///< for a Strided loop: the unroll factor; 0: the compiler's choice
};
/// Returns from the kernel unless `unless_below` < `end`.
struct Return {
  ValueId unless_below, end;
};

/// A barrier for the threads of a block or of a warp, or the arrive or wait half of a cluster barrier.
struct Barrier {
  enum class Kind : uint8_t { Block, Warp, ClusterArrives, ClusterWaits } kind = Kind::Block;
};

/// Calls a prelude function that moves many elements.
struct Call {
  enum class Function : uint8_t {
    // The operands of each function, in order. `stride` is the distance, in `from`, of consecutive elements; for
    // Transpose, of the elements that become adjacent in a row of `to`.
    Transpose,        ///< from, stride, to, distance of two rows of `to`, its rows, its columns
    Spread,           ///< from, stride, to, rows, columns: each row of `to` is filled with one element
    Repeat,           ///< from, stride, to, rows, columns: each row of `to` is a copy of the elements
    ToFloats,         ///< from float16, to, count
    FromFloats,       ///< from, to float16, count
    ReplaceIfLarger,  ///< a value and its index, then another value and index: replaces the first pair if the second
                      ///< value is the maximum
    ReplaceIfSmaller,
    LoadRows,   ///< to (a warp's shared memory), from (the rows in a tensor), number of elements
    StoreRows,  ///< to (the rows in a tensor), from (a warp's shared memory), number of elements
    WillWrite,  ///< pointer, count: prefetches memory that will be written
  } function;
  std::vector<ValueId> operands;
  SymbolId filled = {};       ///< the array that it writes; none if it writes a tensor
  ir::NodeId node = kNoNode;  ///< the node that it computes
};

/// A loop over [begin, end) that executes `body` once per piece of `size` elements. A piece is the range of one
/// iteration: `count` elements from `first` on. `count` is the constant `size`, except in the last piece.
struct PieceLoop {
  uint32_t size;
  SymbolId first, count;
  ValueId begin, end;
  Body body;
  bool is_aligned = false;  ///< pieces end at multiples of `size`; the first one, too, may be shorter
};

/// Combines the accumulators of a row: reduces the arrays `accumulators` to the variables `into`, which are declared
/// here. Accumulators are combined along the bits of their numbers: lowest first on CUDA, highest first on the CPU
/// (halves first). A thread's array has a vector of `lanes` adjacent accumulators for each run. Within a run, the
/// vectors of the row's `threads` follow each other; the accumulators of the next run come after them. On the CPU,
/// arrays of several adjacent rows have one more extent.
struct Combine {
  ir::ReduceKind kind;
  std::vector<SymbolId> accumulators, into;
  uint32_t lanes = 1, threads = 1;
  uint32_t blocks = 1;   ///< blocks of the cluster that shares a row, each with `threads` threads
  uint32_t spacing = 1;  ///< distance between the threads of a row; if above 1, all accumulators of a thread
                         ///< are adjacent
  uint32_t slot = 0;     ///< the number of this Combine in the kernel, for the prelude's functions
  bool is_merged =
      false;  ///< `accumulators` are the `levels` of MergeAccumulators: the last one is the result of the thread
  bool may_change = false;    ///< the variables `into` may be assigned again later
  ir::NodeId node = kNoNode;  ///< the reduction
};

/// Merges the result of the `group`-th group of adjacent accumulators into the results of the groups before it, as
/// adding one to a binary counter carries. The array `levels` has an element for each bit of the group numbers, which
/// holds the result of 2^bit merged groups, and a last one for the final result.
struct MergeAccumulators {
  ir::ReduceKind kind;
  SymbolId accumulators, levels;
  ValueId group;
  ir::NodeId node = kNoNode;
};

/// Combines the elements of the array `accumulators`, a thread's adjacent accumulators of one run, into the element
/// `into`.
struct CombineRun {
  ir::ReduceKind kind;
  SymbolId accumulators;
  ValueId into;
  ir::NodeId node = kNoNode;
};

/// One statement of the tree.
struct Statement {
  std::variant<Let, Declare, Assign, Advance, StoreVector, If, Loop, Return, Barrier, Call, PieceLoop, Combine,
               MergeAccumulators, CombineRun>
      node;
};

/// A function of generated source, before it is printed.
struct Kernel {
  Target target;
  LaunchInfo launch;
  std::vector<Value> values;
  std::vector<Symbol> symbols;
  std::vector<SymbolId> parameters;  ///< one for each of launch.parameters
  SymbolId begin, end, arguments;    ///< CPU: the range of units to compute, and the argument array
  bool restrict_pointers = true;
  bool uses_reproducible_functions = false;  ///< CPU: where the prelude has functions that give the same bits in scalar
                                             ///< and in vector code, these are used
  bool bfloat16_needs_no_nan_check = false;  ///< CPU: float32 is rounded to bfloat16 without a check for NaN. Every NaN
                                             ///< of this kernel comes from bfloat16 or from an operation, and so ends
                                             ///< in zeros
  uint32_t resident_blocks = 0;              ///< CUDA: minimum of blocks per multiprocessor; 0: the compiler's choice
  uint32_t cluster_blocks = 1;               ///< CUDA: blocks of a cluster, which run at the same time; 1: no clusters
  Body before;                               ///< CPU: before `body`
  Body indices;                              ///< CUDA: computes the position of a thread, before `body`
  Body body;                                 ///< the main part
  Body after;                                ///< CPU: after `body`

  const Value& operator[](ValueId id) const { return values[id.index]; }
  const Symbol& operator[](SymbolId id) const { return symbols[id.index]; }
};

/// Adds statements to the end of a body.
inline void append(Body& body, Body statements) { std::ranges::move(statements, std::back_inserter(body)); }
/// Takes the statements of a body and clears it.
inline Body take(Body& body) { return std::exchange(body, {}); }

/// The name of the function, or of the reduction's class, in the prelude.
std::string_view name_of(Call::Function function);
std::string_view name_of(ir::ReduceKind kind);

/// A readable form: one line per value with its type and level, and the statements.
std::string print(const Kernel& kernel);

}  // namespace ingot::codegen
