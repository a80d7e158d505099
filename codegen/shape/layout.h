#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/shape/outline.h"
#include "codegen/target/target.h"
#include "ir/eager_layout.h"

// From the sizes and strides of real tensors to the numbers of a launch (Geometry) and to what a kernel is compiled for
// (Layout). Two calls of one Layout share a kernel, whatever their sizes, strides, pointers and scalars.

namespace ingot::codegen {

/// The numbers of one access over the kernel's axes; strides and offset in elements.
struct AccessGeometry {
  int64_t offset = 0;
  std::vector<int64_t> strides;       ///< one an axis
  std::vector<int64_t> lead_strides;  ///< one a gathered coordinate
  std::vector<int64_t> lead_extents;
  bool is_empty = false;  ///< the tensor has no elements
};

/// The domain with dims of size 1 dropped and neighbouring dims merged wherever every access allows it, ordered as the
/// first store's memory is, or the first load's of a kernel that reduces: there the axes along which it does come last,
/// in the domain's order, so that elements of a row are counted as they are in the graph; and so are rows whose columns
/// are reduced in passing. A scalar domain has no axes.
struct KernelGeometry {
  std::vector<int64_t> extents;  ///< outermost first
  std::vector<AccessGeometry> accesses;
  int64_t numel = 1;
  uint32_t reduced_axes = 0;
  int64_t length = 1;  ///< elements of a row, where there are rows

  int64_t rows() const;
};

/// The tensors that a geometry is made of: sizes and strides, one each (empty for numbers).
struct Shapes {
  std::span<const ir::Extents> params, results, workspaces;
};

std::vector<ir::Extents> workspace_extents(const Outline& outline, std::span<const ir::HostValue> host);

/// `host`: the evaluated slots of the graph's pool.
KernelGeometry geometry(const KernelOutline& kernel, std::span<const ir::HostValue> host, const Shapes& shapes);

inline constexpr int64_t kLongAxis = 32;
inline constexpr int64_t kShortRow = 64;
inline constexpr int64_t kLongRow = 1 << 10;

/// So many that all threads of a GPU have several vectors of them.
inline constexpr int64_t kManyElements = 1 << 24;

/// Of rows of two to this power, and up to the next one, a kernel knows the length more finely: as far as it may keep a
/// row that it reads once, to fold it, or again.
inline constexpr int kFineBits = 5, kLongestFineBitsOnce = 14, kLongestFineBits = 18;

/// Past two to this power, more rows make no other schedule.
inline constexpr int kManyRows = 12;

/// The longest step from element to element that a kernel may know.
inline constexpr int64_t kSmallStep = 4;

enum class StrideClass : uint8_t { Zero, One, Other };

struct AccessLayout {
  std::vector<StrideClass> axes;
  uint8_t inner_step = 0;  ///< the stride along the innermost axis, where it is from 2 to kSmallStep; else 0
  bool linear = false;     ///< element i of the domain is i elements from the first: contiguous over all axes
  /// The largest power of two, at most 16, that divides the address of every row's first element, in bytes: of the base
  /// pointer plus offset and, unless it is linear, of all strides that are not 0, but for a 1 along the innermost axis;
  /// a gathered coordinate's among them.
  /// The element's own size where no vector could use more. A vector lies along the innermost axis of stride 1.
  uint8_t alignment = 1;
  /// Accesses of one tensor with equal strides whose offsets differ by less than their smallest stride are a group of
  /// neighbours (the four corners of a box): `leader` is the one of smallest offset, `neighbour` the distance from it.
  uint32_t leader = 0;
  uint32_t neighbour = 0;
  bool is_empty = false;  ///< there is nothing to read: what is read all the same, ahead of a row's elements, is 0
  bool operator==(const AccessLayout&) const = default;
};

/// What a kernel is compiled for.
struct KernelLayout {
  uint32_t rank = 1;        ///< number of axes
  uint8_t index_bits = 32;  ///< 64 where an element count or an offset in elements needs it
  /// The largest power of two, at most 8 or 16 bytes' worth of the smallest elements, that divides the innermost
  /// extent. With one axis or none, and nothing reduced, it is 16 whatever the extent: a row's end is then the
  /// domain's end, which every kernel handles.
  uint8_t inner_multiple = 16;
  /// CPU, where rows are reduced: the largest power of two, at most 64, that divides the innermost extent; 1 where it
  /// is less than 8, or of no account.
  uint8_t row_multiple = 1;
  uint64_t long_axes = 0;       ///< bit d: axis d has at least kLongAxis steps, so that half a tile is filled
  bool has_short_rows = false;  ///< there are several axes, and the innermost one has at most kShortRow steps
  /// CUDA: there are several axes, and the innermost one has at least kLongRow steps, of no multiple that vectors have.
  bool has_long_rows = false;
  bool has_many_steps = false;  ///< the same, of any multiple, and there are at least kManyElements
  bool results_alias = false;   ///< a result overlaps an input or another result: no __restrict__
  bool reduces = false;         ///< the last axes, or none, are reduced
  uint32_t reduced_axes = 0;
  uint8_t length_bits = 0;  ///< of a row: the least power of two that is not less than its length
  /// CUDA, of rows of 2^kFineBits elements or more that may be kept: how many eighths of that power of two they fill, a
  /// begun one counted, from 5 to 8; else 0.
  uint8_t length_eighths = 0;
  bool fills_eighths = false;  ///< and none of them is begun only
  uint8_t rows_bits = 0;       ///< the largest power of two that is not more than the number of rows; at most kManyRows
  bool has_empty_rows = false;  ///< nothing may be read: there are no elements
  /// Where neighbouring rows lie side by side in what is read, the largest power of two, at most 16, that divides the
  /// innermost extent of those that are kept; else 1.
  uint8_t rows_multiple = 1;
  /// Into how many pieces rows are dealt out whose columns are reduced in passing, of both kernels; else 0.
  uint16_t pieces = 0;
  std::vector<AccessLayout> accesses;
  bool operator==(const KernelLayout&) const = default;

  /// A line that two layouts share only when they are equal.
  std::string text() const;
};

/// `addresses`: the data pointers of the access's tensors, one for each of kernel.accesses (before the offset; any
/// number for an Index).
KernelLayout classify(const KernelOutline& kernel, const KernelGeometry& geometry, std::span<const uintptr_t> addresses,
                      bool results_alias);

/// What a target's kernels ask of a layout: the rest of it as if it were not known, so that it makes no kernels.
KernelLayout read_by(const Target& target, KernelLayout layout);

}  // namespace ingot::codegen
