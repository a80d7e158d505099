#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

// What the kernels of a graph touch, before any layout is known: it is derived from the graph alone, it is small, and
// it is all of the graph that a call with an already compiled kernel needs (runtime/records/program.h stores it).

namespace ingot::codegen {

/// A load, gather or store of a kernel. An Index node counts as an access too, to an imaginary tensor whose elements
/// are their own coordinate: so the dim that it asks about is never merged with another.
struct AccessUse {
  enum class Kind : uint8_t { Load, Gather, Index, Store } kind = Kind::Load;
  uint32_t tensor = 0;               ///< the parameter; for a store, the result; for an Index, the dim from the end
  ir::DType dtype = ir::DType::F32;  ///< as in memory
  ir::Access access;                 ///< over the kernel's domain, aligned at its last dim; empty for an Index
  std::string text;                  ///< the author's expression for it, for messages: "table[0, t]"

  bool has_tensor() const { return kind != Kind::Index; }
};

/// A number that a kernel takes as an argument; constants are not among them, they stand in the text.
struct ScalarUse {
  ir::HostId value;
  ir::DType dtype = ir::DType::F32;  ///< the type in which the kernel takes it
};

/// One kernel: the parts of results that share a domain.
struct KernelOutline {
  std::string name;                 ///< a valid identifier: "giou", "giou_1"
  std::vector<ir::HostId> domain;   ///< outermost first
  std::vector<AccessUse> accesses;  ///< in the order of the graph's nodes; stores last, in the order of the results
  std::vector<ScalarUse> scalars;
  struct PartRef {
    uint32_t result, part;
  };
  std::vector<PartRef> parts;  ///< one for each store
  /// The author's expressions of integer divisions whose divisor may be zero, in the order of the graph's nodes.
  std::vector<std::string> divisions;
};

struct Outline {
  std::vector<KernelOutline> kernels;
};

/// Groups the parts of the results by domain, in the order of the results. The graph has been simplified and its calls
/// inlined.
Outline outline(const ir::Graph& graph);

/// Whether the node is a quotient or a rest of integers that are not known to divide: one of `divisions`.
bool may_divide_by_zero(const ir::Graph& graph, ir::NodeId id);

/// Whether a node of this op is one of a kernel's accesses.
inline bool is_access(ir::Op op) { return op == ir::Op::Load || op == ir::Op::Gather || op == ir::Op::Index; }

/// The nodes that a kernel computes, in the graph's order. Its loads, gathers and indices are kernel.accesses, in the
/// same order.
std::vector<ir::NodeId> nodes_of(const ir::Graph& graph, const KernelOutline& kernel);

}  // namespace ingot::codegen
