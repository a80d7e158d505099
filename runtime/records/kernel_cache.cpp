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
constexpr size_t kKernelsPerFile = 64;

/// How many CPU kernel sets stay loaded without an op that uses them, for an op that is created anew in a loop.
constexpr size_t kNewestKernelSets = 16;

/// The kind of a record of a compiled binary.
constexpr std::string_view kBinaryRecord = "library";

/// The suffix of a batch's function names before they are made unique.
constexpr std::string_view kSuffix = "_of_batch";

/// Replaces kSuffix by `suffix` in the names of all kernels.
codegen::Source with_suffix(codegen::Source source, const std::string& suffix) {
  for (codegen::LaunchInfo& kernel : source.kernels) {
    const std::string name = kernel.entry;
    kernel.entry = name.substr(0, name.size() - kSuffix.size()) + suffix;
    source.text.replace(source.text.find(" " + name + "(") + 1, name.size(), kernel.entry);
  }
  return source;
}

bool on_cuda(const KernelRequest& request) { return request.target.kind == codegen::Target::Kind::Cuda; }

/// The compiler, its target and its mode, as part of a key.
std::string compiler_of(const KernelRequest& request) {
  const std::string compiler = on_cuda(request)
                                   ? fmt::format("cuda sm_{} {}\n", request.target.architecture, Nvrtc::identity())
                                   : fmt::format("cpu {}\n", HostCompiler::identity());
  return compiler + (request.options.fast_math ? "fast\n" : "");
}

/// The key of a request: everything on which the binary depends.
std::string key_of(const KernelRequest& request) {
  std::string key = fmt::format("ingot {}\n", build_identity()) + compiler_of(request);
  if (request.target.never_reads_past_end) key += "exact\n";
  if (request.options.check_indices) key += "checked\n";
  if (request.strategy == codegen::PartitionStrategy::StoresApart) key += "stores apart\n";
  if (request.strategy == codegen::PartitionStrategy::PerPhase) key += "per phase\n";
  if (request.strategy == codegen::PartitionStrategy::FusedColumns) key += "fused columns\n";
  if (request.options.lazy != codegen::Lazy::Auto)
    key += request.options.lazy == codegen::Lazy::Always ? "lazy\n" : "not lazy\n";
  key += fmt::format("{} {}\n", request.program.name, request.program.digest);
  for (const codegen::KernelLayout& layout : request.layouts)
    key += codegen::relevant_to(request.target, layout).text() + "\n";
  return key;
}

std::string compile(const KernelRequest& request, const codegen::Source& source) {
  const std::string& name = request.program.name;
  const bool fast = request.options.fast_math;
  return on_cuda(request) ? Nvrtc::compile_cubin(source.text, name + ".cu", request.target.architecture, fast)
                          : HostCompiler::compile(source.text, name + ".cpp", fast);
}

/// Errors: Error(Internal) if the binary lacks a function.
std::shared_ptr<const KernelSet> kernel_set_of(const std::vector<codegen::LaunchInfo>& kernels,
                                               std::shared_ptr<const LoadedBinary> binary) {
  auto kernel_set = std::make_shared<KernelSet>();
  for (size_t k = 0; k < kernels.size(); ++k) {
    Kernel& kernel = kernel_set->kernels.emplace_back();
    kernel.info = kernels[k];
    if (binary->cpu) kernel.cpu = binary->cpu->function<CpuKernel>(kernels[k].entry);
    if (binary->cuda) kernel.cuda = binary->functions.at(k);
  }
  kernel_set->binary = std::move(binary);
  return kernel_set;
}

codegen::Source generate_source(const KernelRequest& request) {
  const codegen::Partition made = codegen::partition(*request.graph(), request.strategy);
  return codegen::generate(made.graph, made.outline, request.layouts, request.target, request.options,
                           request.op_source);
}

}  // namespace

std::shared_ptr<const KernelSet> KernelCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return kernel_sets_.find(key);
}

std::shared_ptr<const KernelSet> KernelCache::insert(const std::string& key,
                                                     std::shared_ptr<const KernelSet> kernel_set) {
  std::shared_ptr<const KernelSet> evicted;  // destroyed, and so unloaded, after the lock is released
  const std::lock_guard lock(mutex_);
  if (auto present = kernel_sets_.find(key)) return present;
  kernel_sets_.put(key, kernel_set);
  if (kernel_set->binary->cuda) {
    never_unloaded_.push_back(kernel_set);
  } else {
    newest_.push_back(kernel_set);
    if (newest_.size() > kNewestKernelSets) {
      evicted = std::move(newest_.front());
      newest_.pop_front();
    }
  }
  return kernel_set;
}

/// Runs `make` in the key's flight. A request that may compile may join the flight of one that may not, which can end
/// without a kernel set; the request then tries again.
std::shared_ptr<const KernelSet> KernelCache::run_in_flight(
    const std::string& key, const KernelRequest& request,
    const std::function<std::shared_ptr<const KernelSet>()>& make) {
  std::shared_ptr<const KernelSet> kernel_set;
  do kernel_set = flights_.run(key, make);
  while (!kernel_set && request.may_compile);
  return kernel_set;
}

std::shared_ptr<const KernelSet> KernelCache::get(const KernelRequest& request) {
  const std::string key = key_of(request);
  const std::string device_key = on_cuda(request) ? fmt::format("{}on device {}\n", key, request.device) : key;
  if (auto kernel_set = find(device_key)) return kernel_set;
  const auto find_or_make = [&]() -> std::shared_ptr<const KernelSet> {
    // Another thread's flight may have ended between the two look-ups.
    if (auto kernel_set = find(key)) return kernel_set;
    auto kernel_set = make(key, request);
    return kernel_set ? insert(key, std::move(kernel_set)) : nullptr;
  };
  if (!on_cuda(request)) return run_in_flight(key, request, find_or_make);
  return run_in_flight(device_key, request, [&]() -> std::shared_ptr<const KernelSet> {
    const auto kernel_set = run_in_flight(key, request, find_or_make);  // once, for the first device that requests it
    if (!kernel_set) return nullptr;
    load_on_device(request, *kernel_set);
    return insert(device_key, kernel_set);
  });
}

/// Loads the kernels on the device. A loaded cubin serves all devices of its architecture; each device loads a
/// kernel at its first use.
void KernelCache::load_on_device(const KernelRequest& request, const KernelSet& kernel_set) {
  for (const Kernel& kernel : kernel_set.kernels)
    cuda_().load_on(kernel.cuda, kernel.info.shared.most_bytes(), request.device);
}

std::shared_ptr<const LoadedBinary> KernelCache::load(const std::string& key, const std::string& bytes,
                                                      const KernelRequest& request,
                                                      const std::vector<codegen::LaunchInfo>& kernels) {
  auto loaded = std::make_shared<LoadedBinary>();
  if (on_cuda(request)) {
    std::vector<std::string> entries;
    for (const codegen::LaunchInfo& info : kernels) entries.push_back(info.entry);
    loaded->functions.resize(entries.size());
    loaded->cuda = cuda_().load(bytes, entries, request.device, loaded->functions);
    // Loads kernels in full, so that a broken binary is compiled again instead of failing its first launch.
    for (size_t k = 0; k < kernels.size(); ++k)
      cuda_().load_on(loaded->functions[k], kernels[k].shared.most_bytes(), request.device);
  } else {
    loaded->cpu = std::make_shared<const SharedObject>(bytes, request.program.name);
  }
  AtomicCounters::add(counters_.loads);
  return insert_binary(key, std::move(loaded));
}

std::shared_ptr<const LoadedBinary> KernelCache::insert_binary(const std::string& key,
                                                               std::shared_ptr<const LoadedBinary> loaded) {
  const std::lock_guard lock(mutex_);
  binaries_.put(key, loaded);
  return loaded;
}

std::shared_ptr<const LoadedBinary> KernelCache::find_binary(const std::string& key, const KernelRequest& request,
                                                             const std::vector<codegen::LaunchInfo>& kernels) {
  {
    const std::lock_guard lock(mutex_);
    if (auto loaded = binaries_.find(key)) return loaded;
  }
  const std::optional<std::string> bytes = store_.find(kBinaryRecord, key);
  if (!bytes) return nullptr;
  try {
    return load(key, *bytes, request, kernels);
  } catch (const Error&) {
    return nullptr;
  }
}

std::shared_ptr<const KernelSet> KernelCache::find_on_disk(const std::string& key, const KernelRequest& request) {
  const std::optional<std::string> bytes = store_.find("kernel", key);
  const std::optional<KernelSetRecord> record = bytes ? from_bytes<KernelSetRecord>(*bytes) : std::nullopt;
  if (!record || record->kernels.size() < request.layouts.size()) return nullptr;
  auto loaded = find_binary(record->binary_key, request, record->kernels);
  if (!loaded) return nullptr;
  try {
    auto kernel_set = kernel_set_of(record->kernels, std::move(loaded));
    AtomicCounters::add(counters_.disk_hits);
    return kernel_set;
  } catch (const Error&) {
    return nullptr;
  }
}

std::shared_ptr<const KernelSet> KernelCache::make(const std::string& key, const KernelRequest& request) {
  if (auto kernel_set = find_on_disk(key, request)) return kernel_set;
  if (!request.may_compile) return nullptr;
  const codegen::Source source = generate_source(request);
  AtomicCounters::add(counters_.plans);
  const std::string binary_key = Digest::of({compiler_of(request), source.text}).hex();
  auto loaded = binary_flights_.run(binary_key, [&] {
    if (auto present = find_binary(binary_key, request, source.kernels)) return present;
    const std::string bytes = compile(request, source);
    AtomicCounters::add(counters_.compiles);
    auto compiled = load(binary_key, bytes, request, source.kernels);
    store_.publish(kBinaryRecord, binary_key, bytes);  // after loading: a binary that does not load must not be stored
    return compiled;
  });
  auto kernel_set = kernel_set_of(source.kernels, std::move(loaded));
  store_.publish("kernel", key, to_bytes(KernelSetRecord{source.kernels, binary_key}));
  return kernel_set;
}

void KernelBatch::add(const KernelRequest& request) {
  if (on_cuda(request)) return;
  std::string key = key_of(request);
  if (!keys_.insert(key).second) return;
  if (auto kernel_set = kernels_.find(key)) return hold(key, std::move(kernel_set));
  if (auto kernel_set = kernels_.find_on_disk(key, request)) {
    hold(key, std::move(kernel_set));
    return;
  }
  const codegen::Partition made = codegen::partition(*request.graph(), request.strategy);
  codegen::Source functions =
      codegen::generate_functions(made.graph, made.outline, request.layouts, request.target, request.options, kSuffix);
  AtomicCounters::add(kernels_.counters_.plans);
  const auto [member, is_new] = member_of_source_.try_emplace(compiler_of(request) + functions.text, members_.size());
  functions = with_suffix(std::move(functions), fmt::format("_k{}", member->second));
  if (is_new) members_.push_back({{}, request.program.name, request.options.fast_math, functions});
  members_[member->second].requests.emplace_back(std::move(key), std::move(functions.kernels));
}

void KernelBatch::hold(const std::string& key, std::shared_ptr<const KernelSet> kernel_set) {
  auto shared = kernels_.insert(key, std::move(kernel_set));
  const std::lock_guard lock(mutex_);
  kernel_sets_.push_back(std::move(shared));
}

void KernelBatch::compile() {
  std::ranges::stable_sort(members_, {}, &Member::fast_math);
  std::vector<std::span<const Member>> files;
  for (size_t begin = 0; begin < members_.size();) {
    size_t end = begin + 1;
    while (end < members_.size() && end - begin < kKernelsPerFile &&
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
  member_of_source_.clear();
  if (failure) std::rethrow_exception(failure);
}

void KernelBatch::compile(std::span<const Member> members) {
  std::vector<codegen::Source> sources;
  for (const Member& member : members) sources.push_back(member.functions);
  const std::string text = codegen::join(codegen::Target::Kind::Cpu, sources);
  const std::string bytes = HostCompiler::compile(text, "kernels.cpp", members[0].fast_math);
  AtomicCounters::add(kernels_.counters_.compiles);

  const std::string binary_key = Digest::of(bytes).hex();
  auto loaded = std::make_shared<LoadedBinary>();
  loaded->cpu = std::make_shared<const SharedObject>(bytes, "kernels");
  AtomicCounters::add(kernels_.counters_.loads);
  const std::shared_ptr<const LoadedBinary> binary = kernels_.insert_binary(binary_key, std::move(loaded));
  kernels_.store_.publish(kBinaryRecord, binary_key, bytes);
  for (const Member& member : members)
    for (const auto& [key, infos] : member.requests) {
      hold(key, kernel_set_of(infos, binary));
      kernels_.store_.publish("kernel", key, to_bytes(KernelSetRecord{infos, binary_key}));
    }
}

}  // namespace ingot::runtime
