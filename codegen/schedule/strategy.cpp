#include "codegen/schedule/strategy.h"

#include <algorithm>
#include <cstdlib>

#include "codegen/schedule/row_policy.h"

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

/// Whether fused column partials pay off: rows are neither too short nor too long, and lie along a single dim, so that
/// both kernels number the columns alike. Partial results are written and read again, which pays off if a chunk has
/// eight rows or more.
bool column_partials_pay_off(const Rows& rows) {
  constexpr int64_t kShortest = 1 << 7, kLongest = 1 << 13, kRowsOfChunk = 8;
  return rows.dims == 1 && rows.length > kShortest && rows.length <= kLongest &&
         rows.count >= kRowsOfChunk * chunks_of_column(rows.length);
}

/// Whether every load of a kernel with fused column partials has stride 1 or 0 along the rows.
bool loads_along_rows(const Outline& outline, std::span<const KernelGeometry> geometries) {
  for (size_t k = 0; k < outline.kernels.size(); ++k) {
    const KernelOutline& kernel = outline.kernels[k];
    if (kernel.column_reductions.empty()) continue;
    for (size_t a = 0; a < kernel.accesses.size(); ++a) {
      const std::vector<int64_t>& strides = geometries[k].accesses[a].strides;
      if (kernel.accesses[a].kind == AccessUse::Kind::Load && !strides.empty() && std::abs(strides.back()) > 1)
        return false;
    }
  }
  return true;
}

/// An element that is not loaded, but computed from indices or random numbers, takes about as long as a load of these
/// bytes.
constexpr int64_t kComputedBytes = 4;

/// The memory traffic of a kernel over rows.
struct Traffic {
  int64_t row_bytes = 0;     ///< loaded per row in each phase; at least kComputedBytes for each element
  int64_t stored_bytes = 0;  ///< of all results with a value per element
  int64_t scattered_bytes =
      0;               ///< the part of them that is stored by threads that are not adjacent, element by element
  uint32_t loads = 0;  ///< with a value per element
  bool gathers = false;
  bool is_across = false;  ///< adjacent rows are adjacent in memory
};

Traffic traffic_of(const KernelOutline& kernel, const KernelGeometry& geometry) {
  const size_t rank = geometry.extents.size(), row_axes = rank - geometry.reduced_axes;
  Traffic traffic;
  int64_t across = 0, along = 0, scattered_if_across = 0, scattered_if_along = 0;
  for (size_t a = 0; a < kernel.accesses.size(); ++a) {
    const AccessUse& use = kernel.accesses[a];
    const std::vector<int64_t>& strides = geometry.accesses[a].strides;
    traffic.gathers |= use.kind == AccessUse::Kind::Gather;
    if (!use.has_tensor() || strides.size() != rank) continue;
    const auto varies = [&](size_t first, size_t last) {
      return std::any_of(strides.begin() + static_cast<ptrdiff_t>(first),
                         strides.begin() + static_cast<ptrdiff_t>(last), [](int64_t stride) { return stride != 0; });
    };
    if (!varies(row_axes, rank)) continue;
    const int64_t bytes = ir::size_of(use.dtype);
    if (use.kind == AccessUse::Kind::Store) {
      const int64_t stored = geometry.numel * bytes;
      traffic.stored_bytes += stored;
      if (strides.back() != 1) scattered_if_along += stored;
      if (row_axes > 0 && strides[row_axes - 1] != 1) scattered_if_across += stored;
      continue;
    }
    if (std::count(strides.begin(), strides.begin() + static_cast<ptrdiff_t>(row_axes), 0) > 0)
      continue;  // an operand that some rows share stays in the cache
    ++traffic.loads;
    traffic.row_bytes += geometry.length * bytes;
    (row_axes > 0 && strides.back() != 1 && strides[row_axes - 1] == 1 ? across : along) += bytes;
  }
  traffic.row_bytes = std::max(traffic.row_bytes, kComputedBytes * geometry.length);
  traffic.is_across = across > along;
  traffic.scattered_bytes = traffic.is_across ? scattered_if_across : scattered_if_along;
  return traffic;
}

/// An estimate of how long a GPU takes, in nanoseconds (docs/performance.md: kernel-per-phase), by strategy.
struct Times {
  double whole = 0, stores_apart = 0, per_phase = 0;
};

/// Estimates the time of a kernel with several phases: undivided, and divided by each other strategy.
Times cuda_times(const KernelOutline& kernel, const KernelGeometry& geometry) {
  // Throughput of all blocks and of one block, in bytes per nanosecond. It is lower if a block reads its row again in
  // each phase, because few of its loads are in flight.
  constexpr double kAll = 3500, kBlock = 60, kAllReadingAgain = 1400, kBlockReadingAgain = 27;
  constexpr double kScattered = 130;                                   // if stores are scattered
  constexpr double kLaunch = 4000;                                     // nanoseconds
  constexpr int64_t kClusterBytes = 1 << 20, kBlockBytes = 128 << 10;  // of a row that a cluster and a block can hold
  // If adjacent rows are adjacent in memory: the rows of a block; and if its registers hold them (keep_across), the
  // rows and the elements of all loads of a row.
  constexpr int64_t kRowsOfBlock = 128, kHeldRows = 32, kHeldLength = 2048;
  // From this many rows on, only very long rows have chunks, whose second launch takes a small part of the time.
  constexpr int64_t kManyRows = 1 << kManyRowsBits;
  const Traffic traffic = traffic_of(kernel, geometry);
  const int64_t rows = geometry.rows();
  const double loaded = static_cast<double>(rows) * static_cast<double>(traffic.row_bytes);
  const auto stored = static_cast<double>(traffic.stored_bytes),
             scattered = static_cast<double>(traffic.scattered_bytes);
  const auto phases = static_cast<double>(kernel.phases());
  const auto time = [](double bytes, int64_t blocks, double of_block, double of_all) {
    return bytes / std::min(of_all, of_block * static_cast<double>(blocks));
  };
  const int64_t held_bytes = traffic.loads == 1 ? kClusterBytes : kBlockBytes;
  const bool is_held = !traffic.gathers && (traffic.is_across ? geometry.length * traffic.loads <= kHeldLength
                                                              : traffic.row_bytes <= held_bytes);
  // The time, without its launch, of a kernel with so many phases that stores so many bytes, coalesced.
  const auto time_of_kernel = [&](double phases_of_kernel, double stored_by_kernel) {
    const double bytes = (is_held ? 1 : phases_of_kernel) * loaded + stored_by_kernel;
    const int64_t rows_of_block = is_held ? kHeldRows : kRowsOfBlock;
    return traffic.is_across ? time(bytes, (rows + rows_of_block - 1) / rows_of_block, kBlock, kAll)
           : is_held         ? time(bytes, rows * std::max<int64_t>(1, traffic.row_bytes / kBlockBytes), kBlock, kAll)
                             : time(bytes, rows, kBlockReadingAgain, kAllReadingAgain);
  };
  // The last phase may store elements: it takes one launch, and transposes in shared memory if needed. A phase that
  // reduces takes two with PerPhase, the second one for the partial results of blocks. The first kernel of StoresApart
  // takes one, because its rows are not split.
  const double storing = stored > 0 ? 1 : 0, reducing = phases - storing;
  const double launches_per_phase = rows >= kManyRows ? phases : 2 * reducing + storing;
  const double time_of_stores = storing * (loaded + stored) / kAll;
  return {.whole = kLaunch + time_of_kernel(phases, stored - scattered) + scattered / kScattered,
          .stores_apart = kLaunch * (1 + storing) + time_of_kernel(reducing, 0) + time_of_stores,
          .per_phase = kLaunch * launches_per_phase + reducing * loaded / kAll + time_of_stores};
}

/// CPU: whether threads should share rows: there are fewer rows than threads, and they are long.
bool should_share_rows(const KernelGeometry& geometry) {
  constexpr int64_t kFewRows = 16, kLength = 1 << 15;
  return geometry.rows() < kFewRows && geometry.length > kLength * geometry.rows();
}

/// The fastest strategy for the kernels that reduce in several phases.
PartitionStrategy fastest(const Outlines& outlines, std::span<const KernelGeometry> geometries, bool on_cuda) {
  Times sum;
  for (size_t k = 0; k < outlines.whole.kernels.size(); ++k) {
    const KernelOutline& kernel = outlines.whole.kernels[k];
    if (!kernel.reduces() || kernel.phases() == 1 || geometries[k].numel == 0) continue;
    if (!on_cuda) {
      if (outlines.per_phase && should_share_rows(geometries[k])) return PartitionStrategy::PerPhase;
      continue;
    }
    const Times times = cuda_times(kernel, geometries[k]);
    sum.whole += times.whole, sum.stores_apart += times.stores_apart, sum.per_phase += times.per_phase;
  }
  PartitionStrategy strategy = PartitionStrategy::Whole;
  double least = sum.whole;
  if (outlines.per_phase && sum.per_phase < least) strategy = PartitionStrategy::PerPhase, least = sum.per_phase;
  if (outlines.stores_apart && sum.stores_apart < least) strategy = PartitionStrategy::StoresApart;
  return strategy;
}

}  // namespace

PartitionStrategy partition_strategy_of(
    const Outlines& outlines, std::span<const ir::HostValue> host, bool on_cuda,
    const std::function<std::vector<KernelGeometry>(const Outline&)>& geometries_of) {
  const auto has_suitable_rows = [&](const KernelOutline& kernel) {
    return kernel.column_reductions.empty() || column_partials_pay_off(rows_of(kernel, host));
  };
  if (on_cuda && outlines.fused_columns && std::ranges::all_of(outlines.fused_columns->kernels, has_suitable_rows) &&
      loads_along_rows(*outlines.fused_columns, geometries_of(*outlines.fused_columns)))
    return PartitionStrategy::FusedColumns;
  const bool has_choice = outlines.stores_apart || outlines.per_phase;
  return has_choice ? fastest(outlines, geometries_of(outlines.whole), on_cuda) : PartitionStrategy::Whole;
}

}  // namespace ingot::codegen
