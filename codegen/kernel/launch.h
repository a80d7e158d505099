#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/shape/layout.h"
#include "ir/types/dtype.h"

// How to launch a compiled kernel: everything the runtime keeps about it besides its binary.

namespace ingot::codegen {

/// A parameter of a kernel; LaunchInfo::parameters lists them in order. The runtime packs arguments by this list.
struct KernelParameter {
  enum class Kind : uint8_t {
    Pointer,       ///< to the tensor of access `a`, advanced by the access's offset
    Extent,        ///< of axis `b`
    Numel,         ///< the number of elements of the domain
    Stride,        ///< of access `a` along axis `b`, in elements
    GatherStride,  ///< of access `a` along its gathered coordinate `b`, in elements
    GatherExtent,  ///< the size of the dim that this coordinate indexes
    Scalar,        ///< kernel.scalars[a]
    /// int32_t*, set if an error occurs: to 1 + a if an index of the gather access `a` is out of range; to 1 + accesses
    /// + d if the divisor of kernel.divisions[d] is zero (CPU)
    Status,
    Partials,  ///< the buffer of partial results that LaunchInfo::partials[a] describes
  } kind;
  uint32_t a = 0, b = 0;             ///< the numbers that `kind` mentions
  ir::DType dtype = ir::DType::I32;  ///< the type in which a Scalar or a size is passed
  std::string name;                  ///< in the generated source
  bool operator==(const KernelParameter&) const = default;
};

/// The value of a parameter that is a size or a stride; none for the other kinds. `numbers`: the KernelGeometry of a
/// call, or formulas of its numbers (print/formulas.h).
template <typename Numbers>
auto size_argument(const KernelParameter& parameter, const Numbers& numbers) -> std::optional<decltype(numbers.numel)> {
  using Kind = KernelParameter::Kind;
  switch (parameter.kind) {
    case Kind::Extent:
      return numbers.extents[parameter.b];
    case Kind::Numel:
      return numbers.numel;
    case Kind::Stride:
      return numbers.accesses[parameter.a].strides[parameter.b];
    case Kind::GatherStride:
      return numbers.accesses[parameter.a].gather_strides[parameter.b];
    case Kind::GatherExtent:
      return numbers.accesses[parameter.a].gather_extents[parameter.b];
    case Kind::Pointer:
    case Kind::Scalar:
    case Kind::Status:
    case Kind::Partials:
      break;
  }
  return {};
}

/// A factor of the number of units. A unit is a block on CUDA, and an index of the range [begin, end) on the
/// CPU. The factor is the product of `axes` extents from axis `first` on, divided by `step` and rounded up, times
/// `times`.
struct GridFactor {
  uint32_t first = 0, axes = 0, step = 1, times = 1;
  bool operator==(const GridFactor&) const = default;
};

/// Shared memory in which a block caches its row. The block's threads read the row in steps, one vector per thread and
/// step. The steps before `first` are cached in registers, the others here. `needed` gives the number of steps of a
/// row.
struct SharedSteps {
  std::vector<GridFactor> needed;
  uint32_t first = 0, last = 0;  ///< no row needs step `last`
  uint32_t bytes = 0;            ///< per step
  bool operator==(const SharedSteps&) const = default;

  int64_t most_bytes() const { return int64_t{last - first} * bytes; }
};

/// How a kernel is launched: its entry point, parameters, grid and memory.
struct LaunchInfo {
  std::string entry;             ///< extern "C" name
  uint32_t outline_kernel = 0;   ///< the kernel of the outline that it implements, alone or with other launches
  uint32_t partials_writer = 0;  ///< the kernel of the outline that writes the partial results: if `outline_kernel`
                                 ///< finalizes fused column partials, an earlier one
  std::vector<KernelParameter> parameters;
  uint32_t block_threads = 1;    ///< CUDA
  std::vector<GridFactor> grid;  ///< the number of units is the product of these factors
  uint32_t weight = 1;  ///< CPU: the estimated time per element in about 1/8 ns; sets the grain size of parallel_for
  /// Partial results, if the rows of a kernel are split among several units: the element type of a buffer, per value of
  /// each reduction. The launches of one kernel share the buffers, and so do a kernel that writes fused column partials
  /// and the kernel that finalizes them.
  std::vector<ir::DType> partials;
  std::vector<GridFactor> partial_count;  ///< the number of elements of each buffer, as a product
  SharedSteps shared = {};
  bool operator==(const LaunchInfo&) const = default;

  /// Bytes of dynamic shared memory.
  int64_t shared_bytes(const std::vector<int64_t>& extents) const;
  /// The number of units for these extents.
  int64_t units(const std::vector<int64_t>& extents) const;
};

/// The product of the factors for these extents.
int64_t count(const std::vector<GridFactor>& factors, const std::vector<int64_t>& extents);

}  // namespace ingot::codegen
