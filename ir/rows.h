#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

// Which nodes a node depends on within one kernel, and which loads read a reduction row by row.

namespace ingot::ir {

/// Returns the roots and the nodes that they depend on, ascending. Leaves out the Reduce nodes that they read, and the
/// operands of these.
std::vector<NodeId> nodes_of(const Graph& graph, const std::vector<NodeId>& roots);

/// Returns the loads of reductions among these nodes, for a single root.
std::vector<NodeId> loads_of_reductions(const Graph& graph, NodeId root);

inline constexpr size_t kUnmapped = SIZE_MAX;

/// Maps each dim of an index space to the dim of a reduction's domain that it runs along; kUnmapped if there is none.
using RowMap = std::vector<size_t>;

/// Returns the map of a load that reads a reduction row by row (at each index, the value of the row to which the index
/// belongs), from an index space of this rank; nullopt if the load reads the reduction in another way. `load` must read
/// a reduction.
std::optional<RowMap> row_map_of(const Graph& graph, NodeId load, size_t rank);

/// Whether a load of a reduction, from the index space of its domain, reads at each index the value of the row that
/// contains the index.
bool reads_rows(const Graph& graph, NodeId load);

/// Whether two reductions are over the same domain, along the same dims.
bool same_rows(const Graph& graph, NodeId a, NodeId b);

/// Whether each dim of the index space runs along the dim of the reduction's domain at the same position, or along
/// none. `rank`: the rank of that domain.
bool is_aligned(const RowMap& map, size_t rank);

/// Where `align_rows` moves an output block: to the domain of this reduction. The map is that of the block's dims.
struct Alignment {
  NodeId reduction;
  RowMap map;
};

/// Returns the alignment of a block over `domain` that depends on `reads`, loads of reductions: to the reduction with
/// the largest id among those that the block reads row by row. Returns nullopt if there is none.
std::optional<Alignment> alignment_of(const Graph& graph, const std::vector<HostId>& domain,
                                      const std::vector<NodeId>& reads);

}  // namespace ingot::ir
