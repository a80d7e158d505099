#include "runtime/host/cuda_backend.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <mutex>

#include "base/error.h"

namespace ingot::runtime {

namespace {

CudaBackend* open_backend() {
  Dl_info self{};
  dladdr(reinterpret_cast<const void*>(&cuda_backend), &self);
  const std::filesystem::path path = std::filesystem::path(self.dli_fname).parent_path() / "libingot_cuda.so";
  if (!std::filesystem::exists(path))
    throw_environment(
        fmt::format("this build of Ingot has no CUDA: there is no {}; build it with a PyTorch that has "
                    "CUDA and with -DINGOT_CUDA=ON, or move the tensors to the CPU",
                    path.string()));
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw_environment(fmt::format("Ingot's CUDA part, {}, cannot be loaded", path.string()), dlerror());
  const auto factory = reinterpret_cast<CudaBackendFactory>(dlsym(library, kCudaBackendSymbol));
  if (factory == nullptr) throw_environment(fmt::format("{} belongs to another version of Ingot", path.string()));
  return factory();
}

}  // namespace

CudaBackend& cuda_backend() {
  static std::atomic<CudaBackend*> backend = nullptr;
  if (CudaBackend* opened = backend.load(std::memory_order_acquire)) return *opened;
  static std::mutex mutex;  // a failure is retried, so this is not a static initialiser
  const std::lock_guard lock(mutex);
  if (backend.load() == nullptr) backend.store(open_backend(), std::memory_order_release);
  return *backend.load();
}

}  // namespace ingot::runtime
