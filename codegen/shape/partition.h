#pragma once

#include <cstdint>
#include <optional>

#include "codegen/shape/outline.h"

// The ways in which a graph can be divided into kernels.

namespace ingot::codegen {

/// All outlines of a graph.
struct Outlines {
  Outline whole;
  std::optional<Outline> stores_apart, per_phase, fused_columns;  ///< if they differ from `whole`, and from each other

  /// The outline for a partition strategy.
  const Outline& of(PartitionStrategy strategy) const {
    return strategy == PartitionStrategy::StoresApart && stores_apart     ? *stores_apart
           : strategy == PartitionStrategy::PerPhase && per_phase         ? *per_phase
           : strategy == PartitionStrategy::FusedColumns && fused_columns ? *fused_columns
                                                                          : whole;
  }
};
/// The graph from which a partition strategy makes kernels; its host expressions are those of `graph`.
ir::Graph graph_for(PartitionStrategy strategy, const ir::Graph& graph);
/// The outlines of these graphs for all partition strategies.
Outlines outlines(const ir::Graph& graph);

/// The number of chunks of a column for fused column partials, for rows of `columns` elements; a power of two. Rows
/// are distributed to the chunks in turn.
uint32_t chunks_of_column(int64_t columns);

}  // namespace ingot::codegen
