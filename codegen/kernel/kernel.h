#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codegen/kernel/launch.h"
#include "codegen/target/target.h"
#include "ir/graph.h"

// A kernel as a tree of statements over typed values. The tree determines all computations, their places, and all
// memory accesses. Only names and line breaks are left to the printer.

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

/// How often a value is computed: once per kernel, row, thread or element. Loads of all of a thread's elements that
/// precede their computation have level Fetch.
enum class Level : uint8_t { Kernel, Row, Thread, Fetch, Element };

/// Index and pointer arithmetic and comparisons, with C++'s semantics.
/// ShortDiv: division of numbers whose product is less than 2^30. BitOr: bitwise or of numbers that have no set bit in
/// common.
enum class IndexOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  ShortDiv,
  Rem,
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
    Literal,      ///< `number`
    Symbol,       ///< a parameter or a variable
    Block,        ///< blockIdx.x
    Thread,       ///< threadIdx.x
    Index,        ///< `index` applied to the operands
    Load,         ///< element operand 1 of pointer operand 0; with an operand 2, zero if that condition does not
                  ///< hold
    Pointee,      ///< the element that operand 0 points to
    Vector,       ///< `type.lanes` adjacent elements of pointer operand 0, from index operand 1 on
    Shifted,      ///< as Vector, for an unaligned pointer: from the two aligned vectors around them
    VectorEnd,    ///< as Vector; past operand 2, the end, the last element before it is repeated
    VectorInRow,  ///< as Vector, in a row that may be unaligned; elements past operand 2, the row's length, have no
                  ///< meaning
    AnyRow,       ///< whether the condition, operand 0, holds for any row of the block, or of the warp if the `number`
                  ///< of threads per row is at most a warp
    Quotient,     ///< float32: operand 0 / operand 1; if operand 0 is a vector, operand 1 is uniform for a row
    ExpOfNonPositive,  ///< CPU, float32: the exponential of the operand, which is not above 0
    Element,           ///< element operand 1 of vector or array operand 0
    Pack,              ///< a vector made of the operands
    Wrap,              ///< index operand 0, wrapped and clamped to the size operand 1
    Check,      ///< as Wrap; an index out of range writes the code `number` to operand 2. With a guard, operand 3: 0
                ///< if it does not hold
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
    Pinned,  ///< a name: it must be computed at this place
    Always,  ///< exactly this name
  } naming = Naming::Auto;
  std::string name = {};
  ir::NodeId node = kNoNode;  ///< the node for which it was created
};

/// A parameter or a variable of the kernel.
struct Symbol {
  std::string name;
  Type type;
  Level level = Level::Kernel;
  std::optional<KernelParameter> parameter = {};
  /// For a pointer's comment: the index of an element as a sum of products. A missing stride is 1; a missing index is a
  /// gathered coordinate.
  struct Term {
    ValueId index;
    ValueId stride;
  };
  std::vector<Term> index_terms = {};
  std::vector<ir::NodeId> nodes = {};  ///< for a pointer: the nodes that are loaded from it or stored to it
  uint32_t neighbours = 0;  ///< for a pointer: the number of elements after each indexed element that are accessed too
  bool is_contiguous = false, is_bool = false, is_written = false;
  std::string meaning = {};            ///< for a scalar, a description; for a vector, the name of its pointer
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
/// Stores a vector to memory, from element `index` on. Elements at or past `end` and before `begin` are not written, if
/// these are given.
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
    Rows,     ///< the body advances the variable
    Strided,  ///< in steps of `step`
    Steps,    ///< CUDA: the vectors of `lanes` elements that a thread takes in `step` steps of its block, starting with
              ///< the block's first element
  } kind;
  SymbolId variable;
  ValueId begin, end;
  Body body;
  SymbolId maximum = {};  ///< for a Simd loop: a variable reduced by maximum over all elements
  uint32_t lanes = 0;     ///< for a Simd loop: elements per vector; 0: the compiler's choice
  uint32_t step = 1;      ///< for a Strided or Unrolled loop
  SymbolId valid = {};  ///< a variable. SimdWhole: whether the element is below the end; Steps: whether all elements of
                        ///< the vector are. None if the first element decides for all.
  uint32_t unroll = 0;  ///< for a Strided loop: the unroll factor; 0: the compiler's choice
};
/// Returns from the kernel unless `unless_below` is less than `end`.
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
    Transpose,        ///< from, its stride, to, its pitch, rows and columns of the destination
    Spread,           ///< from, its stride, to, rows, columns: each element is repeated along a row
    Repeat,           ///< from, its stride, to, rows, columns: every row is a copy of the elements
    ToFloats,         ///< from float16, to, count
    FromFloats,       ///< from, to float16, count
    ReplaceIfLarger,  ///< a value and its index, then another value and index: replaces the first pair if the second
                      ///< value is the maximum
    ReplaceIfSmaller,
    LoadRows,   ///< to a warp's shared memory, from, count
    StoreRows,  ///< to, from a warp's shared memory, count
    WillWrite,  ///< pointer, count: prefetches memory that will be written
  } function;
  std::vector<ValueId> operands;
  SymbolId filled = {};       ///< the array that it writes; none if it writes a tensor
  ir::NodeId node = kNoNode;  ///< the node that it computes
};

/// `body` for each chunk of [begin, end): `count` elements from `first` on. `count` is the constant `size`, except in
/// the last chunk.
struct ChunkLoop {
  uint32_t size;
  SymbolId first, count;
  ValueId begin, end;
  Body body;
  bool is_aligned = false;  ///< chunks end at multiples of the size; the first one may be shorter
};

/// Combines the accumulators of a row: reduces the arrays `accumulators` to the variables `into`, which are declared
/// here. Accumulators are combined along the bits of their numbers: lowest first on CUDA, highest first on the CPU
/// (halves first). A thread's arrays hold runs of `lanes` adjacent accumulators; the next thread's run follows, and
/// after the runs of all `threads` come the second runs. On the CPU, arrays of several adjacent rows have one more
/// extent.
struct Combine {
  ir::ReduceKind kind;
  std::vector<SymbolId> accumulators, into;
  uint32_t lanes = 1, threads = 1;
  uint32_t blocks = 1;        ///< blocks of the cluster that shares a row, each with `threads` threads
  uint32_t spacing = 1;       ///< distance between the threads of a row; if above 1, a thread's accumulators are
                              ///< adjacent
  uint32_t slot = 0;          ///< a number that no other Combine of the kernel has
  bool is_merged = false;     ///< the last element of the array already combines all of them (MergeGroup)
  bool may_change = false;    ///< the variables may be assigned again later
  ir::NodeId node = kNoNode;  ///< the reduction
};

/// Merges the result of group `group` of adjacent accumulators into the results of the groups before it, as adding one
/// to a binary counter carries. The array `levels` has an element for each bit of the group numbers, which holds the
/// result of 2^bit merged groups, and a last one for the final result.
struct MergeGroup {
  ir::ReduceKind kind;
  SymbolId accumulators, levels;
  ValueId group;
  ir::NodeId node = kNoNode;
};

/// Combines a thread's adjacent accumulators of one run, the elements of an array, into the element `into`.
struct CombineRun {
  ir::ReduceKind kind;
  SymbolId accumulators;
  ValueId into;
  ir::NodeId node = kNoNode;
};

/// One statement of the tree.
struct Statement {
  std::variant<Let, Declare, Assign, Advance, StoreVector, If, Loop, Return, Barrier, Call, ChunkLoop, Combine,
               MergeGroup, CombineRun>
      node;
};

/// A function of generated source, before it is printed.
struct Kernel {
  Target target;
  LaunchInfo launch;
  std::vector<Value> values;
  std::vector<Symbol> symbols;
  std::vector<SymbolId> parameters;  ///< one per launch.parameters
  SymbolId begin, end, arguments;    ///< CPU: the range of units to compute, and the argument array
  bool restrict_pointers = true;
  bool uses_reproducible_functions = false;  ///< CPU: use functions that give the same bits in scalar and vector code,
                                             ///< if there are any
  bool nans_survive_truncation = false;  ///< CPU: all NaNs of float32 come from bfloat16 or from operations, and so end
                                         ///< in zeros
  uint32_t resident_blocks = 0;          ///< CUDA: minimum of blocks per multiprocessor; 0: the compiler's choice
  uint32_t cluster_blocks = 1;           ///< CUDA: blocks of a cluster, which run at once and share results
  Body before;                           ///< once per kernel (CPU)
  Body indices;                          ///< computes the position of a thread
  Body body;                             ///< everything else
  Body after;                            ///< once per kernel (CPU)

  const Value& operator[](ValueId id) const { return values[id.index]; }
  const Symbol& operator[](SymbolId id) const { return symbols[id.index]; }
};

/// The name in the prelude.
std::string_view name_of(Call::Function function);
std::string_view name_of(ir::ReduceKind kind);

/// A readable form: one line per value with its type and level, and the statements.
std::string print(const Kernel& kernel);

}  // namespace ingot::codegen
