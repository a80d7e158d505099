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

// A kernel as a tree of statements over typed values: all that its text says, and no text but names. What it computes,
// where, and how memory is touched is settled; which values get names of their own and where a line ends is the
// printer's.

namespace ingot::codegen {

inline constexpr ir::NodeId kNoNode{UINT32_MAX};  ///< of what no node of the graph asked for

/// The nodes that a line of source computes, what its outermost operation stands for first.
using ComputedNodes = std::vector<ir::NodeId>;

struct ValueId {
  uint32_t index = UINT32_MAX;
  auto operator<=>(const ValueId&) const = default;
  explicit operator bool() const { return index != UINT32_MAX; }
};
struct SymbolId {
  uint32_t index = UINT32_MAX;
  auto operator<=>(const SymbolId&) const = default;
  explicit operator bool() const { return index != UINT32_MAX; }
};

struct Type {
  ir::DType dtype = ir::DType::I32;
  uint32_t lanes = 1;  ///< of a vector
  bool is_pointer = false;
  auto operator<=>(const Type&) const = default;
};

/// How often a value is computed: once a kernel, a row, a thread, or for each element. What is loaded of all elements
/// before anything is computed of any is at Fetch.
enum class Level : uint8_t { Kernel, Row, Thread, Fetch, Element };

/// Arithmetic on indices and pointers, which is C++'s own.
/// ShortDiv is Div of numbers whose product is less than 2^30; Join the sum of two that have no bit in common.
enum class IndexOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  ShortDiv,
  Rem,
  Min,
  Join,
  Less,
  LessEqual,
  Equal,
  NotEqual,
  And,
  Or
};

struct Value {
  enum class Kind : uint8_t {
    Literal,      ///< `number`
    Symbol,       ///< a parameter or a variable
    Block,        ///< the number of this block
    Thread,       ///< the number of this thread in its block
    Index,        ///< `index` on the operands
    Load,         ///< the element at operand 1 of pointer 0; where there is an operand 2, zero unless it holds
    Target,       ///< what pointer 0 points to
    Vector,       ///< type.lanes neighbours from element 1 of pointer 0 on
    Shifted,      ///< the same, of a pointer that is not aligned: out of the aligned vectors around them
    VectorEnd,    ///< the same; past element 2, the end, the last one before it stands again
    VectorInRow,  ///< the same of a row that begins anywhere; past element 2, its end, the last one stands again
    AnyRow,       ///< whether condition 0 holds for any row of the block, or of the warp, where a row has no more
    Quotient,     ///< of float32: 0 divided by 1; of vector 0, each lane by number 1, which all of a row share
    Decay,        ///< CPU, of float32: e to the power of 0, which is not above 0
    Lane,         ///< element 1 of vector or array 0
    Pack,         ///< a vector of the operands
    Wrap,         ///< index 0 made one of the operand 1 many elements
    Check,        ///< the same; one out of range leaves `number`, its code, in operand 2; 0 unless guard 3 holds
    Primitive,    ///< `op` on operands of type `work`
    Cast,         ///< from `work`
    Bitcast,
  } kind = Kind::Literal;
  Type type;
  Level level = Level::Kernel;
  ir::Op op = ir::Op::Load;
  ir::DType work = ir::DType::F32;
  IndexOp index = IndexOp::Add;
  SymbolId symbol = {};
  ir::HostValue number = {};
  std::vector<ValueId> operands = {};

  // Not part of what a value is: how it came to be, and how it is called.
  enum class Naming : uint8_t {
    Inline,  ///< never: it stands wherever it is used
    Auto,    ///< where it is used more than once, or the line would grow too long; by `name` if that is free
    Author,  ///< by the author's `name`, unless a store says it already
    Pinned,  ///< always: it must be computed where it stands
    Always,  ///< always, and by exactly this name
  } naming = Naming::Auto;
  std::string name = {};
  ir::NodeId node = kNoNode;  ///< what it was made for
};

/// A parameter or a variable.
struct Symbol {
  std::string name;
  Type type;
  Level level = Level::Kernel;
  std::optional<KernelParameter> parameter = {};
  /// Of a pointer, for its comment: the index of an element, as the sum of these products; a factor that is missing is
  /// 1 on the right, and on the left an index that the kernel computes.
  struct Term {
    ValueId index;
    ValueId stride;
  };
  std::vector<Term> place = {};
  std::vector<ir::NodeId> nodes = {};  ///< of a pointer, what reads there, or is stored
  uint32_t neighbours = 0;             ///< how many elements beyond each are touched as well
  bool is_contiguous = false, is_bool = false, is_written = false;
  std::string of = {};                 ///< of a number, what it is; of a vector, the name of its pointer
  std::vector<uint32_t> extents = {};  ///< of an array
  bool is_shared = false;              ///< by the threads of a block
  uint32_t alignment = 0;              ///< in bytes, more than its type has
  uint32_t in_registers = 0;           ///< of an array whose other elements lie in shared memory; 0: all of them
};

struct Statement;
using Body = std::vector<Statement>;

/// Here the value is computed.
struct Let {
  ValueId value;
};
/// A variable, with or without a first value.
struct Declare {
  SymbolId variable;
  ValueId value = {};
};
/// target = value; a variable, an element of a vector or of memory
struct Assign {
  ValueId target, value;
};
/// variable += by
struct Advance {
  SymbolId variable;
  ValueId by;
};
/// A vector to memory, from element `index` on; where `end` is given, what lies past it is left alone, and where
/// `begin` is, what lies before that.
struct StoreVector {
  ValueId pointer, index, vector, end = {}, begin = {};
};
struct If {
  ValueId condition;
  Body then, otherwise = {};
};
struct Loop {
  enum class Kind : uint8_t {
    Unrolled,
    Simd,  ///< for vector instructions
    Over,  ///< the same, from 0 on; of a vector that `end` cuts short all is computed
    Serial,
    Rows,     ///< its body advances the variable
    Strided,  ///< in steps of `step`
    Steps,    ///< CUDA: the vectors of `lanes` that a thread takes in `step` steps of its block, from the block's first
              ///< on
  } kind;
  SymbolId variable;
  ValueId begin, end;
  Body body;
  SymbolId maximum = {};  ///< of a Simd loop, a variable that takes the largest value of all lanes
  uint32_t lanes = 0;     ///< of a Simd loop, the elements of a vector; 0: as many as there is room for
  uint32_t step = 1;      ///< of a Strided loop, or an Unrolled one
  SymbolId valid = {};    ///< a variable: of an Over loop, whether the element is one; of Steps, whether all lanes are;
                          ///< none where they are whenever the first is
  uint32_t unroll = 0;    ///< of a Strided loop, how many steps at a time; 0: as the compiler likes
};
/// A thread has nothing to do unless `unless_below` is less than `end`.
struct Return {
  ValueId unless_below, end;
};

/// All threads of a block meet, or of a warp; or a block comes to where those of its cluster meet, or waits there for
/// all of them.
struct Barrier {
  enum class Kind : uint8_t { Block, Warp, ClusterArrives, ClusterWaits } kind = Kind::Block;
};

/// A function of the prelude that moves many elements.
struct Call {
  enum class Function : uint8_t {
    Transpose,   ///< from, its stride, to, its pitch, rows and columns of what is written
    Spread,      ///< from, its stride, to, rows, columns: each element is a row
    Repeat,      ///< from, its stride, to, rows, columns: all elements are each row
    ToFloats,    ///< from float16, to, how many
    FromFloats,  ///< from, to float16, how many
    TakeLarger,  ///< a value and its index: those of another, behind them, if they are of the maximum
    TakeSmaller,
    TakeRows,   ///< to a warp's shared memory, from, how many
    LeaveRows,  ///< to, from a warp's shared memory, how many
    WillWrite,  ///< where, how many: memory that is to be at hand when they are
  } function;
  std::vector<ValueId> operands;
  SymbolId filled = {};       ///< the array that it writes; none where it writes a tensor
  ir::NodeId node = kNoNode;  ///< what it computes
};

/// `body` for each piece of [begin, end): `size` elements from `first` on, a number that the compiler knows, and in the
/// last what is left; `count` of them.
struct Pieces {
  uint32_t size;
  SymbolId first, count;
  ValueId begin, end;
  Body body;
  bool aligned = false;  ///< pieces end at multiples of the size, wherever the first begins
};

/// What a reduction has found of the classes of a row, made one: the values `into`, declared here, of the arrays
/// `classes`. Classes are combined along the bits of their numbers: on CUDA lowest first, on the CPU highest first. A
/// thread has in its arrays runs of `lanes` neighbours, of which those of the next thread follow; behind the runs of
/// all `threads` come the next. On the CPU, of rows side by side all are arrays of one more extent.
struct Combine {
  ir::ReduceKind kind;
  std::vector<SymbolId> classes, into;
  uint32_t lanes = 1, threads = 1;
  uint32_t blocks = 1;        ///< of a cluster that a row has, each with so many threads
  uint32_t spacing = 1;       ///< how far apart the threads of a row are; their classes are neighbours if they are
  uint32_t slot = 0;          ///< no other in the kernel has it
  bool carried = false;       ///< the last element of the array is what was found of all of them
  bool changes = false;       ///< the values may be assigned anew
  ir::NodeId node = kNoNode;  ///< the reduction
};

/// What was found of one group of neighbouring classes is put together with the groups before it, as a binary counter
/// counts: `levels` has an element for each bit of the groups' numbers, and the last for all.
struct Carry {
  ir::ReduceKind kind;
  SymbolId classes, levels;
  ValueId group;
  ir::NodeId node = kNoNode;
};

/// What was found of neighbouring classes, the elements of an array, made one.
struct Join {
  ir::ReduceKind kind;
  SymbolId classes;
  ValueId into;
  ir::NodeId node = kNoNode;
};

struct Statement {
  std::variant<Let, Declare, Assign, Advance, StoreVector, If, Loop, Return, Barrier, Call, Pieces, Combine, Carry,
               Join>
      node;
};

struct Kernel {
  Target target;
  LaunchInfo launch;
  std::vector<Value> values;
  std::vector<Symbol> symbols;
  std::vector<SymbolId> parameters;  ///< one for each of launch.parameters
  SymbolId begin, end, arguments;    ///< CPU: the range of units to compute, and where the arguments are
  bool restrict_pointers = true;
  bool computes_alike = false;   ///< CPU: the same bits alone and in vectors, wherever there is a way
  bool has_short_nans = false;   ///< CPU: NaNs of float32 come from bfloat16, or from no number at all
  uint32_t resident_blocks = 0;  ///< CUDA: that a multiprocessor has room for at once, at least; 0: as it comes
  uint32_t cluster_blocks = 1;   ///< CUDA: that run at once and share what they find
  Body before;                   ///< once a kernel (CPU)
  Body indices;                  ///< where a thread is
  Body body;
  Body after;  ///< once a kernel (CPU)

  const Value& operator[](ValueId id) const { return values[id.index]; }
  const Symbol& operator[](SymbolId id) const { return symbols[id.index]; }
};

/// As the prelude calls it.
std::string_view name_of(Call::Function function);
std::string_view name_of(ir::ReduceKind kind);

/// For a person: every value a line, its type, how often it is computed, and the statements.
std::string print(const Kernel& kernel);

}  // namespace ingot::codegen
