#pragma once

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

struct Tally;
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
  codegen::Cut cut = codegen::Cut::Shared;
  const std::vector<codegen::KernelLayout>& layouts;
  codegen::Target target;
  codegen::Options options;
  c10::DeviceIndex device = 0;  ///< CUDA: where they will run
  /// Gives the program's graph where it must be generated from; called at most once, only when nothing was found.
  std::function<std::shared_ptr<const ir::Graph>()> graph;
  std::string_view author_text;
};

/// The kernels of the process: in memory, behind them the store, behind it the compilers. Safe from several threads;
/// those that ask for one launch at once compile it once.
class KernelCache {
 public:
  /// `cuda` gives the GPU, and is asked only for CUDA launches.
  KernelCache(Store& store, Tally& tally, CudaBackend& (*cuda)() = cuda_backend)
      : store_(store), tally_(tally), cuda_(cuda) {}

  /// The kernels, ready to run on the request's device: a launch there loads nothing more. Errors: Error(Environment)
  /// of the compilers and loaders.
  std::shared_ptr<const Launch> get(const LaunchRequest& request);

 private:
  friend class KernelBatch;

  std::shared_ptr<const Launch> find(const std::string& key);
  std::shared_ptr<const Launch> keep(const std::string& key, std::shared_ptr<const Launch> launch);
  /// From the store; null where it has none that loads, which is then made anew and takes its place.
  std::shared_ptr<const Launch> stored(const std::string& key, const LaunchRequest& request);
  std::shared_ptr<const Launch> make(const std::string& key, const LaunchRequest& request);
  void load_on_device(const LaunchRequest& request, const Launch& launch);
  /// Of this key, in memory or in the store; null where there is none that loads.
  std::shared_ptr<const Library> library(const std::string& key, const LaunchRequest& request,
                                         const std::vector<codegen::LaunchInfo>& kernels);
  /// Errors: Error(Environment) where it does not load.
  std::shared_ptr<const Library> load(const std::string& key, const std::string& binary, const LaunchRequest& request,
                                      const std::vector<codegen::LaunchInfo>& kernels);
  std::shared_ptr<const Library> remember(const std::string& key, std::shared_ptr<const Library> library);

  Store& store_;
  Tally& tally_;
  CudaBackend& (*cuda_)();
  SingleFlight<Launch> flights_;
  SingleFlight<Library> library_flights_;
  std::mutex mutex_;
  /// Each under the key of its record, and for each GPU that it was loaded on under that key and the device.
  std::unordered_map<std::string, std::shared_ptr<const Launch>> launches_;
  std::unordered_map<std::string, std::weak_ptr<const Library>> libraries_;
};

/// Kernels of the CPU that are compiled together: most of what one costs alone is the compiler's start and the prelude.
/// To be used by one thread; who asks `KernelCache` for one of them meanwhile compiles it by itself.
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

  KernelCache& kernels_;
  std::vector<Member> members_;
  std::unordered_set<std::string> keys_;
  std::unordered_map<std::string, size_t> by_source_;  ///< where the member of a source is
};

/// The source of a request, for `get` and for `emit` alike.
codegen::Source generate_source(const LaunchRequest& request);

}  // namespace ingot::runtime
