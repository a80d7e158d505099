#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "codegen/shape/layout.h"
#include "codegen/shape/outline.h"

// Decides which of a graph's outlines a call uses, by its sizes and, for fused column partials, by the strides along
// its rows.

namespace ingot::codegen {

/// All outlines of a graph.
struct Outlines {
  Outline shared;
  std::optional<Outline> whole, fused_columns;  ///< if they differ from `shared`

  /// The outline for a partition strategy.
  const Outline& of(PartitionStrategy strategy) const {
    return strategy == PartitionStrategy::Whole && whole                  ? *whole
           : strategy == PartitionStrategy::FusedColumns && fused_columns ? *fused_columns
                                                                          : shared;
  }
};
/// The outlines of a graph for all partition strategies.
Outlines outlines(const ir::Graph& graph);

/// The partition strategy that a call should use: Whole if all lone rows are short (the bits are the same as with
/// Shared); FusedColumns (fused column partials) if `may_fuse_columns`, and if all rows lie along one dim, have 129 to
/// 8192 elements and are numerous enough. `may_fuse_columns`: the target is CUDA, and loads_along_rows is not known to
/// be false.
PartitionStrategy partition_strategy_of(const Outlines& outlines, std::span<const ir::HostValue> host,
                                        bool may_fuse_columns);

/// The number of chunks of a column for fused column partials, for rows of `columns` elements; a power of two. Rows
/// are distributed to the chunks in turn.
uint32_t chunks_of_column(int64_t columns);

/// Whether every load of a kernel with fused column partials has stride 1 or 0 along the rows.
bool loads_along_rows(const Outline& outline, std::span<const KernelGeometry> geometries);

}  // namespace ingot::codegen
