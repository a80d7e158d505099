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

/// What the store keeps of a Launch.
struct LaunchRecord {
  std::vector<codegen::LaunchInfo> kernels;
  std::string library;  ///< under which key the store has the binary
};

/// A binary, loaded. Layouts whose kernels read alike share one, and so do kernels that are compiled together.
struct Library {
  std::shared_ptr<const SharedObject> cpu;
  std::shared_ptr<const void> cuda;
  std::vector<const void*> functions;  ///< CUDA: one for each kernel
};

/// A compiled kernel, loaded: how to pack its arguments and where to find it.
struct Kernel {
  codegen::LaunchInfo info;
  CpuKernel* cpu = nullptr;
  const void* cuda = nullptr;
};

/// The kernels of one program for one layout, target and options.
struct Launch {
  std::vector<Kernel> kernels;  ///< one or two for each of the outline's, in the order in which they run
  std::shared_ptr<const Library> library;
};

/// Which kernels are wanted.
struct LaunchRequest {
  const Program& program;
  codegen::PartitionStrategy strategy = codegen::PartitionStrategy::Shared;
  const std::vector<codegen::KernelLayout>& layouts;
  codegen::Target target;
  codegen::Options options;
  c10::DeviceIndex device = 0;  ///< CUDA: where they will run
  /// Gives the program's graph where it must be generated from; called at most once, only when nothing was found.
  std::function<std::shared_ptr<const ir::Graph>()> graph;
  std::string_view author_text;
  /// Whether a compiler may run; otherwise there is no launch where one would have to.
  bool may_compile = true;
};

/// Values by their keys, for as long as somebody else keeps them.
template <typename T>
class KeptWeakly {
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

/// The kernels of the process: in memory, behind them the store, behind it the compilers. Safe from several threads;
/// those that ask for one launch at once compile it once. Kernels of the CPU are unloaded when the ops that launch them
/// are gone, but for the newest few. Those of a GPU stay: a captured CUDA graph may launch them after its op is gone.
class KernelCache {
 public:
  /// `cuda` gives the GPU, and is asked only for CUDA launches.
  KernelCache(Store& store, AtomicCounters& counters, CudaBackend& (*cuda)() = cuda_backend)
      : store_(store), counters_(counters), cuda_(cuda) {}

  /// The kernels, ready to run on the request's device: a launch there loads nothing more. Null where they would have
  /// to be compiled, and the request rules that out. Errors: Error(Environment) of the compilers and loaders.
  std::shared_ptr<const Launch> get(const LaunchRequest& request);

 private:
  friend class KernelBatch;

  std::shared_ptr<const Launch> find(const std::string& key);
  std::shared_ptr<const Launch> keep(const std::string& key, std::shared_ptr<const Launch> launch);
  /// From the store; null where it has none that loads, which is then made anew and takes its place.
  std::shared_ptr<const Launch> stored(const std::string& key, const LaunchRequest& request);
  std::shared_ptr<const Launch> make(const std::string& key, const LaunchRequest& request);
  std::shared_ptr<const Launch> fly(const std::string& key, const LaunchRequest& request,
                                    const std::function<std::shared_ptr<const Launch>()>& make);
  void load_on_device(const LaunchRequest& request, const Launch& launch);
  /// Of this key, in memory or in the store; null where there is none that loads.
  std::shared_ptr<const Library> library(const std::string& key, const LaunchRequest& request,
                                         const std::vector<codegen::LaunchInfo>& kernels);
  /// Errors: Error(Environment) where it does not load.
  std::shared_ptr<const Library> load(const std::string& key, const std::string& binary, const LaunchRequest& request,
                                      const std::vector<codegen::LaunchInfo>& kernels);
  std::shared_ptr<const Library> remember(const std::string& key, std::shared_ptr<const Library> library);

  Store& store_;
  AtomicCounters& counters_;
  CudaBackend& (*cuda_)();
  SingleFlight<Launch> flights_;
  SingleFlight<Library> library_flights_;
  std::mutex mutex_;
  /// Each under the key of its record, and for each GPU that it was loaded on under that key and the device.
  KeptWeakly<Launch> launches_;
  std::deque<std::shared_ptr<const Launch>> newest_;            ///< of the CPU, whoever uses them
  std::vector<std::shared_ptr<const Launch>> loaded_for_good_;  ///< of GPUs
  KeptWeakly<Library> libraries_;
};

/// Kernels of the CPU that are compiled together: most of what one costs alone is the compiler's start and the prelude.
/// What it has found and made stays loaded as long as the batch. To be used by one thread; who asks `KernelCache` for
/// one of them meanwhile compiles it by itself.
class KernelBatch {
 public:
  explicit KernelBatch(KernelCache& kernels) : kernels_(kernels) {}

  /// Generates what is neither in memory nor in the store. Kernels of a GPU are left to `KernelCache::get`.
  void add(const LaunchRequest& request);
  /// Compiles what was added, some dozens of kernels to a file and a file to a processor at a time.
  /// Errors: Error(Environment), once all that compiles is loaded and kept.
  void compile();

 private:
  struct Member {
    /// All layouts whose kernels read so: their keys, and how each is launched.
    std::vector<std::pair<std::string, std::vector<codegen::LaunchInfo>>> layouts;
    std::string name;
    bool fast_math;
    codegen::Source functions;
  };
  void compile(std::span<const Member> members);
  void keep(const std::string& key, std::shared_ptr<const Launch> launch);

  KernelCache& kernels_;
  std::vector<Member> members_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Launch>> launches_;
  std::unordered_set<std::string> keys_;
  std::unordered_map<std::string, size_t> by_source_;  ///< where the member of a source is
};

/// The source of a request, for `get` and for `emit` alike.
codegen::Source generate_source(const LaunchRequest& request);

}  // namespace ingot::runtime
