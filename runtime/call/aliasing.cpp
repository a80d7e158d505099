#include "runtime/call/aliasing.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace ingot::runtime {

namespace {

/// The number of bytes from the first element to the end of the last; strides of PyTorch's tensors are not negative.
int64_t extent_of(const at::Tensor& tensor) {
  int64_t last = 0;
  for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
  return (last + 1) * static_cast<int64_t>(tensor.element_size());
}

/// The greatest common divisor of the strides in bytes; 0 if all elements are at one address.
int64_t stride_divisor(const at::Tensor& tensor) {
  int64_t divisor = 0;
  for (int64_t d = 0; d < tensor.dim(); ++d)
    if (tensor.size(d) > 1) divisor = std::gcd(divisor, tensor.stride(d));
  return divisor * static_cast<int64_t>(tensor.element_size());
}

}  // namespace

Overlap overlap_of(const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0 || a.is_meta() || b.is_meta()) return Overlap::None;
  const auto address_a = reinterpret_cast<intptr_t>(a.const_data_ptr());
  const auto address_b = reinterpret_cast<intptr_t>(b.const_data_ptr());
  if (address_a + extent_of(a) <= address_b || address_b + extent_of(b) <= address_a) return Overlap::None;
  if (address_a == address_b && a.sizes() == b.sizes() && a.strides() == b.strides() &&
      a.element_size() == b.element_size())
    return Overlap::Identical;
  const int64_t divisor = std::gcd(stride_divisor(a), stride_divisor(b));
  if (divisor == 0) return Overlap::Partial;
  // Modulo `divisor`, all elements of a tensor have the same address.
  const int64_t shift = ((address_b - address_a) % divisor + divisor) % divisor;
  const bool are_disjoint =
      shift >= static_cast<int64_t>(a.element_size()) && divisor - shift >= static_cast<int64_t>(b.element_size());
  return are_disjoint ? Overlap::None : Overlap::Partial;
}

bool overlaps_itself(const at::Tensor& tensor) {
  constexpr int64_t kMaxEnumeratedOffsets = int64_t{1} << 24;
  if (tensor.numel() <= 1) return false;
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride and size
  for (int64_t d = 0; d < tensor.dim(); ++d)
    if (tensor.size(d) > 1) dims.emplace_back(tensor.stride(d), tensor.size(d));
  std::ranges::sort(dims);
  int64_t last = 0;  // offset of the last element along the dims so far
  bool is_nested = true;
  for (const auto& [stride, size] : dims) {
    is_nested &= stride > last;
    last += stride * (size - 1);
  }
  if (is_nested) return false;  // each stride exceeds the span of the smaller ones
  if (dims.front().first == 0 || last >= kMaxEnumeratedOffsets || tensor.numel() > last + 1) return true;
  // All offsets are enumerated.
  std::vector<int64_t> offsets{0};
  for (const auto& [stride, size] : dims) {
    const size_t count = offsets.size();
    for (int64_t i = 1; i < size; ++i)
      for (size_t k = 0; k < count; ++k) offsets.push_back(offsets[k] + i * stride);
  }
  std::vector<bool> is_used(static_cast<size_t>(last) + 1);
  for (const int64_t offset : offsets) {
    const auto index = static_cast<size_t>(offset);
    if (is_used[index]) return true;
    is_used[index] = true;
  }
  return false;
}

}  // namespace ingot::runtime
