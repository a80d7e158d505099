#include "runtime/records/kernel_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "base/error.h"
#include "runtime/api/runtime.h"
#include "runtime/cache/fingerprint.h"
#include "runtime/compile/compiler.h"
#include "runtime/compile/shared_object.h"
#include "runtime/records/serialize.h"

namespace ingot::runtime {

namespace {

/// How many kernels of a batch share a file: more cost hardly less each, and fewer files keep fewer processors busy.
constexpr size_t kKernelsOfAFile = 64;

/// What stands behind the names of a batch's functions before they are told apart.
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

/// Who compiles, and for what.
std::string compiler_of(const LaunchRequest& request) {
  const std::string compiler = on_cuda(request)
                                   ? fmt::format("cuda sm_{} {}\n", request.target.architecture, Nvrtc::identity())
                                   : fmt::format("cpu {}\n", HostCompiler::identity());
  return compiler + (request.options.fast_math ? "fast\n" : "");
}

/// Everything that shapes the binary.
std::string key_of(const LaunchRequest& request) {
  std::string key = fmt::format("ingot {}\n", build_identity()) + compiler_of(request);
  if (request.options.check_indices) key += "checked\n";
  key += fmt::format("{} {}\n", request.program.name, request.program.digest);
  for (const codegen::KernelLayout& layout : request.layouts) key += layout.text() + "\n";
  return key;
}

std::string compile(const LaunchRequest& request, const codegen::Source& source) {
  const std::string& name = request.program.name;
  const bool fast = request.options.fast_math;
  return on_cuda(request) ? Nvrtc::compile_cubin(source.text, name + ".cu", request.target.architecture, fast)
                          : HostCompiler::compile(source.text, name + ".cpp", fast);
}

std::shared_ptr<const Launch> load_cpu(const std::vector<codegen::LaunchInfo>& kernels,
                                       std::shared_ptr<const SharedObject> library) {
  auto launch = std::make_shared<Launch>();
  for (const codegen::LaunchInfo& info : kernels)
    launch->kernels.push_back({.info = info, .cpu = library->function<CpuKernel>(info.entry), .cuda = nullptr});
  launch->library = std::move(library);
  return launch;
}

}  // namespace

codegen::Source generate_source(const LaunchRequest& request) {
  const std::shared_ptr<const ir::Graph> graph = request.graph();
  return codegen::generate(*graph, codegen::outline(*graph), request.layouts, request.target, request.options,
                           request.author_text);
}

std::shared_ptr<const Launch> KernelCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = launches_.find(key);
  return found == launches_.end() ? nullptr : found->second;
}

std::shared_ptr<const Launch> KernelCache::keep(const std::string& key, std::shared_ptr<const Launch> launch) {
  const std::lock_guard lock(mutex_);
  return launches_.emplace(key, std::move(launch)).first->second;
}

std::shared_ptr<const Launch> KernelCache::get(const LaunchRequest& request) {
  const std::string key = key_of(request);
  const std::string here = on_cuda(request) ? fmt::format("{}on device {}\n", key, request.device) : key;
  if (auto launch = find(here)) return launch;
  const auto made = [&] {
    if (auto launch = find(key)) return launch;  // another thread's flight landed between the two looks
    return keep(key, make(key, request));
  };
  if (!on_cuda(request)) return flights_.run(key, made);
  return flights_.run(here, [&] {
    const auto launch = flights_.run(key, made);  // once, for whichever device asks first
    load_on_device(request, *launch);
    return keep(here, launch);
  });
}

std::shared_ptr<const Launch> KernelCache::load(const LaunchRequest& request, const LaunchRecord& record) {
  if (!on_cuda(request))
    return load_cpu(record.kernels, record.library.empty()
                                        ? std::make_shared<const SharedObject>(record.binary, request.program.name)
                                        : shared_library(record.library));
  auto launch = std::make_shared<Launch>();
  std::vector<std::string> entries;
  for (const codegen::LaunchInfo& info : record.kernels) entries.push_back(info.entry);
  std::vector<const void*> loaded(entries.size());
  launch->library = cuda_().load(record.binary, entries, request.device, loaded);
  for (size_t i = 0; i < entries.size(); ++i)
    launch->kernels.push_back({.info = record.kernels[i], .cpu = nullptr, .cuda = loaded[i]});
  load_on_device(request, *launch);
  return launch;
}

/// A cubin's library serves all devices of its architecture, each of which loads a kernel at its first use.
void KernelCache::load_on_device(const LaunchRequest& request, const Launch& launch) {
  for (const Kernel& kernel : launch.kernels) cuda_().load_on(kernel.cuda, request.device);
}

std::shared_ptr<const Launch> KernelCache::stored(const std::string& key, const LaunchRequest& request) {
  const std::optional<std::string> bytes = store_.find("kernel", key);
  const std::optional<LaunchRecord> record = bytes ? from_bytes<LaunchRecord>(*bytes) : std::nullopt;
  if (!record || record->kernels.size() != request.layouts.size()) return nullptr;
  try {
    auto launch = load(request, *record);
    Tally::add(tally_.disk_hits);
    return launch;
  } catch (const Error&) {
    return nullptr;
  }
}

std::shared_ptr<const SharedObject> KernelCache::shared_library(const std::string& key) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const SharedObject>& known = libraries_[key];
  if (auto library = known.lock()) return library;
  const auto bytes = store_.find("library", key);
  if (!bytes) throw_environment("the library of a kernel's record is gone");
  auto library = std::make_shared<const SharedObject>(*bytes, "kernels");
  known = library;
  return library;
}

std::shared_ptr<const Launch> KernelCache::make(const std::string& key, const LaunchRequest& request) {
  Tally::add(tally_.loads);
  if (auto launch = stored(key, request)) return launch;
  const codegen::Source source = generate_source(request);
  Tally::add(tally_.plans);
  const std::string of = Fingerprint::of(compiler_of(request) + source.text).hex();
  bool is_new = false;
  const auto launch = flights_.run(of, [&] {
    if (auto known = of_source(of, key, request)) return known;
    is_new = true;
    const LaunchRecord record{source.kernels, compile(request, source), {}};
    Tally::add(tally_.compiles);
    auto made = load(request, record);
    store_.publish("kernel", key, to_bytes(record));  // after loading: what does not load is not worth keeping
    store_.publish("source", of, key);
    const std::lock_guard lock(mutex_);
    sources_[of] = made;
    return made;
  });
  if (is_new) return launch;
  if (std::optional<LaunchRecord> record = record_of(of)) {
    record->kernels = source.kernels;
    store_.publish("kernel", key, to_bytes(*record));
  }
  auto alike = std::make_shared<Launch>(*launch);
  for (size_t k = 0; k < source.kernels.size(); ++k) alike->kernels[k].info = source.kernels[k];
  return alike;
}

std::optional<LaunchRecord> KernelCache::record_of(const std::string& source) const {
  const std::optional<std::string> key = store_.find("source", source);
  const std::optional<std::string> bytes = key ? store_.find("kernel", *key) : std::nullopt;
  return bytes ? from_bytes<LaunchRecord>(*bytes) : std::nullopt;
}

std::shared_ptr<const Launch> KernelCache::of_source(const std::string& source, const std::string& key,
                                                     const LaunchRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = sources_.find(source);
    if (auto launch = known == sources_.end() ? nullptr : known->second.lock()) return launch;
  }
  const std::optional<std::string> other = store_.find("source", source);
  return other && *other != key ? stored(*other, request) : nullptr;
}

void KernelBatch::add(const LaunchRequest& request) {
  if (on_cuda(request)) return;
  std::string key = key_of(request);
  if (!keys_.insert(key).second || kernels_.find(key)) return;
  if (auto launch = kernels_.stored(key, request)) {
    Tally::add(kernels_.tally_.loads);
    kernels_.keep(key, std::move(launch));
    return;
  }
  const std::shared_ptr<const ir::Graph> graph = request.graph();
  codegen::Source functions = codegen::generate_functions(*graph, codegen::outline(*graph), request.layouts,
                                                          request.target, request.options, kSuffix);
  Tally::add(kernels_.tally_.plans);
  const auto [known, is_new] = by_source_.try_emplace(compiler_of(request) + functions.text, members_.size());
  functions = renamed(std::move(functions), fmt::format("_k{}", known->second));
  if (is_new) members_.push_back({{}, request.program.name, request.options.fast_math, functions});
  members_[known->second].layouts.emplace_back(std::move(key), std::move(functions.kernels));
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
  const auto work = [&] {
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
  Tally::add(kernels_.tally_.compiles);

  const auto library = std::make_shared<const SharedObject>(binary, "kernels");
  const std::string library_key = Fingerprint::of(binary).hex();
  {
    const std::lock_guard lock(kernels_.mutex_);
    kernels_.libraries_[library_key] = library;
  }
  kernels_.store_.publish("library", library_key, binary);
  for (const Member& member : members) {
    Tally::add(kernels_.tally_.loads);
    for (const auto& [key, kernels] : member.layouts) {
      kernels_.keep(key, load_cpu(kernels, library));
      kernels_.store_.publish("kernel", key, to_bytes(LaunchRecord{kernels, {}, library_key}));
    }
  }
}

}  // namespace ingot::runtime
