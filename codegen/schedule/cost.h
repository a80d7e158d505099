#pragma once

#include <set>

#include "codegen/shape/layout.h"

namespace ingot::codegen {

/// The cost of an op that is computed in dtype `compute_dtype`, in instructions (the column `cost` of ir/ops.def);
/// twice as much for 64-bit dtypes.
uint32_t cost_of(ir::Op op, ir::DType compute_dtype);

/// Whether the node is a transcendental function: many instructions, and a rounding that depends on the implementation.
bool is_transcendental(const ir::Graph& graph, ir::NodeId id);
/// CPU: whether the node is a transcendental function that is rounded differently in scalar and vector code, or at
/// different vector widths.
bool depends_on_vector_width(const ir::Graph& graph, ir::NodeId id);

/// Whether a reduction's value depends on the order of accumulation.
bool has_order(const ir::Graph& graph, ir::NodeId reduction);

/// The cost of computing one element of the kernel's domain.
uint32_t cost_of(const ir::Graph& graph, const KernelOutline& kernel);

/// Whether an access varies along a row: along the innermost axis, or along the reduced axes.
bool varies_in_rows(const KernelLayout& layout, const AccessLayout& access);

/// The nodes that may vary from element to element of a row.
std::set<ir::NodeId> varying_in_rows(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout);

/// The values that the elements of a row share, computed by ops, and that `roots` or values of single elements read.
/// Without Bools, because comparing again is as fast as loading a Bool, and without values that may need a check.
std::vector<ir::NodeId> row_values(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout,
                                   const std::vector<ir::NodeId>& roots);

/// The cost of the nodes that a row's elements share: ops on operands that do not vary along the innermost axis.
uint32_t cost_of_row(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout);

/// For each access of a kernel, the first phase that needs it.
std::vector<uint32_t> phases_of_accesses(const ir::Graph& graph, const KernelOutline& kernel);

/// A phase whose sums can be computed speculatively, one phase early; 0 if there is none. Each operand of these sums
/// must be a `where` with a condition that is the same for a whole row, and with a first arm that is known a phase
/// earlier. If all rows take the first arm, the phase needs no pass over the elements (docs/performance.md:
/// one-pass-softmax).
uint32_t speculative_phase(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout);

/// The nodes with a value per element that several phases need and that depend on a transcendental function. Among such
/// nodes, only the last ones that the phases have in common are returned, not their operands. The phase
/// `speculative_phase` is ignored, unless it is 0 (docs/performance.md: cached-exponentials).
std::vector<ir::NodeId> shared_by_phases(const ir::Graph& graph, const KernelOutline& kernel,
                                         const KernelLayout& layout, uint32_t speculative_phase = 0);

}  // namespace ingot::codegen
