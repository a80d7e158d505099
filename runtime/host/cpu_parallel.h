#pragma once

#include <cstdint>

namespace ingot::runtime {

/// A kernel that the host compiler made: it computes the units [begin, end) of its domain. A unit is an element, a row
/// or a tile; in a kernel that reduces, some adjacent rows or one chunk of the elements of these rows.
using CpuKernel = void(const void* const* arguments, int64_t begin, int64_t end);

/// Runs all of [0, units) on PyTorch's threads, in ranges of at least `grain` units that begin at multiples of
/// `multiple`.
void run_parallel(CpuKernel* kernel, const void* const* arguments, int64_t units, int64_t multiple, int64_t grain);

}  // namespace ingot::runtime
