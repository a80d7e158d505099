#pragma once

#include <functional>
#include <span>
#include <vector>

#include "codegen/shape/layout.h"
#include "codegen/shape/partition.h"

// Decides which of a graph's outlines a call uses, by its sizes and strides.

namespace ingot::codegen {

/// The partition strategy that a call should use. On CUDA, FusedColumns (fused column partials) if all rows lie along
/// one dim that every load reads with stride 1 or 0, have 129 to 8192 elements and are numerous enough. PerPhase if
/// rows are so few and so long that they should be shared by many blocks (on the CPU, by several threads). On CUDA,
/// StoresApart if elements are stored in another order of memory than they are loaded. The bits are the same as with
/// Whole. `geometries_of`: the geometries of an outline's kernels.
PartitionStrategy partition_strategy_of(
    const Outlines& outlines, std::span<const ir::HostValue> host, bool on_cuda,
    const std::function<std::vector<KernelGeometry>(const Outline&)>& geometries_of);

}  // namespace ingot::codegen
