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

/// The cost of computing one element of a kernel.
uint32_t cost_of(const ir::Graph& graph, const KernelOutline& kernel);

/// Whether an access varies along a row: along the innermost axis, or along the reduced axes.
bool varies_in_rows(const KernelLayout& layout, const AccessLayout& access);

/// The nodes that may vary from element to element of a row.
std::set<ir::NodeId> varying_in_rows(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout);

/// The cost of the nodes that a row's elements share: ops on operands that do not vary along the innermost axis.
uint32_t cost_of_row(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout);

/// For each access of a kernel, the first phase that needs it.
std::vector<uint32_t> phases_of_accesses(const ir::Graph& graph, const KernelOutline& kernel);

/// A phase whose sums can be computed speculatively, one phase early. Each must sum a `where` whose condition is
/// uniform for a row and whose first arm is known a phase earlier. If all rows take that arm, the phase needs no pass
/// over the elements. 0: there is no such phase (docs/performance.md: one-pass-softmax).
uint32_t speculative_phase(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout);

/// The values of elements that several phases need and that involve a transcendental function: the last nodes that the
/// phases have in common. The phase `speculative_phase` is ignored (docs/performance.md: cached-exponentials).
std::vector<ir::NodeId> shared_by_phases(const ir::Graph& graph, const KernelOutline& kernel,
                                         const KernelLayout& layout, uint32_t speculative_phase = 0);

}  // namespace ingot::codegen
