#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace ingot::runtime {

enum class Overlap : uint8_t {
  None,
  Identical,  ///< the same address, sizes and strides: element by element the same memory
  Partial,    ///< anything else that shares a byte, or may
};

/// How the memory of two tensors of one device relates; that of meta tensors does not. Interleaved views (two columns
/// of one tensor) are told apart by the common divisor of their strides; what that cannot prove counts as Partial.
Overlap overlap_of(const at::Tensor& a, const at::Tensor& b);

/// Whether two indices of the tensor are one element: an expanded dim, overlapping windows. Larger tensors than can be
/// looked through count as overlapping unless their strides tell.
bool overlaps_itself(const at::Tensor& tensor);

}  // namespace ingot::runtime
