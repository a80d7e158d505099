#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace ingot::runtime {

enum class Overlap : uint8_t {
  None,
  Identical,  ///< the same address, sizes, strides and element size: each element at the same address
  Partial,    ///< any other shared byte, proven or possible
};

/// How the memory of two tensors of one device overlaps; meta tensors never overlap. Interleaved views (two columns of
/// one tensor) are distinguished by the common divisor of their strides. Cases that cannot be decided count as Partial.
Overlap overlap_of(const at::Tensor& a, const at::Tensor& b);

/// Whether two indices of the tensor refer to one element: an expanded dim, overlapping windows. A tensor that is too
/// large to enumerate counts as overlapping unless its strides prove otherwise.
bool overlaps_itself(const at::Tensor& tensor);

}  // namespace ingot::runtime
