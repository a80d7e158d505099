#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

// What a node is made of within one kernel, and which loads read a reduction row by row.

namespace ingot::ir {

/// The nodes that these are made of, themselves among them, ascending; what a reduction is made of is not among them.
std::vector<NodeId> nodes_of(const Graph& graph, const std::vector<NodeId>& roots);

inline constexpr size_t kUnmapped = SIZE_MAX;

/// For each dim of an index space the dim of a reduction's domain that it goes along; kUnmapped where it goes along
/// none.
using RowMap = std::vector<size_t>;

/// How a load reads a reduction by its rows from a space of this rank; nothing where it reads it otherwise.
std::optional<RowMap> rows_read(const Graph& graph, NodeId load, size_t rank);

/// Whether the space is the reduction's domain, of this rank, or the same with some dims of size 1.
bool is_aligned(const RowMap& map, size_t rank);

}  // namespace ingot::ir
