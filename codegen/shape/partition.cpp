#include "codegen/shape/partition.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace ingot::codegen {

namespace {

/// The number of a kernel's rows, and the elements of one.
struct Rows {
  int64_t count = 1, length = 1;
  uint32_t dims = 0;  ///< dims along which a row has several elements
};

Rows rows_of(const KernelOutline& kernel, std::span<const ir::HostValue> host) {
  Rows rows;
  for (size_t d = 0; d < kernel.domain.size(); ++d) {
    const int64_t size = host[kernel.domain[d].index].as_int();
    (kernel.reduced[d] ? rows.length : rows.count) *= size;
    rows.dims += kernel.reduced[d] && size != 1;
  }
  return rows;
}

bool writes_column_partials(const KernelOutline& kernel) { return !kernel.column_reductions.empty(); }

/// Whether fused column partials pay off: rows are neither too short nor too long, and lie along a single dim, so that
/// both kernels number the columns alike. Partial results are written and read again, which pays off if a chunk has
/// eight rows or more.
bool column_partials_pay_off(const Rows& rows) {
  constexpr int64_t kShortest = 1 << 7, kLongest = 1 << 13, kRowsOfChunk = 8;
  return rows.dims == 1 && rows.length > kShortest && rows.length <= kLongest &&
         rows.count >= kRowsOfChunk * chunks_of_column(rows.length);
}

}  // namespace

Outlines outlines(const ir::Graph& graph) {
  Outlines all{outline(graph), outline(graph, PartitionStrategy::Whole),
               outline(graph, PartitionStrategy::FusedColumns)};
  if (all.whole->kernels.size() == all.shared.kernels.size()) all.whole.reset();
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

PartitionStrategy partition_strategy_of(const Outlines& outlines, std::span<const ir::HostValue> host,
                                        bool may_fuse_columns) {
  constexpr int64_t kShort = 1 << 15;
  const auto has_suitable_rows = [&](const KernelOutline& kernel) {
    return !writes_column_partials(kernel) || column_partials_pay_off(rows_of(kernel, host));
  };
  if (may_fuse_columns && outlines.fused_columns &&
      std::ranges::all_of(outlines.fused_columns->kernels, has_suitable_rows))
    return PartitionStrategy::FusedColumns;
  if (!outlines.whole) return PartitionStrategy::Shared;
  const auto is_short = [&](const KernelOutline& kernel) {
    if (!kernel.reduces()) return true;
    const Rows rows = rows_of(kernel, host);
    return rows.count > 1 || kernel.phases() == 1 || rows.length <= kShort;
  };
  return std::ranges::all_of(outlines.whole->kernels, is_short) ? PartitionStrategy::Whole : PartitionStrategy::Shared;
}

bool loads_along_rows(const Outline& outline, std::span<const KernelGeometry> geometries) {
  for (size_t k = 0; k < outline.kernels.size(); ++k) {
    const KernelOutline& kernel = outline.kernels[k];
    if (!writes_column_partials(kernel)) continue;
    for (size_t a = 0; a < kernel.accesses.size(); ++a) {
      const std::vector<int64_t>& strides = geometries[k].accesses[a].strides;
      if (kernel.accesses[a].kind == AccessUse::Kind::Load && !strides.empty() && std::abs(strides.back()) > 1)
        return false;
    }
  }
  return true;
}

}  // namespace ingot::codegen
