#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/rows.h"

// What the kernels of a graph touch, before any layout is known: it is derived from the graph alone, it is small, and
// it is all of the graph that a call with an already compiled kernel needs (runtime/records/program.h stores it).

namespace ingot::codegen {

/// A load, gather or store of a kernel. An Index node counts as an access too, to an imaginary tensor whose elements
/// are their own coordinates: so dims are merged only where a position runs through them as through one.
struct AccessUse {
  enum class Kind : uint8_t { Load, Gather, Index, Store } kind = Kind::Load;
  uint32_t tensor = 0;               ///< the parameter; of a store, the result; nothing of an Index
  ir::DType dtype = ir::DType::F32;  ///< as in memory
  /// Over the kernel's domain, aligned at its last dim; empty for a store to a workspace, which has an element a row.
  ir::Access access;
  std::string text;           ///< the author's expression for it, for messages: "table[0, t]"
  bool in_workspace = false;  ///< the tensor is one of Outline::workspaces

  bool has_tensor() const { return kind != Kind::Index; }
};

/// A number that a kernel takes as an argument; constants are not among them, they stand in the text.
struct ScalarUse {
  ir::HostId value;
  ir::DType dtype = ir::DType::F32;  ///< the type in which the kernel takes it
};

/// Why a value of a reduction is kept for a later kernel: why what reads it is not of the kernel that makes it.
enum class Apart : uint8_t {
  Gathered,        ///< it is read at indices that are computed
  OtherRows,       ///< what reads it has not its rows: part of them, in another order, along another dim
  OtherReduction,  ///< what reads it is reduced over another domain or along other dims
  LoneRow,         ///< there is one row alone, which many blocks share: each phase has a kernel
  LaterReads,      ///< what reads it also reads a value of a later kernel, or stands with what does
};

/// One kernel: the parts of results that share a domain; or reductions of the same rows, or of their columns in
/// passing, and what is made of those.
///
/// Of a kernel that reduces, a row is what its reductions make one: all elements of the domain that differ in the dims
/// which are `reduced` alone. It goes through its rows in phases: in each it has the values of the reductions of those
/// before. What depends on them stands in the phase behind, or, if it is one for each row, behind all phases.
struct KernelOutline {
  std::string name;                 ///< a valid identifier: "giou", "giou_1"
  std::vector<ir::HostId> domain;   ///< outermost first
  ir::DimMarks reduced;             ///< of the dims; none where nothing is reduced
  std::vector<AccessUse> accesses;  ///< in the order of the graph's nodes; stores last: of the parts, of `kept`
  std::vector<ScalarUse> scalars;
  struct PartRef {
    uint32_t result, part;
    bool of_row = false;  ///< an element a row
    uint32_t phase = 0;   ///< in which it is stored, if it is not of rows
    bool operator==(const PartRef&) const = default;
  };
  std::vector<PartRef> parts;  ///< one for each store
  struct ReductionRef {
    ir::NodeId node;
    uint32_t phase = 0;
    bool operator==(const ReductionRef&) const = default;
  };
  std::vector<ReductionRef> reductions;  ///< in the graph's order
  struct KeptRef {
    uint32_t reduction = 0, value = 0;
    uint32_t workspace = 0;
    Apart apart = Apart::OtherRows;  ///< of the first that reads it
    bool operator==(const KeptRef&) const = default;
  };
  std::vector<KeptRef> kept;  ///< values of reductions that a later kernel reads
  /// Reductions along the columns of these rows, a later kernel's: this one takes their elements in passing, row by
  /// row, and leaves what it finds of each piece of the rows; `phase` is the one that computes them.
  std::vector<ReductionRef> passed;
  /// The kernel that takes the elements of this one's reductions in passing, so that they are not read here.
  std::optional<uint32_t> pieces_of;
  /// The author's expressions of integer divisions whose divisor may be zero, in the order of the graph's nodes.
  std::vector<std::string> divisions;

  /// Whether it goes through rows, be it for their columns alone.
  bool reduces() const { return !reductions.empty() || !passed.empty(); }
  /// How often it goes through its elements.
  uint32_t phases() const;
  /// Of the accesses.
  uint32_t first_store() const { return static_cast<uint32_t>(accesses.size() - parts.size() - kept.size()); }
};

/// A tensor that one kernel writes and later ones read: a value of a reduction, contiguous over its domain, whose
/// reduced dims are of size 1.
struct Workspace {
  ir::DType dtype = ir::DType::F32;
  std::vector<ir::HostId> domain;
  ir::DimMarks reduced;
};

struct Outline {
  std::vector<KernelOutline> kernels;  ///< in the order in which they run
  std::vector<Workspace> workspaces;
};

/// How a graph is cut into kernels, where sizes decide.
enum class PartitionStrategy : uint8_t {
  Shared,   ///< a row of which there is one alone many blocks share, phase by phase, each with a kernel of its own
  Whole,    ///< such a row is gone through in one kernel, like any other
  Passing,  ///< CUDA: shared; and all kernels that go through rows reduce along their columns in passing where they can
};

/// Groups the parts of the results, and the reductions that they need. The graph has been simplified, its calls inlined
/// and its rows aligned.
Outline outline(const ir::Graph& graph, PartitionStrategy strategy = PartitionStrategy::Shared);

/// Whether the node is a quotient or a rest of integers that are not known to divide: one of `divisions`.
bool may_divide_by_zero(const ir::Graph& graph, ir::NodeId id);

/// Whether a node is one of the kernel's accesses: it is none where it reads a value that the kernel itself makes.
bool is_access(const ir::Graph& graph, const KernelOutline& kernel, ir::NodeId id);

/// The nodes that a kernel computes, in the graph's order; its reductions are not among them. Its loads, gathers and
/// indices are kernel.accesses, in the same order.
std::vector<ir::NodeId> nodes_of(const ir::Graph& graph, const KernelOutline& kernel);
using ir::nodes_of;
/// Of each access what reads it, or what it stores.
std::vector<ir::NodeId> nodes_of_accesses(const ir::Graph& graph, const KernelOutline& kernel);
/// What the kernel computes nodes for: the parts that it stores, and what it reduces.
std::vector<ir::NodeId> roots_of(const ir::Graph& graph, const KernelOutline& kernel);

}  // namespace ingot::codegen
