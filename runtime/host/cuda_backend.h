#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

// What the runtime asks of a GPU. It stands behind an interface because libingot must load where PyTorch has no CUDA:
// libingot_cuda, which implements it, is opened when the first CUDA tensor comes.

namespace ingot::runtime {

struct Extent {
  uint32_t x, y = 1, z = 1;
};

/// One launch, ready: the addresses of the arguments' values, as cudaLaunchKernel takes them.
struct CudaLaunch {
  const void* kernel;
  Extent grid, block;
  uint32_t shared_bytes;
  void** arguments;
  c10::DeviceIndex device;
};

/// What a kernel takes of a device.
struct KernelResources {
  int registers = 0;         ///< a thread
  int64_t local_bytes = 0;   ///< a thread: registers that were spilled, arrays
  int64_t shared_bytes = 0;  ///< a block, beside what a launch asks for
  int max_threads = 0;       ///< a block may have
  int blocks = 0;            ///< that fit on a multiprocessor at a time
};

class CudaBackend {
 public:
  virtual ~CudaBackend() = default;

  /// How many GPUs the driver shows; 0 where there is none.
  virtual int device_count() = 0;
  virtual c10::DeviceIndex current_device() = 0;
  /// 90 for sm_90.
  virtual int architecture(c10::DeviceIndex device) = 0;

  /// The kernels of a cubin, which live as long as the pointer. `loaded` gets one handle an entry. `device` is one that
  /// they are for. Errors: Error(Environment).
  virtual std::shared_ptr<const void> load(std::string_view cubin, std::span<const std::string> entries,
                                           c10::DeviceIndex device, std::span<const void*> loaded) = 0;
  /// Loads a kernel in full on a device, so that a later launch there may be captured; it may be launched with at most
  /// that much shared memory. Errors: Error(Environment).
  virtual void load_on(const void* kernel, int64_t shared_bytes, c10::DeviceIndex device) = 0;

  /// Of a kernel that is launched in blocks of so many threads, with so much shared memory. Errors: Error(Environment).
  virtual KernelResources resources(const void* kernel, int threads, int64_t shared_bytes, c10::DeviceIndex device) = 0;

  /// From PyTorch's caching allocator, on its current stream.
  virtual at::Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType dtype,
                                   c10::DeviceIndex device) = 0;

  /// On the device's current stream; the current device is as before afterwards.
  virtual void launch(const CudaLaunch& launch) = 0;

  /// A zeroed int32 in the device's memory, made on its current stream.
  virtual at::Tensor status(c10::DeviceIndex device) = 0;
  /// Waits for the current stream and reports its errors; gives the status' value (0 without one). Does nothing while
  /// the stream is being captured.
  virtual int32_t synchronize(c10::DeviceIndex device, const at::Tensor& status) = 0;
};

/// The one backend, opened on the first call. Errors: Error(Environment), with what was tried.
CudaBackend& cuda_backend();

/// What libingot_cuda exports under the name "ingot_cuda_backend".
using CudaBackendFactory = CudaBackend* (*)();
inline constexpr const char* kCudaBackendSymbol = "ingot_cuda_backend";

}  // namespace ingot::runtime
