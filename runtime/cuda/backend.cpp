#include <ATen/cuda/EmptyTensor.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <atomic>

#include "base/error.h"
#include "runtime/host/cuda_backend.h"

// Implements libingot's GPU interface: the only file that calls the CUDA runtime. Cubins are loaded as libraries, which
// belong to no context and serve all devices of their architecture, so nothing here links libcuda.

namespace ingot::runtime {

namespace {

void check(cudaError_t error, const char* action) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clears the error, or a later unrelated call would report it
  throw_environment(fmt::format("CUDA failed {}: {} ({})", action, cudaGetErrorString(error), cudaGetErrorName(error)));
}

constexpr size_t kMaxDevices = 64;

/// A loaded cubin, unloaded with its kernel set. The process's kernel cache is never destroyed.
class LoadedCubin {
 public:
  explicit LoadedCubin(std::string_view cubin) {
    check(cudaLibraryLoadData(&library_, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "loading a kernel");
  }
  ~LoadedCubin() { cudaLibraryUnload(library_); }
  LoadedCubin(const LoadedCubin&) = delete;
  LoadedCubin& operator=(const LoadedCubin&) = delete;

  const void* kernel(const std::string& entry) const {
    cudaKernel_t kernel = nullptr;
    check(cudaLibraryGetKernel(&kernel, library_, entry.c_str()), "finding a kernel");
    return reinterpret_cast<const void*>(kernel);
  }

 private:
  cudaLibrary_t library_ = nullptr;
};

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus state = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &state), "querying a stream");
  return state != cudaStreamCaptureStatusNone;
}

class Backend final : public CudaBackend {
 public:
  int device_count() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    cudaGetLastError();
    return 0;
  }

  c10::DeviceIndex current_device() override { return c10::cuda::current_device(); }

  int architecture(c10::DeviceIndex device) override {
    std::atomic<int>& cached = architectures_.at(static_cast<size_t>(device));
    if (const int architecture = cached.load(std::memory_order_relaxed)) return architecture;
    int major = 0, minor = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "querying an architecture");
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "querying an architecture");
    cached.store(10 * major + minor, std::memory_order_relaxed);
    return 10 * major + minor;
  }

  std::shared_ptr<const void> load(std::string_view cubin, std::span<const std::string> entries,
                                   c10::DeviceIndex device, std::span<const void*> kernels) override {
    const c10::cuda::CUDAGuard guard(device);
    const auto loaded_cubin = std::make_shared<const LoadedCubin>(cubin);
    for (size_t i = 0; i < entries.size(); ++i) kernels[i] = loaded_cubin->kernel(entries[i]);
    return loaded_cubin;
  }

  void load_on(const void* kernel, int64_t shared_bytes, c10::DeviceIndex device) override {
    const c10::cuda::CUDAGuard guard(device);
    cudaFuncAttributes attributes;  // the query loads the kernel for this device
    check(cudaFuncGetAttributes(&attributes, kernel), "loading a kernel");
    if (shared_bytes == 0) return;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
          "requesting shared memory");
  }

  KernelResources resources(const void* kernel, int threads, int64_t shared_bytes, c10::DeviceIndex device) override {
    const c10::cuda::CUDAGuard guard(device);
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel), "querying a kernel");
    KernelResources resources{attributes.numRegs, static_cast<int64_t>(attributes.localSizeBytes),
                              static_cast<int64_t>(attributes.sharedSizeBytes), attributes.maxThreadsPerBlock, 0};
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resources.blocks, kernel, threads,
                                                        static_cast<size_t>(shared_bytes)),
          "querying the occupancy of a kernel");
    return resources;
  }

  at::Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType dtype,
                           c10::DeviceIndex device) override {
    return at::Tensor(
        at::detail::empty_strided_cuda(sizes, strides, dtype, c10::Device(c10::DeviceType::CUDA, device)));
  }

  void launch(const CudaLaunch& launch) override {
    const c10::cuda::OptionalCUDAGuard guard(device_to_switch_to(launch.device));
    check(cudaLaunchKernel(launch.kernel, dim3(launch.grid.x, launch.grid.y, launch.grid.z),
                           dim3(launch.block.x, launch.block.y, launch.block.z), launch.arguments, launch.shared_bytes,
                           c10::cuda::getCurrentCUDAStream(launch.device).stream()),
          "launching a kernel");
  }

  at::Tensor make_status(c10::DeviceIndex device) override {
    const c10::cuda::CUDAGuard guard(device);
    at::Tensor status = empty_strided({1}, {1}, c10::ScalarType::Int, device);
    check(cudaMemsetAsync(status.mutable_data_ptr(), 0, sizeof(int32_t),
                          c10::cuda::getCurrentCUDAStream(device).stream()),
          "clearing a status");
    return status;
  }

  int32_t synchronize(c10::DeviceIndex device, const at::Tensor& status) override {
    const c10::cuda::CUDAGuard guard(device);
    cudaStream_t stream = c10::cuda::getCurrentCUDAStream(device).stream();
    if (is_capturing(stream)) return 0;
    int32_t value = 0;
    if (status.defined())
      check(cudaMemcpyAsync(&value, status.const_data_ptr(), sizeof(value), cudaMemcpyDeviceToHost, stream),
            "reading a status");
    check(cudaStreamSynchronize(stream), "running a kernel");
    return value;
  }

 private:
  /// Empty if the device is the current one, so that such a call needs no guard.
  static std::optional<c10::Device> device_to_switch_to(c10::DeviceIndex device) {
    if (c10::cuda::current_device() == device) return std::nullopt;
    return c10::Device(c10::DeviceType::CUDA, device);
  }

  std::array<std::atomic<int>, kMaxDevices> architectures_{};
};

}  // namespace

}  // namespace ingot::runtime

extern "C" __attribute__((visibility("default"))) ingot::runtime::CudaBackend* ingot_cuda_backend() {
  static ingot::runtime::Backend& backend = *new ingot::runtime::Backend;
  return &backend;
}
