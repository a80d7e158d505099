#include "runtime/records/kernel_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "base/error.h"
#include "runtime/api/runtime.h"
#include "runtime/cache/digest.h"
#include "runtime/cache/interrupt.h"
#include "runtime/compile/compiler.h"
#include "runtime/compile/shared_object.h"
#include "runtime/records/serialize.h"

namespace ingot::runtime {

namespace {

/// How many kernels of a batch share a file. With more kernels per file, the cost per kernel hardly falls, and fewer
/// files use fewer processors (docs/performance.md: batched-compilation).
constexpr size_t kKernelsOfAFile = 64;

/// How many CPU launches stay loaded without an op that uses them, for an op that is created anew in a loop.
constexpr size_t kNewestLaunches = 16;

/// The suffix of a batch's function names before they are made unique.
constexpr std::string_view kSuffix = "_of_batch";

codegen::Source renamed(codegen::Source source, const std::string& suffix) {
  for (codegen::LaunchInfo& kernel : source.kernels) {
    const std::string name = kernel.entry;
    kernel.entry = name.substr(0, name.size() - kSuffix.size()) + suffix;
    source.text.replace(source.text.find(" " + name + "(") + 1, name.size(), kernel.entry);
  }
  return source;
}

bool on_cuda(const LaunchRequest& request) { return request.target.kind == codegen::Target::Kind::Cuda; }

/// The compiler, its target and its mode, as part of a key.
std::string compiler_of(const LaunchRequest& request) {
  const std::string compiler = on_cuda(request)
                                   ? fmt::format("cuda sm_{} {}\n", request.target.architecture, Nvrtc::identity())
                                   : fmt::format("cpu {}\n", HostCompiler::identity());
  return compiler + (request.options.fast_math ? "fast\n" : "");
}

/// The key of a request: everything on which the binary depends.
std::string key_of(const LaunchRequest& request) {
  std::string key = fmt::format("ingot {}\n", build_identity()) + compiler_of(request);
  if (request.target.reads_exactly) key += "exact\n";
  if (request.options.check_indices) key += "checked\n";
  if (request.strategy == codegen::PartitionStrategy::Whole) key += "whole\n";
  if (request.strategy == codegen::PartitionStrategy::Passing) key += "passing\n";
  if (request.options.lazy != codegen::Lazy::Auto)
    key += request.options.lazy == codegen::Lazy::Always ? "lazy\n" : "not lazy\n";
  key += fmt::format("{} {}\n", request.program.name, request.program.digest);
  for (const codegen::KernelLayout& layout : request.layouts)
    key += codegen::read_by(request.target, layout).text() + "\n";
  return key;
}

std::string compile(const LaunchRequest& request, const codegen::Source& source) {
  const std::string& name = request.program.name;
  const bool fast = request.options.fast_math;
  return on_cuda(request) ? Nvrtc::compile_cubin(source.text, name + ".cu", request.target.architecture, fast)
                          : HostCompiler::compile(source.text, name + ".cpp", fast);
}

/// Errors: Error(Environment) if the library lacks a function.
std::shared_ptr<const Launch> launch_of(const std::vector<codegen::LaunchInfo>& kernels,
                                        std::shared_ptr<const Library> library) {
  auto launch = std::make_shared<Launch>();
  for (size_t k = 0; k < kernels.size(); ++k) {
    Kernel& kernel = launch->kernels.emplace_back();
    kernel.info = kernels[k];
    if (library->cpu) kernel.cpu = library->cpu->function<CpuKernel>(kernels[k].entry);
    if (library->cuda) kernel.cuda = library->functions.at(k);
  }
  launch->library = std::move(library);
  return launch;
}

}  // namespace

codegen::Source generate_source(const LaunchRequest& request) {
  const std::shared_ptr<const ir::Graph> graph = request.graph();
  return codegen::generate(*graph, codegen::outline(*graph, request.strategy), request.layouts, request.target,
                           request.options, request.author_text);
}

std::shared_ptr<const Launch> KernelCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return launches_.find(key);
}

std::shared_ptr<const Launch> KernelCache::keep(const std::string& key, std::shared_ptr<const Launch> launch) {
  std::shared_ptr<const Launch> outlived;  // destroyed, and so unloaded, after the lock is released
  const std::lock_guard lock(mutex_);
  if (auto present = launches_.find(key)) return present;
  launches_.put(key, launch);
  if (launch->library->cuda) {
    loaded_for_good_.push_back(launch);
  } else {
    newest_.push_back(launch);
    if (newest_.size() > kNewestLaunches) {
      outlived = std::move(newest_.front());
      newest_.pop_front();
    }
  }
  return launch;
}

/// Runs `make` in the key's flight. A request that may compile may join the flight of one that may not, which can end
/// without a launch; the request then tries again.
std::shared_ptr<const Launch> KernelCache::fly(const std::string& key, const LaunchRequest& request,
                                               const std::function<std::shared_ptr<const Launch>()>& make) {
  std::shared_ptr<const Launch> launch;
  do launch = flights_.run(key, make);
  while (!launch && request.may_compile);
  return launch;
}

std::shared_ptr<const Launch> KernelCache::get(const LaunchRequest& request) {
  const std::string key = key_of(request);
  const std::string here = on_cuda(request) ? fmt::format("{}on device {}\n", key, request.device) : key;
  if (auto launch = find(here)) return launch;
  const auto made = [&]() -> std::shared_ptr<const Launch> {
    if (auto launch = find(key)) return launch;  // another thread's flight may have ended between the two look-ups
    auto launch = make(key, request);
    return launch ? keep(key, std::move(launch)) : nullptr;
  };
  if (!on_cuda(request)) return fly(key, request, made);
  return fly(here, request, [&]() -> std::shared_ptr<const Launch> {
    const auto launch = fly(key, request, made);  // once, for the first device that requests it
    if (!launch) return nullptr;
    load_on_device(request, *launch);
    return keep(here, launch);
  });
}

/// Loads the kernels on the device. A cubin's library serves all devices of its architecture; each device loads a
/// kernel at its first use.
void KernelCache::load_on_device(const LaunchRequest& request, const Launch& launch) {
  for (const Kernel& kernel : launch.kernels)
    cuda_().load_on(kernel.cuda, kernel.info.shared.most_bytes(), request.device);
}

std::shared_ptr<const Library> KernelCache::load(const std::string& key, const std::string& binary,
                                                 const LaunchRequest& request,
                                                 const std::vector<codegen::LaunchInfo>& kernels) {
  auto library = std::make_shared<Library>();
  if (on_cuda(request)) {
    std::vector<std::string> entries;
    for (const codegen::LaunchInfo& info : kernels) entries.push_back(info.entry);
    library->functions.resize(entries.size());
    library->cuda = cuda_().load(binary, entries, request.device, library->functions);
    // Loads kernels in full, so that a broken binary is compiled again instead of failing its first launch.
    for (size_t k = 0; k < kernels.size(); ++k)
      cuda_().load_on(library->functions[k], kernels[k].shared.most_bytes(), request.device);
  } else {
    library->cpu = std::make_shared<const SharedObject>(binary, request.program.name);
  }
  AtomicCounters::add(counters_.loads);
  return remember(key, std::move(library));
}

std::shared_ptr<const Library> KernelCache::remember(const std::string& key, std::shared_ptr<const Library> library) {
  const std::lock_guard lock(mutex_);
  libraries_.put(key, library);
  return library;
}

std::shared_ptr<const Library> KernelCache::library(const std::string& key, const LaunchRequest& request,
                                                    const std::vector<codegen::LaunchInfo>& kernels) {
  {
    const std::lock_guard lock(mutex_);
    if (auto library = libraries_.find(key)) return library;
  }
  const std::optional<std::string> binary = store_.find("library", key);
  if (!binary) return nullptr;
  try {
    return load(key, *binary, request, kernels);
  } catch (const Error&) {
    return nullptr;
  }
}

std::shared_ptr<const Launch> KernelCache::stored(const std::string& key, const LaunchRequest& request) {
  const std::optional<std::string> bytes = store_.find("kernel", key);
  const std::optional<LaunchRecord> record = bytes ? from_bytes<LaunchRecord>(*bytes) : std::nullopt;
  if (!record || record->kernels.size() < request.layouts.size()) return nullptr;
  auto loaded = library(record->library, request, record->kernels);
  if (!loaded) return nullptr;
  try {
    auto launch = launch_of(record->kernels, std::move(loaded));
    AtomicCounters::add(counters_.disk_hits);
    return launch;
  } catch (const Error&) {
    return nullptr;
  }
}

std::shared_ptr<const Launch> KernelCache::make(const std::string& key, const LaunchRequest& request) {
  if (auto launch = stored(key, request)) return launch;
  if (!request.may_compile) return nullptr;
  const codegen::Source source = generate_source(request);
  AtomicCounters::add(counters_.plans);
  const std::string of = Digest::of({compiler_of(request), source.text}).hex();
  auto loaded = library_flights_.run(of, [&] {
    if (auto known = library(of, request, source.kernels)) return known;
    const std::string binary = compile(request, source);
    AtomicCounters::add(counters_.compiles);
    auto made = load(of, binary, request, source.kernels);
    store_.publish("library", of, binary);  // after loading: a binary that does not load must not be stored
    return made;
  });
  auto launch = launch_of(source.kernels, std::move(loaded));
  store_.publish("kernel", key, to_bytes(LaunchRecord{source.kernels, of}));
  return launch;
}

void KernelBatch::add(const LaunchRequest& request) {
  if (on_cuda(request)) return;
  std::string key = key_of(request);
  if (!keys_.insert(key).second) return;
  if (auto launch = kernels_.find(key)) return keep(key, std::move(launch));
  if (auto launch = kernels_.stored(key, request)) {
    keep(key, std::move(launch));
    return;
  }
  const std::shared_ptr<const ir::Graph> graph = request.graph();
  codegen::Source functions = codegen::generate_functions(*graph, codegen::outline(*graph, request.strategy),
                                                          request.layouts, request.target, request.options, kSuffix);
  AtomicCounters::add(kernels_.counters_.plans);
  const auto [known, is_new] = by_source_.try_emplace(compiler_of(request) + functions.text, members_.size());
  functions = renamed(std::move(functions), fmt::format("_k{}", known->second));
  if (is_new) members_.push_back({{}, request.program.name, request.options.fast_math, functions});
  members_[known->second].layouts.emplace_back(std::move(key), std::move(functions.kernels));
}

void KernelBatch::keep(const std::string& key, std::shared_ptr<const Launch> launch) {
  auto kept = kernels_.keep(key, std::move(launch));
  const std::lock_guard lock(mutex_);
  launches_.push_back(std::move(kept));
}

void KernelBatch::compile() {
  std::ranges::stable_sort(members_, {}, &Member::fast_math);
  std::vector<std::span<const Member>> files;
  for (size_t begin = 0; begin < members_.size();) {
    size_t end = begin + 1;
    while (end < members_.size() && end - begin < kKernelsOfAFile &&
           members_[end].fast_math == members_[begin].fast_math)
      ++end;
    files.push_back(std::span(members_).subspan(begin, end - begin));
    begin = end;
  }

  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const SharedInterrupt::Flag flag = SharedInterrupt::flag();
  const auto work = [&] {
    const SharedInterrupt shared(flag);
    for (size_t file; (file = next++) < files.size();) {
      try {
        compile(files[file]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> threads;
  while (threads.size() + 1 < std::min<size_t>(files.size(), std::thread::hardware_concurrency()))
    threads.emplace_back(work);
  work();
  threads.clear();
  members_.clear();
  by_source_.clear();
  if (failure) std::rethrow_exception(failure);
}

void KernelBatch::compile(std::span<const Member> members) {
  std::vector<codegen::Source> sources;
  for (const Member& member : members) sources.push_back(member.functions);
  const std::string text = codegen::join(codegen::Target::Kind::Cpu, sources);
  const std::string binary = HostCompiler::compile(text, "kernels.cpp", members[0].fast_math);
  AtomicCounters::add(kernels_.counters_.compiles);

  const std::string key = Digest::of(binary).hex();
  auto loaded = std::make_shared<Library>();
  loaded->cpu = std::make_shared<const SharedObject>(binary, "kernels");
  AtomicCounters::add(kernels_.counters_.loads);
  const std::shared_ptr<const Library> library = kernels_.remember(key, std::move(loaded));
  kernels_.store_.publish("library", key, binary);
  for (const Member& member : members)
    for (const auto& [layout, infos] : member.layouts) {
      keep(layout, launch_of(infos, library));
      kernels_.store_.publish("kernel", layout, to_bytes(LaunchRecord{infos, key}));
    }
}

}  // namespace ingot::runtime
