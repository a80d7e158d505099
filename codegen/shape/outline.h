#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/rows.h"

// The kernels of a graph and their accesses, before any layout is known. An outline is derived from the graph alone,
// and is small. A call with an already compiled kernel needs no other part of the graph (runtime/records/program.h
// stores the outline).

namespace ingot::codegen {

/// A load, gather or store of a kernel. An Index node counts as an access too: to an implicit iota, a virtual tensor
/// whose element i has the value i. Dims are therefore merged only if this position advances like the index of the
/// merged dim.
struct AccessUse {
  enum class Kind : uint8_t { Load, Gather, Index, Store } kind = Kind::Load;
  uint32_t tensor = 0;               ///< index of the workspace if `in_workspace`; otherwise of the result for a store,
                                     ///< of the parameter for a load or gather; unused for an Index
  ir::DType dtype = ir::DType::F32;  ///< the type in memory
  /// Over the kernel's domain, aligned at its last dim; empty for a store to a workspace, which has one element per
  /// row.
  ir::Access access;
  std::string text;           ///< the author's expression, for messages: "table[0, t]"
  bool in_workspace = false;  ///< the tensor is one of Outline::workspaces

  bool has_tensor() const { return kind != Kind::Index; }
};

/// A host value that a kernel takes as an argument. Constants are literals in the source instead.
struct ScalarUse {
  ir::HostId value;
  ir::DType dtype = ir::DType::F32;  ///< the type in which it is passed
};

/// The reason why a value of a reduction, or a row value, is stored for a later kernel, instead of being read in the
/// kernel that computes it.
enum class SplitReason : uint8_t {
  Gathered,        ///< it is read at computed indices
  OtherRows,       ///< its reader has other rows: some of them, in another order, or along another dim
  OtherReduction,  ///< its reader is the operand of a reduction over another domain or along other dims
  StoredApart,     ///< its reader is an element that is stored; with StoresApart, a later kernel does so
  PerPhase,        ///< rows are few and long: each phase has a kernel, in which many blocks share a row
  LaterReads,      ///< its reader also reads a value of a later kernel, or is in a kernel that does
};

/// One kernel. It computes output blocks that share a domain; or reductions of the same rows (and of their columns, as
/// fused column partials) and the nodes that depend on these reductions.
///
/// In a kernel that reduces, a row is the set of elements that are reduced to one value: all elements of the domain
/// that differ only in dims that are `reduced`. The kernel traverses its rows in phases; each phase can use the
/// reductions of the phases before. A node that depends on reductions is computed in the phase after them, or, if it
/// has one value per row, after all phases.
struct KernelOutline {
  std::string name;                 ///< a valid identifier: "giou", "giou_1"
  std::vector<ir::HostId> domain;   ///< outermost first
  ir::DimMarks reduced;             ///< by dim; empty if nothing is reduced
  std::vector<AccessUse> accesses;  ///< in the order of the graph's nodes; then the stores of `output_blocks`, then of
                                    ///< `workspace_stores`
  std::vector<ScalarUse> scalars;
  /// An output block that the kernel stores.
  struct OutputBlockRef {
    uint32_t result, block;
    bool is_per_row = false;  ///< it has one element per row
    uint32_t phase = 0;       ///< the phase in which it is stored; unused if it is stored after all phases (is_per_row)
    bool operator==(const OutputBlockRef&) const = default;
  };
  std::vector<OutputBlockRef> output_blocks;  ///< one per store
  /// A reduction, and the phase that computes its elements.
  struct ReductionRef {
    ir::NodeId node;
    uint32_t phase = 0;
    bool operator==(const ReductionRef&) const = default;
  };
  std::vector<ReductionRef> reductions;  ///< in the order of the graph, except with fused column partials
  std::vector<ir::NodeId> row_values;    ///< reductions with is_row_value; the kernel computes their operands once per
                                         ///< row, after all phases
  /// A reduction's value, or a row value, that the kernel stores to a workspace for a later kernel.
  struct WorkspaceStore {
    ir::NodeId node;                                    ///< the reduction, or one of `row_values`
    uint32_t value = 0;                                 ///< index of the reduction's value
    uint32_t workspace = 0;                             ///< index into Outline::workspaces
    SplitReason split_reason = SplitReason::OtherRows;  ///< for its first reader
    bool operator==(const WorkspaceStore&) const = default;
  };
  std::vector<WorkspaceStore> workspace_stores;  ///< values that a later kernel reads
  /// Reductions of a later kernel along the columns of this kernel's rows. This kernel computes fused column partials
  /// for them: it accumulates their elements row by row, and stores a partial result per chunk of rows. `phase` is the
  /// phase that computes the elements.
  std::vector<ReductionRef> column_reductions;
  /// The earlier kernel that computes fused column partials of this kernel's reductions. This kernel combines them, and
  /// does not read the elements that are reduced.
  std::optional<uint32_t> partials_writer;
  /// The load whose strides order the reduced dims of a row, so that elements are reduced in the order of memory; none
  /// if they are reduced in the domain's order, as they also are if this load is of an expanded tensor. It is the same
  /// load for all kernels over these rows, however the graph is divided into kernels, because the order determines the
  /// bits of the result.
  std::optional<AccessUse> row_order;
  /// The author's expressions of integer divisions whose divisor may be zero, in the order of the graph's nodes.
  std::vector<std::string> divisions;

  /// Whether the kernel traverses rows, even if only to reduce their columns.
  bool reduces() const { return !reductions.empty() || !column_reductions.empty(); }
  /// How often the kernel traverses its elements; 1 if nothing is reduced.
  uint32_t phases() const;
  /// The index of the first store among the accesses.
  uint32_t first_store() const {
    return static_cast<uint32_t>(accesses.size() - output_blocks.size() - workspace_stores.size());
  }
};

/// A tensor that one kernel writes and later ones read: a value of a reduction, contiguous over its domain, whose
/// reduced dims have size 1.
struct Workspace {
  ir::DType dtype = ir::DType::F32;
  std::vector<ir::HostId> domain;
  ir::DimMarks reduced;
};

/// The kernels of a graph, and the tensors that pass values between them.
struct Outline {
  std::vector<KernelOutline> kernels;  ///< in launch order
  std::vector<Workspace> workspaces;
};

/// How a graph is partitioned into kernels, if that depends on sizes.
enum class PartitionStrategy : uint8_t {
  Whole,         ///< one kernel computes all phases of its rows
  StoresApart,   ///< as Whole, but elements that depend on reductions are stored by later kernels
  PerPhase,      ///< each phase has its own kernel, in which many blocks share a row
  FusedColumns,  ///< CUDA: as PerPhase for kernels with a single row, otherwise as Whole; and kernels that traverse
                 ///< rows compute fused column partials if they can (KernelOutline::column_reductions)
};

/// Whether later kernels store all elements that depend on reductions. With FusedColumns, they do so only for kernels
/// with a single row.
constexpr bool stores_elements_apart(PartitionStrategy strategy) {
  return strategy == PartitionStrategy::StoresApart || strategy == PartitionStrategy::PerPhase;
}

/// Divides a graph's output blocks, and the reductions that they need, among kernels. The graph must be simplified, its
/// calls inlined and its rows aligned.
Outline outline(const ir::Graph& graph, PartitionStrategy strategy = PartitionStrategy::Whole);

/// Whether the node is an integer quotient or remainder whose divisor may be zero; KernelOutline::divisions lists such
/// nodes.
bool may_divide_by_zero(const ir::Graph& graph, ir::NodeId id);

/// Whether a node is one of the kernel's accesses. A node that reads a value which the kernel itself computes is not.
bool is_access(const ir::Graph& graph, const KernelOutline& kernel, ir::NodeId id);

/// The nodes that a kernel computes, in the graph's order, without its reductions. Its loads, gathers and indices are
/// kernel.accesses, in the same order.
std::vector<ir::NodeId> nodes_of(const ir::Graph& graph, const KernelOutline& kernel);
using ir::nodes_of;
/// For each access, the node that is the load, gather or Index; for a store, the node whose value is stored.
std::vector<ir::NodeId> nodes_of_accesses(const ir::Graph& graph, const KernelOutline& kernel);
/// The nodes for which the kernel computes everything else: its output blocks and the operands of its reductions.
std::vector<ir::NodeId> roots_of(const ir::Graph& graph, const KernelOutline& kernel);

}  // namespace ingot::codegen
