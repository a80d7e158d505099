#pragma once

#include <cstdint>
#include <optional>

#include "codegen/shape/outline.h"

// The ways in which a graph can be divided into kernels.

namespace ingot::codegen {

/// A graph and its kernels.
struct Partition {
  ir::Graph graph;
  Outline outline;
};

/// Divides a graph into kernels. The graph of the partition has the same host expressions, and row values that later
/// kernels load (row_values.h).
Partition partition(const ir::Graph& graph, PartitionStrategy strategy);

/// The outlines of a graph for all strategies. The node ids of each are those of its partition's graph.
struct Outlines {
  Outline whole;
  std::optional<Outline> stores_apart;   ///< absent if it has as many kernels as `whole` or `per_phase`
  std::optional<Outline> per_phase;      ///< absent if it has as many kernels as `whole`
  std::optional<Outline> fused_columns;  ///< absent if there are no fused column partials

  /// The outline for a partition strategy.
  const Outline& of(PartitionStrategy strategy) const {
    return strategy == PartitionStrategy::StoresApart && stores_apart     ? *stores_apart
           : strategy == PartitionStrategy::PerPhase && per_phase         ? *per_phase
           : strategy == PartitionStrategy::FusedColumns && fused_columns ? *fused_columns
                                                                          : whole;
  }
};
Outlines outlines(const ir::Graph& graph);

/// The number of chunks of a column for fused column partials, for rows of `columns` elements; a power of two. Rows
/// are distributed to the chunks in turn.
uint32_t chunks_of_column(int64_t columns);

}  // namespace ingot::codegen
