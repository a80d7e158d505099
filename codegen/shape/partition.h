#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "codegen/shape/layout.h"
#include "codegen/shape/outline.h"

// Decides which of a graph's outlines a call uses, by its sizes and strides.

namespace ingot::codegen {

/// All outlines of a graph.
struct Outlines {
  Outline whole;
  std::optional<Outline> per_phase, fused_columns;  ///< if they differ from `whole`

  /// The outline for a partition strategy.
  const Outline& of(PartitionStrategy strategy) const {
    return strategy == PartitionStrategy::PerPhase && per_phase           ? *per_phase
           : strategy == PartitionStrategy::FusedColumns && fused_columns ? *fused_columns
                                                                          : whole;
  }
};
/// The outlines of a graph for all partition strategies.
Outlines outlines(const ir::Graph& graph);

/// The partition strategy that a call should use. On CUDA, FusedColumns (fused column partials) if all rows lie along
/// one dim that every load reads with stride 1 or 0, have 129 to 8192 elements and are numerous enough. PerPhase if
/// rows are so few and so long that they should be shared by many blocks (on the CPU, by several threads); the bits are
/// the same as with Whole. `geometries_of`: the geometries of an outline's kernels.
PartitionStrategy partition_strategy_of(
    const Outlines& outlines, std::span<const ir::HostValue> host, bool on_cuda,
    const std::function<std::vector<KernelGeometry>(const Outline&)>& geometries_of);

/// The number of chunks of a column for fused column partials, for rows of `columns` elements; a power of two. Rows
/// are distributed to the chunks in turn.
uint32_t chunks_of_column(int64_t columns);

}  // namespace ingot::codegen
