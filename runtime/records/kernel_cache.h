#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codegen/generate.h"
#include "runtime/cache/single_flight.h"
#include "runtime/cache/store.h"
#include "runtime/host/cpu_parallel.h"
#include "runtime/host/cuda_backend.h"
#include "runtime/records/program.h"

namespace ingot::runtime {

struct AtomicCounters;
class SharedObject;

/// The stored form of a KernelSet.
struct KernelSetRecord {
  std::vector<codegen::LaunchInfo> kernels;
  std::string binary_key;  ///< the key of the record that holds the compiled binary
};

/// A loaded binary: a shared object of the CPU, or a cubin. Layouts with the same kernel source share one, and so do
/// kernels that are compiled together.
struct LoadedBinary {
  std::shared_ptr<const SharedObject> cpu;
  std::shared_ptr<const void> cuda;
  std::vector<const void*> functions;  ///< CUDA: one for each kernel
};

/// A compiled kernel, loaded: how to pack its arguments, and its function.
struct Kernel {
  codegen::LaunchInfo info;
  CpuKernel* cpu = nullptr;
  const void* cuda = nullptr;
};

/// The kernels of one program for one layout, target and options.
struct KernelSet {
  std::vector<Kernel> kernels;  ///< one or two for each kernel of the outline, in launch order
  std::shared_ptr<const LoadedBinary> binary;
};

/// Which kernels a call needs.
struct KernelRequest {
  const Program& program;
  codegen::PartitionStrategy strategy = codegen::PartitionStrategy::Whole;
  const std::vector<codegen::KernelLayout>& layouts;
  codegen::Target target;
  codegen::Options options;
  c10::DeviceIndex device = 0;  ///< CUDA: the device on which the kernels will run
  /// Returns the program's graph, for generation; called at most once, only when no cache has the kernels.
  std::function<std::shared_ptr<const ir::Graph>()> graph;
  std::string_view op_source;
  /// Whether a compiler may run; otherwise `get` returns null if one would have to.
  bool may_compile = true;
};

/// A map that does not own its values: a value is found as long as another owner keeps it alive.
template <typename T>
class WeakMap {
 public:
  std::shared_ptr<const T> find(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : found->second.lock();
  }
  void put(const std::string& key, const std::shared_ptr<const T>& value) {
    values_[key] = value;
    if (values_.size() < sweep_at_) return;
    std::erase_if(values_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = 2 * values_.size() + 64;
  }

 private:
  std::unordered_map<std::string, std::weak_ptr<const T>> values_;
  size_t sweep_at_ = 64;
};

/// The kernels of the process: a memory cache, then the store, then the compilers. Safe from several threads;
/// simultaneous requests for one kernel set compile it once. CPU kernels are unloaded when the ops that launch them are
/// gone, except the newest few. GPU kernels stay loaded: a captured CUDA graph may launch them after its op is gone.
class KernelCache {
 public:
  /// `cuda` returns the GPU, and is called only for CUDA kernels.
  KernelCache(Store& store, AtomicCounters& counters, CudaBackend& (*cuda)() = cuda_backend)
      : store_(store), counters_(counters), cuda_(cuda) {}

  /// Returns the kernels, ready on the request's device: a launch there loads nothing more. Null if they would have to
  /// be compiled, and the request forbids that. Errors: Error(Environment) of the compilers and loaders.
  std::shared_ptr<const KernelSet> get(const KernelRequest& request);

 private:
  friend class KernelBatch;

  std::shared_ptr<const KernelSet> find(const std::string& key);
  std::shared_ptr<const KernelSet> insert(const std::string& key, std::shared_ptr<const KernelSet> kernel_set);
  /// Loads a kernel set from the store. Null if the store has none that loads; the new kernel set then replaces the
  /// record.
  std::shared_ptr<const KernelSet> find_on_disk(const std::string& key, const KernelRequest& request);
  std::shared_ptr<const KernelSet> make(const std::string& key, const KernelRequest& request);
  std::shared_ptr<const KernelSet> run_in_flight(const std::string& key, const KernelRequest& request,
                                                 const std::function<std::shared_ptr<const KernelSet>()>& make);
  void load_on_device(const KernelRequest& request, const KernelSet& kernel_set);
  /// Returns the loaded binary of this key, from memory or the store; null if there is none that loads.
  std::shared_ptr<const LoadedBinary> find_binary(const std::string& key, const KernelRequest& request,
                                                  const std::vector<codegen::LaunchInfo>& kernels);
  /// Loads the bytes of a compiled binary. Errors: Error(Environment) if they do not load.
  std::shared_ptr<const LoadedBinary> load(const std::string& key, const std::string& bytes,
                                           const KernelRequest& request,
                                           const std::vector<codegen::LaunchInfo>& kernels);
  std::shared_ptr<const LoadedBinary> insert_binary(const std::string& key, std::shared_ptr<const LoadedBinary> loaded);

  Store& store_;
  AtomicCounters& counters_;
  CudaBackend& (*cuda_)();
  SingleFlight<KernelSet> flights_;
  SingleFlight<LoadedBinary> binary_flights_;
  std::mutex mutex_;
  /// By the key of the `kernel` record. A kernel set of a GPU is stored once more for each device on which it was
  /// loaded, with the device in the key.
  WeakMap<KernelSet> kernel_sets_;
  std::deque<std::shared_ptr<const KernelSet>> newest_;           ///< of the CPU, whether or not an op uses them
  std::vector<std::shared_ptr<const KernelSet>> never_unloaded_;  ///< of GPUs
  WeakMap<LoadedBinary> binaries_;
};

/// CPU kernels that are compiled together: most of the cost of one kernel alone is the compiler's start and the
/// prelude. The kernel sets that the batch finds and makes stay loaded as long as the batch. Use a batch from one
/// thread only; a request to `KernelCache` for one of its kernels compiles that kernel separately.
class KernelBatch {
 public:
  explicit KernelBatch(KernelCache& kernels) : kernels_(kernels) {}

  /// Generates the source of a kernel that is neither in memory nor in the store. GPU kernels are left to
  /// `KernelCache::get`.
  void add(const KernelRequest& request);
  /// Compiles the added kernels, some dozens per file and one file per processor at a time.
  /// Errors: Error(Environment), once all kernels that compile are loaded and stored.
  void compile();

 private:
  /// A source, with the requests that need it.
  struct Member {
    /// For each request, its key and how to launch its kernels.
    std::vector<std::pair<std::string, std::vector<codegen::LaunchInfo>>> requests;
    std::string name;
    bool fast_math;
    codegen::Source functions;
  };
  void compile(std::span<const Member> members);
  /// Keeps the kernels loaded as long as the batch. `key`: the request's.
  void hold(const std::string& key, std::shared_ptr<const KernelSet> kernel_set);

  KernelCache& kernels_;
  std::vector<Member> members_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const KernelSet>> kernel_sets_;
  std::unordered_set<std::string> keys_;
  std::unordered_map<std::string, size_t> member_of_source_;  ///< index of the member with a source
};

}  // namespace ingot::runtime
