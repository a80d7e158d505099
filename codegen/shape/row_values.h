#pragma once

#include <set>

#include "codegen/shape/outline.h"

// Values that all elements of a row share, and that are computed from reductions of the row, such as the reciprocal of
// its standard deviation. If a later kernel reads the row's elements, the kernel of the reductions should compute such
// a value once, and the later kernel should load it, instead of loading the reductions and computing the value for each
// element (docs/performance.md: stored-row-values).

namespace ingot::codegen {

/// Returns the graph in which the elements that later kernels compute read such values like results of a reduction: as
/// the maximum of the row, whose elements are all equal (row_values). `strategy`: StoresApart, with which these
/// elements are those that are stored; or PerPhase, with which they are also those that are reduced.
ir::Graph store_row_values(const ir::Graph& graph, PartitionStrategy strategy);

/// The reductions that are a maximum of equal values, which depend on other reductions of the same rows.
std::set<ir::NodeId> row_values(const ir::Graph& graph);

}  // namespace ingot::codegen
