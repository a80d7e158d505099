#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

// The runtime's interface to a GPU. The interface is abstract because libingot must load together with a PyTorch
// without CUDA: libingot_cuda, which implements it, is opened on the first CUDA tensor.

namespace ingot::runtime {

struct Extent {
  uint32_t x, y = 1, z = 1;
};

/// One launch: the addresses of the arguments' values, as cudaLaunchKernel takes them.
struct CudaLaunch {
  const void* kernel;
  Extent grid, block;
  uint32_t shared_bytes;
  void** arguments;
  c10::DeviceIndex device;
};

/// The resources that a kernel uses on a device.
struct KernelResources {
  int registers = 0;         ///< per thread
  int64_t local_bytes = 0;   ///< per thread: spilled registers and arrays
  int64_t shared_bytes = 0;  ///< per block, in addition to a launch's dynamic shared memory
  int max_threads = 0;       ///< the limit per block
  int blocks = 0;            ///< that fit on a multiprocessor at a time
};

class CudaBackend {
 public:
  virtual ~CudaBackend() = default;

  /// The number of GPUs that the driver reports; 0 if there is none.
  virtual int device_count() = 0;
  virtual c10::DeviceIndex current_device() = 0;
  /// The compute capability: 90 for sm_90.
  virtual int architecture(c10::DeviceIndex device) = 0;

  /// Loads the kernels of a cubin, which live as long as the returned pointer. `kernels` receives one handle per entry.
  /// `device`: a device with the cubin's architecture. Errors: Error(Environment).
  virtual std::shared_ptr<const void> load(std::string_view cubin, std::span<const std::string> entries,
                                           c10::DeviceIndex device, std::span<const void*> kernels) = 0;
  /// Loads a kernel in full on a device, so that a later launch there may be captured. A launch may use at most
  /// `shared_bytes` of shared memory. Errors: Error(Environment).
  virtual void load_on(const void* kernel, int64_t shared_bytes, c10::DeviceIndex device) = 0;

  /// The resources of a kernel launched in blocks of `threads` threads, with `shared_bytes` of shared memory. Errors:
  /// Error(Environment).
  virtual KernelResources resources(const void* kernel, int threads, int64_t shared_bytes, c10::DeviceIndex device) = 0;

  /// Allocates from PyTorch's caching allocator, on its current stream.
  virtual at::Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType dtype,
                                   c10::DeviceIndex device) = 0;

  /// Launches on the device's current stream, and leaves the current device unchanged.
  virtual void launch(const CudaLaunch& launch) = 0;

  /// Returns a zeroed int32 in the device's memory, made on its current stream.
  virtual at::Tensor make_status(c10::DeviceIndex device) = 0;
  /// Waits for the current stream and reports its errors; returns the status' value (0 without one). Does nothing while
  /// the stream is being captured.
  virtual int32_t synchronize(c10::DeviceIndex device, const at::Tensor& status) = 0;
};

/// The only backend, opened on the first call. Errors: Error(Environment), with the tried paths.
CudaBackend& cuda_backend();

/// The function that libingot_cuda exports under the name "ingot_cuda_backend".
using CudaBackendFactory = CudaBackend* (*)();
inline constexpr const char* kCudaBackendSymbol = "ingot_cuda_backend";

}  // namespace ingot::runtime
