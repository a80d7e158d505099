#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/types/dtype.h"

// How to launch what was compiled: all that the runtime keeps of a kernel beside its binary.

namespace ingot::codegen {

/// One parameter of a kernel, in the order in which it takes them; the runtime packs arguments by this list.
struct KernelParameter {
  enum class Kind : uint8_t {
    Pointer,     ///< to the access's tensor, moved by the access's offset
    Extent,      ///< of axis `b`
    Numel,       ///< the number of elements of the domain
    Stride,      ///< of access `a` along axis `b`, in elements
    LeadStride,  ///< of access `a`, gathered coordinate `b`, in elements
    LeadExtent,
    Scalar,  ///< kernel.scalars[a]
    /// int32_t*: set to 1 + a, where an index that access `a` gathers by is out of range; to 1 + accesses + d, where
    /// the divisor of kernel.divisions[d] is zero (CPU)
    Status,
    State,  ///< to LaunchInfo::states[a], in the call's workspace
  } kind;
  uint32_t a = 0, b = 0;
  ir::DType dtype = ir::DType::I32;  ///< the type in which it is passed: of a Scalar; of a size
  std::string name;                  ///< in the generated source
  bool operator==(const KernelParameter&) const = default;
};

/// A factor of the number of units, which are a kernel's blocks, or on the CPU what [begin, end) counts: as many as
/// cover the product of `axes` extents from `first` on, `step` elements each, and that `times`.
struct GridFactor {
  uint32_t first = 0, axes = 0, step = 1, times = 1;
  bool operator==(const GridFactor&) const = default;
};

/// What a block keeps of its row in shared memory: of the steps in which its threads read it, which the product of
/// `needed` counts, those from `first` on.
struct SharedSteps {
  std::vector<GridFactor> needed;
  uint32_t first = 0, last = 0;  ///< no row needs `last`
  uint32_t bytes = 0;            ///< of one
  bool operator==(const SharedSteps&) const = default;

  int64_t most_bytes() const { return int64_t{last - first} * bytes; }
};

struct LaunchInfo {
  std::string entry;       ///< extern "C" name
  uint32_t outline = 0;    ///< which of the outline's kernels it is, or a part of
  uint32_t states_of = 0;  ///< the one of these whose launches come first of those that have states in common
  std::vector<KernelParameter> parameters;
  uint32_t block_threads = 1;  ///< CUDA
  std::vector<GridFactor> grid;
  uint32_t weight = 1;  ///< CPU: the cost of an element in rough nanoseconds·8, for the grain of parallel_for
  /// Where the rows of a kernel are shared out to many units, what each has found of its piece of a row: a tensor for
  /// each value of each reduction. The launches of one kernel have them in common, and so have two kernels of which one
  /// takes the other's elements in passing.
  std::vector<ir::DType> states;
  std::vector<GridFactor> state_count;  ///< elements of each
  SharedSteps shared = {};
  bool operator==(const LaunchInfo&) const = default;

  /// Bytes of shared memory, beside what the kernel declares itself.
  int64_t shared_bytes(const std::vector<int64_t>& extents) const;
  /// How many units there are over these extents.
  int64_t units(const std::vector<int64_t>& extents) const;
};

int64_t count(const std::vector<GridFactor>& factors, const std::vector<int64_t>& extents);

}  // namespace ingot::codegen
