#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/kernel/accesses.h"
#include "codegen/print/body_printer.h"

// What a kernel computes, as the target's own operations: the graph's nodes with what their spelling needs made plain
// (16-bit floats through float32, numbers that eager treats in a way of their own, the wrapping of indices).

namespace ingot::codegen {

struct Value {
  static constexpr uint32_t kNoAccess = ~0u;
  enum class Kind : uint8_t {
    Leaf,     ///< text that costs nothing: a literal, an argument, a lane of a vector, a coordinate
    Element,  ///< pointer[offset + Σ operand · step]: a load by itself
    Wrap,     ///< an index made one of the tensor's
    NonZero,  ///< a divisor, which must not be zero: eager raises on the CPU
    Primitive,
    Cast,
    Bitcast,
  } kind = Kind::Leaf;
  ir::DType dtype = ir::DType::F32;
  ir::Op op = ir::Op::Load;         ///< of a Primitive
  ir::DType work = ir::DType::F32;  ///< of a Primitive; of a Cast, what it is from
  uint32_t access = kNoAccess;      ///< of what is loaded, of a coordinate, and of a Wrap
  uint32_t number = 0;              ///< of a Wrap, which coordinate of its access; of a NonZero, which division
  Text text;                        ///< of a Leaf
  std::vector<uint32_t> operands;
  bool inner = false;  ///< differs between the elements of the innermost loop
  uint32_t uses = 0;
  std::string name;  ///< the author's, already claimed; else what would suit it, or nothing
  bool authored = false;
};

struct Values {
  std::vector<Value> all;         ///< operands before what uses them
  std::vector<uint32_t> results;  ///< one for each store, in the order of outline.parts
};

/// The claimed names of the nodes that the author named.
using AuthorNames = std::map<ir::NodeId, std::string>;

/// `scalars`: the names of the kernel's scalar arguments.
Values build_values(const KernelContext& context, const Accesses& accesses, const std::vector<std::string>& scalars,
                    const AuthorNames& names);

}  // namespace ingot::codegen
