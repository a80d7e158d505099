#include "codegen/shape/partition.h"

#include <algorithm>
#include <bit>

#include "codegen/shape/row_values.h"

namespace ingot::codegen {
namespace {

bool writes_column_partials(const KernelOutline& kernel) { return !kernel.column_reductions.empty(); }

}  // namespace

Partition partition(const ir::Graph& graph, PartitionStrategy strategy) {
  Partition made{stores_elements_apart(strategy) ? store_row_values(graph, strategy) : graph, {}};
  made.outline = outline(made.graph, strategy);
  return made;
}

Outlines outlines(const ir::Graph& graph) {
  const auto outline_for = [&](PartitionStrategy strategy) { return partition(graph, strategy).outline; };
  Outlines all{outline(graph), outline_for(PartitionStrategy::StoresApart), outline_for(PartitionStrategy::PerPhase),
               outline_for(PartitionStrategy::FusedColumns)};
  // StoresApart only splits kernels of Whole, and PerPhase those of StoresApart: with equal numbers, nothing was split.
  const size_t whole = all.whole.kernels.size(), apart = all.stores_apart->kernels.size(),
               per_phase = all.per_phase->kernels.size();
  if (apart == whole || apart == per_phase) all.stores_apart.reset();
  if (per_phase == whole) all.per_phase.reset();
  if (std::ranges::none_of(all.fused_columns->kernels, writes_column_partials)) all.fused_columns.reset();
  return all;
}

// A thread has 8 or 16 elements of a row, and as many accumulators for each reduction along columns. A multiprocessor
// then holds 1024 or 512 threads, and all chunks run at once (docs/performance.md: fused-column-partials).
uint32_t chunks_of_column(int64_t columns) {
  constexpr int64_t kElements = 1 << 20, kFewest = 1 << 7, kMost = 1 << 12;
  const auto padded_columns = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(columns, 1))));
  return static_cast<uint32_t>(std::clamp(kElements / padded_columns, kFewest, kMost));
}

}  // namespace ingot::codegen
