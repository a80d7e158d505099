#pragma once

#include "codegen/shape/outline.h"

// Row values: values that all elements of a row share, and that are computed from reductions of the row, such as the
// reciprocal of its standard deviation. If a later kernel reads the row's elements, the kernel of the reductions should
// compute such a value once, and the later kernel should load it, instead of loading the reductions and computing the
// value for each element (docs/performance.md: stored-row-values).

namespace ingot::codegen {

/// Returns the graph in which the elements that later kernels compute load row values. A later kernel can load only
/// values of reductions, so a row value is written as one: as the maximum of the row, whose elements are all equal
/// (Reduction::is_row_value). Values that exist once per row are computed as before. `strategy`: StoresApart, with
/// which these elements are those that are stored; or PerPhase, with which they are also those that are reduced.
ir::Graph store_row_values(const ir::Graph& graph, PartitionStrategy strategy);

}  // namespace ingot::codegen
