#pragma once

#include <ATen/core/Tensor.h>

// A tensor without storage has a dtype, sizes, strides and a device, but its c10::Storage has no memory.
// It replaces an argument that an op does not read, so that the argument's own memory can be freed. It is not a meta
// tensor, because it keeps the argument's device. An empty tensor needs no memory, and does not count as a tensor
// without storage.

namespace ingot::runtime {

inline bool lacks_storage(const void* data, const c10::TensorImpl& impl) {
  return data == nullptr && impl.numel() != 0;
}
inline bool lacks_storage(const at::Tensor& tensor) {
  return tensor.device().type() != c10::DeviceType::Meta &&
         lacks_storage(tensor.const_data_ptr(), *tensor.unsafeGetTensorImpl());
}

/// Makes a tensor whose storage has 0 bytes.
at::Tensor make_without_storage(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType dtype,
                                c10::Device device);

}  // namespace ingot::runtime
