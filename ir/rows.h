#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

// Which nodes a node depends on within one kernel, and which loads read a reduction row by row.

namespace ingot::ir {

/// Returns the roots and the nodes that they depend on, ascending. Does not continue through a reduction to its
/// operand.
std::vector<NodeId> nodes_of(const Graph& graph, const std::vector<NodeId>& roots);

inline constexpr size_t kUnmapped = SIZE_MAX;

/// Maps each dim of an index space to the dim of a reduction's domain that it runs along; kUnmapped if there is none.
using RowMap = std::vector<size_t>;

/// Returns the map by which a load reads a reduction row by row, from an index space of this rank; nullopt if it
/// reads the reduction in another way.
std::optional<RowMap> row_map_of(const Graph& graph, NodeId load, size_t rank);

/// Whether the index space is the reduction's domain (of rank `rank`), up to dims of size 1.
bool is_aligned(const RowMap& map, size_t rank);

}  // namespace ingot::ir
