#include "runtime/call/without_storage.h"

#include <c10/core/Storage.h>
#include <c10/core/TensorImpl.h>

namespace ingot::runtime {

at::Tensor make_without_storage(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType dtype,
                                c10::Device device) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, device), /*allocator=*/nullptr,
                       /*resizable=*/false);
  const auto key = device.is_cuda()   ? c10::DispatchKey::CUDA
                   : device.is_meta() ? c10::DispatchKey::Meta
                                      : c10::DispatchKey::CPU;
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key),
                                                               c10::scalarTypeToTypeMeta(dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return tensor;
}

}  // namespace ingot::runtime
