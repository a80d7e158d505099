#pragma once

#include <set>

#include "codegen/shape/layout.h"

namespace ingot::codegen {

/// What an op costs, as ops.def counts; twice as much in 64 bits.
uint32_t cost_of(ir::Op op, ir::DType work);

/// Whether it takes a function of many instructions, whose last bits are its own.
bool is_function(const ir::Graph& graph, ir::NodeId id);
/// On the CPU: whether that function has other last bits alone than in a vector, and in vectors of other widths.
bool has_bits_of_vectors(const ir::Graph& graph, ir::NodeId id);

/// Whether a reduction's value depends on the order in which elements are taken.
bool has_order(const ir::Graph& graph, ir::NodeId reduction);

/// What an element of a kernel costs.
uint32_t cost_of(const ir::Graph& graph, const KernelOutline& kernel);

/// Whether an access touches other elements along a row: along the innermost axis, or those that are reduced.
bool moves_in_rows(const KernelLayout& layout, const AccessLayout& access);

/// The nodes that may differ from element to element of a row.
std::set<ir::NodeId> varying_in_rows(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout);

/// What an element costs of what its row shares: of ops on operands that stand still along the innermost axis.
uint32_t cost_of_row(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout);

/// For each access of a kernel, the first phase that needs it.
std::vector<uint32_t> phases_of_accesses(const ir::Graph& graph, const KernelOutline& kernel);

/// A phase whose sums need not wait for the values of the one before it: each is of a `where` that a row decides, and
/// one arm, the first, is known a phase early. Where all rows take it there is nothing left to go through. 0: there is
/// none.
uint32_t early_phase(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout);

/// What several phases of a kernel compute of the same elements, if it takes a function to do so: the last nodes that
/// they have in common. A phase that is `early` does not count.
std::vector<ir::NodeId> shared_by_phases(const ir::Graph& graph, const KernelOutline& kernel,
                                         const KernelLayout& layout, uint32_t early = 0);

}  // namespace ingot::codegen
