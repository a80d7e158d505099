#pragma once

#include <functional>
#include <span>
#include <vector>

#include "codegen/shape/layout.h"
#include "codegen/shape/partition.h"

// Decides which of a graph's outlines a call uses, by its sizes and strides.

namespace ingot::codegen {

/// The partition strategy that a call should use. On CUDA, FusedColumns (fused column partials) if all rows lie along
/// one dim that every load reads with stride 1 or 0, have 129 to 8192 elements and are numerous enough; otherwise the
/// strategy with the shortest estimated time: PerPhase is faster if rows are few and long, StoresApart if elements are
/// stored in another order of memory than they are loaded. On the CPU, PerPhase if there are fewer rows than threads,
/// and they are long. PerPhase and StoresApart give the same bits as Whole. `geometries_of`: the geometries of an
/// outline's kernels.
PartitionStrategy partition_strategy_of(
    const Outlines& outlines, std::span<const ir::HostValue> host, bool on_cuda,
    const std::function<std::vector<KernelGeometry>(const Outline&)>& geometries_of);

}  // namespace ingot::codegen
