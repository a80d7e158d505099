#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codegen/shape/outline.h"
#include "ir/eager_layout.h"

// Computes the numbers of a launch (a geometry) from the sizes and strides of real tensors.

namespace ingot::codegen {

/// The numbers of one access over the kernel's axes; strides and offset in elements. `Number`: an integer for one call,
/// or a formula (print/formulas.h).
template <typename Number>
struct AccessNumbers {
  Number offset = {};
  std::vector<Number> strides;         ///< one per axis
  std::vector<Number> gather_strides;  ///< one per gathered coordinate
  std::vector<Number> gather_extents;
  bool is_empty = false;  ///< the tensor has no elements
};
using AccessGeometry = AccessNumbers<int64_t>;

/// The domain of a kernel for one call, without dims of size 1, with adjacent dims merged if every access allows it;
/// the remaining dims are the axes. Axes are ordered by decreasing stride of the first store. In a kernel that reduces,
/// they are ordered by the strides of the load that varies along most dims; but the reduced axes come last, by the
/// strides of KernelOutline::row_order, or in the domain's order if there is none. In a kernel that computes fused
/// column partials, both parts are in the domain's order. A domain of one element has no axes.
struct KernelGeometry {
  std::vector<int64_t> extents;  ///< outermost first
  /// The dims of the kernel's domain that each axis merges, outermost first. A dim in no axis has size 1.
  std::vector<std::vector<uint32_t>> dims;
  std::vector<AccessGeometry> accesses;
  int64_t numel = 1;          ///< elements of the domain
  uint32_t reduced_axes = 0;  ///< how many of the last axes are reduced
  int64_t length = 1;         ///< elements of a row, if the kernel reduces

  int64_t rows() const;  ///< the number of rows, if the kernel reduces
};

/// The tensors of a call, with the strides from which a geometry is computed: one per parameter of the graph (empty for
/// a number), one per result, and one per workspace of the outline.
template <typename Tensor>
struct TensorsOf {
  std::span<const Tensor> params, results, workspaces;

  /// The tensor of an access that has one.
  const Tensor& operator[](const AccessUse& use) const {
    if (use.in_workspace) return workspaces[use.tensor];
    return (use.kind == AccessUse::Kind::Store ? results : params)[use.tensor];
  }
};
using Shapes = TensorsOf<ir::SizesAndStrides>;

/// The sizes and strides of the outline's workspaces. `host`: the value of each expression of the graph's HostPool, by
/// id.
std::vector<ir::SizesAndStrides> workspace_extents(const Outline& outline, std::span<const ir::HostValue> host);

/// The geometry of a kernel of an outline, for one call. `host`: the value of each expression of the graph's HostPool,
/// by id.
KernelGeometry geometry(const KernelOutline& kernel, std::span<const ir::HostValue> host, const Shapes& shapes);

}  // namespace ingot::codegen
