#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/shape/outline.h"
#include "codegen/target/target.h"
#include "ir/eager_layout.h"

// Computes two things from the sizes and strides of real tensors: the numbers of a launch (a geometry), and the
// properties that a kernel is compiled for (a layout). Calls with equal layouts share a kernel, whatever their sizes,
// strides, pointers and scalars.

namespace ingot::codegen {

/// The numbers of one access over the kernel's axes; strides and offset in elements.
struct AccessGeometry {
  int64_t offset = 0;
  std::vector<int64_t> strides;         ///< one per axis
  std::vector<int64_t> gather_strides;  ///< one per gathered coordinate
  std::vector<int64_t> gather_extents;
  bool is_empty = false;  ///< the tensor has no elements
};

/// The domain without dims of size 1, with adjacent dims merged if every access allows it. Axes are ordered by the
/// memory of the first store. In a kernel that reduces, they are ordered by the memory of the load that varies along
/// most dims; the reduced axes come last, in the domain's order, so that a row's elements are numbered as in the graph.
/// With fused column partials, the kept axes are in the domain's order, too. A scalar domain has no axes.
struct KernelGeometry {
  std::vector<int64_t> extents;  ///< outermost first
  std::vector<AccessGeometry> accesses;
  int64_t numel = 1;
  uint32_t reduced_axes = 0;
  int64_t length = 1;  ///< elements of a row, if there are rows

  int64_t rows() const;
};

/// The sizes and strides from which a geometry is computed; one per tensor (empty for numbers).
struct Shapes {
  std::span<const ir::SizesAndStrides> params, results, workspaces;
};

std::vector<ir::SizesAndStrides> workspace_extents(const Outline& outline, std::span<const ir::HostValue> host);

/// `host`: the evaluated slots of the graph's pool.
KernelGeometry geometry(const KernelOutline& kernel, std::span<const ir::HostValue> host, const Shapes& shapes);

inline constexpr int64_t kLongAxis = 32;
inline constexpr int64_t kShortRow = 64;
inline constexpr int64_t kLongRow = 1 << 10;

/// An element count at which each thread of a GPU has several vectors.
inline constexpr int64_t kManyElements = 1 << 24;

/// For rows of 2^kFineBits elements and more, a kernel knows the length to an eighth of a power of two. The upper
/// limits are the longest rows that may be cached by a kernel that reads them once, or several times.
inline constexpr int kFineBits = 5, kLongestFineBitsOnce = 14, kLongestFineBits = 18;

/// More than 2^kManyRowsBits rows do not change the schedule.
inline constexpr int kManyRowsBits = 12;

/// The longest stride along the innermost axis that a kernel may know.
inline constexpr int64_t kSmallStep = 4;

/// The stride of an access along one axis: 0, 1, or any other.
enum class StrideClass : uint8_t { Zero, One, Other };

/// The properties of an access that a kernel is compiled for.
struct AccessLayout {
  std::vector<StrideClass> axes;
  uint8_t inner_step = 0;  ///< the stride along the innermost axis, if it is from 2 to kSmallStep; 0 otherwise
  bool is_linear = false;  ///< element i of the domain is i elements after the first: contiguous over all axes
  /// The largest power of two, at most 16, that divides the address of every row's first element, in bytes. This number
  /// divides the base pointer plus offset. Unless the access is linear, it also divides the strides of gathered
  /// coordinates, and all strides except 0 and the stride 1 along a vector. The number is the element's own size if no
  /// vector could use more. Vectors are loaded along the innermost axis of stride 1.
  uint8_t alignment = 1;
  /// Neighbours are accesses of one tensor with equal strides, whose offsets differ by less than their smallest stride
  /// (for example the four corners of a box). They form a group: `leader` is the access with the smallest offset;
  /// `neighbour` is the distance from it.
  uint32_t leader = 0;
  uint32_t neighbour = 0;
  bool is_empty = false;  ///< the tensor is empty: a load ahead of a row's elements gives 0
  bool operator==(const AccessLayout&) const = default;
};

/// The properties that a kernel is compiled for.
struct KernelLayout {
  uint32_t rank = 1;        ///< number of axes
  uint8_t index_bits = 32;  ///< 64 if an element count or an offset in elements requires it
  /// The largest power of two that divides the innermost extent, at most 8 or 16 bytes of the smallest elements,
  /// whichever is more. The multiple is 16, whatever the extent, if nothing is reduced and there is at most one axis:
  /// the end of a row is then the end of the domain, which every kernel handles.
  uint8_t inner_multiple = 16;
  /// CPU, if rows are reduced: the largest power of two, at most 64, that divides the innermost extent; 1 if it is less
  /// than 8 or does not matter.
  uint8_t reduced_axis_multiple = 1;
  uint64_t long_axes = 0;       ///< bit d: axis d has at least kLongAxis elements, so that half a tile is filled
  bool has_short_rows = false;  ///< there are several axes, and the innermost one has at most kShortRow elements
  /// CUDA: there are several axes, and the innermost one has at least kLongRow elements, not a multiple of a vector.
  bool has_long_rows = false;
  bool has_many_steps = false;  ///< as has_long_rows, but of any multiple; and there are at least kManyElements
                                ///< elements
  bool results_alias = false;   ///< a result overlaps an input or another result: no __restrict__
  bool reduces = false;         ///< the last axes, or none, are reduced
  uint32_t reduced_axes = 0;
  uint8_t length_bits = 0;  ///< log2 of a row's length, rounded up
  /// CUDA, for rows of 2^kFineBits elements or more that may be cached: the row's length in eighths of that power of
  /// two, rounded up, from 5 to 8; otherwise 0.
  uint8_t length_eighths = 0;
  bool fills_eighths = false;   ///< the length is exactly `length_eighths` eighths
  uint8_t rows_bits = 0;        ///< log2 of the number of rows, rounded down; at most kManyRowsBits
  bool has_empty_rows = false;  ///< nothing is read, since there are no elements
  /// The largest power of two, at most 16, that divides the innermost kept extent, if corresponding elements of
  /// adjacent rows are adjacent in memory; otherwise 1.
  uint8_t row_axis_multiple = 1;
  /// With fused column partials: the number of chunks of a column, to which rows are distributed in turn, in both
  /// kernels; otherwise 0.
  uint16_t column_chunks = 0;
  std::vector<AccessLayout> accesses;
  bool operator==(const KernelLayout&) const = default;

  /// A line of text; equal for equal layouts only.
  std::string text() const;
};

/// `addresses`: the data pointers of the accesses' tensors, one for each of kernel.accesses, before the offset is
/// added; any number for an Index.
KernelLayout classify(const KernelOutline& kernel, const KernelGeometry& geometry, std::span<const uintptr_t> addresses,
                      bool results_alias);

/// The layout with everything that the target's kernels ignore set to a default, so that it does not cause more
/// kernels.
KernelLayout relevant_to(const Target& target, KernelLayout layout);

}  // namespace ingot::codegen
