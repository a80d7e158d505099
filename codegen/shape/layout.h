#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "codegen/shape/geometry.h"
#include "codegen/target/target.h"

// Computes the properties that a kernel is compiled for (a layout) from the numbers of a call (a geometry). Calls with
// equal layouts share a kernel, whatever their sizes, strides, pointers and scalars.

namespace ingot::codegen {

// Bounds of the fields has_short_rows and has_long_rows of KernelLayout, in elements.
inline constexpr int64_t kShortRow = 64;
inline constexpr int64_t kLongRow = 1 << 10;

/// An element count from which each thread of a GPU can have several vectors.
inline constexpr int64_t kManyElements = 1 << 24;

/// CUDA: for rows whose length_bits are kFineBits or more, a layout has the length to an eighth of a power of two
/// (`length_eighths`). The upper limits are kLongestFineBitsOnce for kernels of one phase, and kLongestFineBits for
/// kernels of several phases.
inline constexpr int kFineBits = 5, kLongestFineBitsOnce = 14, kLongestFineBits = 18;

/// Layouts do not distinguish more rows than 2^kMostRowsBits.
inline constexpr int kMostRowsBits = 15;

/// Limits of inner_bits and transposed_bits. Two axes of more than 2^5 elements have a square tile, whatever their
/// extents, so both get kLargeTileBits.
inline constexpr uint8_t kLargeTileBits = 6, kLongTileBits = 10;

/// CPU: a stride from 2 to this one, along the innermost axis, is a constant in the kernel (`inner_step`).
inline constexpr int64_t kSmallStep = 4;

/// The stride of an access along one axis: 0, 1, or any other.
enum class StrideClass : uint8_t { Zero, One, Other };

/// The properties of an access that a kernel is compiled for.
struct AccessLayout {
  std::vector<StrideClass> axes;
  uint8_t inner_step = 0;  ///< the stride along the innermost axis, if it is from 2 to kSmallStep; 0 otherwise
  bool is_linear = false;  ///< element i of the domain is i elements after the first: contiguous over all axes
  /// A power of two, at most 16, that divides the following numbers, in bytes: the address of the first element (base
  /// pointer plus offset), and the strides of gathered coordinates. Unless the access is linear, it also divides all
  /// strides except 0 and the stride 1 of the axis along which vectors are loaded (`unit_axis`), so it divides the
  /// address of every row's first element. If the access cannot use vectors, the number is the size of an element.
  uint8_t alignment = 1;
  /// Accesses of one tensor with equal strides, whose offsets differ by less than their smallest stride (for example
  /// the four corners of a box), form an access group. Accesses that a row's elements share form none: their distances
  /// may depend on the row's length, and a kernel should serve many lengths. `leader` is the access with the smallest
  /// offset, or the access itself if it is in no group; `neighbour` is the distance from the leader in elements.
  uint32_t leader = 0;
  uint32_t neighbour = 0;
  bool is_empty = false;  ///< the tensor is empty: a load ahead of a row's elements gives 0
  bool operator==(const AccessLayout&) const = default;

  /// The axis along which vectors are loaded: the innermost axis of stride 1; the number of axes if there is none.
  size_t unit_axis() const;
};

/// Calls `function` with each stride that must be a multiple of the access's alignment. `numbers`: the numbers of the
/// access, integers or formulas.
template <typename Number, typename Function>
void for_each_aligned_stride(const AccessLayout& access, const AccessNumbers<Number>& numbers, Function function) {
  for (const Number stride : numbers.gather_strides) function(stride);
  if (access.is_linear) return;
  for (size_t d = 0; d < access.axes.size(); ++d)
    if (access.axes[d] != StrideClass::Zero && d != access.unit_axis()) function(numbers.strides[d]);
}

/// The properties that a kernel is compiled for.
struct KernelLayout {
  uint32_t rank = 1;        ///< number of axes
  uint8_t index_bits = 32;  ///< 64 if an element count or an offset in elements requires it
  /// The largest power of two that divides the innermost extent; at most 8, or at most 16 if elements of one byte are
  /// contiguous along the innermost axis. If nothing is reduced and there is at most one axis, the multiple is 16 for
  /// any extent: the end of a row is then the end of the domain, which every kernel handles.
  uint8_t inner_multiple = 16;
  /// CPU, if rows are reduced: the largest power of two, at most 64, that divides the innermost extent; 1 if it is less
  /// than 8 or does not matter.
  uint8_t reduced_axis_multiple = 1;
  /// CUDA, if nothing is reduced: log2 of the extents, rounded up and limited, of the innermost axis and of the axis
  /// along which transposed loads are contiguous; 0 if there is no such load. The sides of a tile follow from them.
  uint8_t inner_bits = 0, transposed_bits = 0;
  bool has_short_rows = false;  ///< there are several axes, and the innermost one has at most kShortRow elements
  /// CUDA, if nothing is reduced: there are several axes, and the innermost one has at least kLongRow elements, which
  /// are no multiple of 8.
  bool has_long_rows = false;
  /// CUDA, if nothing is reduced: there are several axes, the innermost one has at least kLongRow elements, and the
  /// domain at least kManyElements.
  bool has_many_steps = false;
  bool results_alias = false;  ///< a result overlaps an input or another result: no __restrict__
  bool reduces = false;        ///< KernelOutline::reduces()
  uint32_t reduced_axes = 0;   ///< how many of the last axes are reduced; may be 0 even if the kernel reduces
  uint8_t length_bits = 0;     ///< log2 of a row's length, rounded up
  /// CUDA: the row's length in eighths of 2^length_bits, rounded up, from 5 to 8. 0 if length_bits is less than
  /// kFineBits or above the limit (kLongestFineBits), or if elements of adjacent rows are adjacent in memory.
  uint8_t length_eighths = 0;
  bool fills_eighths = false;   ///< the length is exactly `length_eighths` eighths of 2^length_bits
  uint8_t rows_bits = 0;        ///< log2 of the number of rows, rounded down; at most kMostRowsBits
  bool has_empty_rows = false;  ///< a row has no elements, so nothing is read
  /// CUDA: the largest power of two, at most 16, that divides the innermost extent that is not reduced, if for some
  /// load the corresponding elements of adjacent rows are adjacent in memory; otherwise 1.
  uint8_t row_axis_multiple = 1;
  /// With fused column partials, in both kernels (the one that computes them and the one that combines them): the
  /// number of chunks of a column, to which rows are distributed in turn. Otherwise 0.
  uint16_t column_chunks = 0;
  std::vector<AccessLayout> accesses;
  bool operator==(const KernelLayout&) const = default;

  /// A line of text; equal for equal layouts only.
  std::string text() const;
};

/// Bounds of the number of elements of a row with this layout. A row has `least` elements only if `least` is `most`.
struct Lengths {
  uint64_t most, least;
};
Lengths lengths_of(const KernelLayout& layout);

/// If the index_bits are 32, no index and no offset from an access's pointer, in elements, is larger.
inline constexpr int64_t kMostIndex32 = std::numeric_limits<int32_t>::max();
/// The most elements of a domain if the index_bits are 32. This leaves room for the last block, whose threads may count
/// past the end, and in reductions for a row's last elements, whose indices may be past the end by the number of
/// accumulators.
constexpr int64_t most_elements32(uint32_t reduced_axes) {
  return kMostIndex32 - (reduced_axes > 0 ? 1 << 23 : 1 << 16);
}

/// The layout that a kernel is compiled for in a call. `addresses`: for each of kernel.accesses, the data pointer of
/// its tensor, before the offset is added; any number for an access of kind Index.
KernelLayout classify(const KernelOutline& kernel, const KernelGeometry& geometry, std::span<const uintptr_t> addresses,
                      bool results_alias);

/// The layout with everything that the target's kernels ignore set to a default, so that it does not cause more
/// kernels.
KernelLayout relevant_to(const Target& target, KernelLayout layout);

}  // namespace ingot::codegen
