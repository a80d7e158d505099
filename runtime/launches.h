#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/emit.h"
#include "runtime/backend.h"
#include "runtime/cache/single_flight.h"
#include "runtime/cache/store.h"
#include "runtime/cpu_parallel.h"
#include "runtime/program.h"

namespace ingot::runtime {

struct Tally;
class SharedObject;

/// A compiled kernel, loaded: how to pack its arguments and where to find it.
struct Kernel {
  codegen::LaunchInfo info;
  CpuKernel* cpu = nullptr;
  const void* cuda = nullptr;
};

/// The kernels of one program for one layout, target and options.
struct Launch {
  std::vector<Kernel> kernels;  ///< one for each of the outline's
  std::shared_ptr<const void> library;
};

/// Which kernels are wanted.
struct LaunchRequest {
  const Program& program;
  const std::vector<codegen::KernelLayout>& layouts;
  codegen::Target target;
  codegen::Options options;
  c10::DeviceIndex device = 0;  ///< CUDA: where they will run first
  /// Gives the program's graph where it must be generated from; called at most once, only when nothing was found.
  std::function<std::shared_ptr<const ir::Graph>()> graph;
  std::string_view author_text;
};

/// The kernels of the process: in memory, behind them the store, behind it the compilers. Safe from several threads;
/// those that ask for one launch at once compile it once.
class Launches {
 public:
  Launches(Store& store, Tally& tally) : store_(store), tally_(tally) {}

  /// Errors: Error(Environment) of the compilers and loaders.
  std::shared_ptr<const Launch> get(const LaunchRequest& request);

 private:
  friend class LaunchBatch;
  struct Record;

  std::shared_ptr<const Launch> find(const std::string& key);
  std::shared_ptr<const Launch> keep(const std::string& key, std::shared_ptr<const Launch> launch);
  /// From the store; null where it has none.
  std::shared_ptr<const Launch> stored(const std::string& key, const LaunchRequest& request);
  std::shared_ptr<const Launch> make(const std::string& key, const LaunchRequest& request);
  /// A library that holds the kernels of several records; null where neither the process nor the store has it.
  std::shared_ptr<const SharedObject> shared_library(const std::string& key);

  Store& store_;
  Tally& tally_;
  SingleFlight<Launch> flights_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Launch>> launches_;
  std::unordered_map<std::string, std::weak_ptr<const SharedObject>> libraries_;  ///< those of several records
};

/// Kernels of the CPU that are compiled together: most of what one costs alone is the compiler's start and the prelude.
/// To be used by one thread; who asks `Launches` for one of them meanwhile compiles it by itself.
class LaunchBatch {
 public:
  explicit LaunchBatch(Launches& launches) : launches_(launches) {}

  /// Generates what is neither in memory nor in the store. Kernels of a GPU are left to `Launches::get`.
  void add(const LaunchRequest& request);
  /// Compiles what was added, some dozens of kernels to a file and a file to a processor at a time.
  /// Errors: Error(Environment), once all that compiles is loaded and kept.
  void compile();

 private:
  struct Member {
    std::string key, name;
    bool fast_math;
    codegen::Source functions;
  };
  void compile(std::span<const Member> members);

  Launches& launches_;
  std::vector<Member> members_;
  std::unordered_set<std::string> keys_;
};

/// The source of a request, for `get` and for `emit` alike.
codegen::Source generate_source(const LaunchRequest& request);

}  // namespace ingot::runtime
