#include "runtime/launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "base/error.h"
#include "runtime/cache/fingerprint.h"
#include "runtime/compile/compiler.h"
#include "runtime/compile/shared_object.h"
#include "runtime/json.h"
#include "runtime/runtime.h"

namespace ingot::runtime {

/// What the store keeps of a launch.
struct Launches::Record {
  std::vector<codegen::LaunchInfo> kernels;
  std::string binary;   ///< empty where they were compiled with others,
  std::string library;  ///< whose record has this key

  friend void to_json(nlohmann::json& json, const Record& record) {
    json["kernels"] = record.kernels;
    json["binary"] = nlohmann::json::binary({record.binary.begin(), record.binary.end()});
    json["library"] = record.library;
  }
  friend void from_json(const nlohmann::json& json, Record& record) {
    json.at("kernels").get_to(record.kernels);
    const auto& bytes = json.at("binary").get_binary();
    record.binary.assign(bytes.begin(), bytes.end());
    json.at("library").get_to(record.library);
  }
};

namespace {

/// How many kernels of a batch share a file: more cost hardly less each, and fewer files keep fewer processors busy.
constexpr size_t kKernelsOfAFile = 64;

bool on_cuda(const LaunchRequest& request) { return request.target.kind == codegen::Target::Kind::Cuda; }

/// Everything that shapes the binary.
std::string key_of(const LaunchRequest& request) {
  std::string key = fmt::format("ingot {}\n", build_identity());
  key += on_cuda(request) ? fmt::format("cuda sm_{} {}\n", request.target.architecture, Nvrtc::identity())
                          : fmt::format("cpu {}\n", HostCompiler::identity());
  key +=
      fmt::format("{}{}\n", request.options.check_indices ? "checked " : "", request.options.fast_math ? "fast" : "");
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

std::shared_ptr<const Launch> load_cuda(const std::vector<codegen::LaunchInfo>& kernels, const std::string& binary,
                                        c10::DeviceIndex device) {
  auto launch = std::make_shared<Launch>();
  std::vector<std::string> entries;
  for (const codegen::LaunchInfo& info : kernels) entries.push_back(info.entry);
  std::vector<const void*> loaded(entries.size());
  launch->library = cuda_backend().load(binary, entries, device, loaded);
  for (size_t i = 0; i < kernels.size(); ++i)
    launch->kernels.push_back({.info = kernels[i], .cpu = nullptr, .cuda = loaded[i]});
  return launch;
}

std::shared_ptr<const Launch> load_cpu(const std::vector<codegen::LaunchInfo>& kernels,
                                       std::shared_ptr<const SharedObject> library) {
  auto launch = std::make_shared<Launch>();
  for (const codegen::LaunchInfo& info : kernels)
    launch->kernels.push_back({.info = info, .cpu = library->function<CpuKernel>(info.entry), .cuda = nullptr});
  launch->library = std::move(library);
  return launch;
}

std::shared_ptr<const Launch> load(const LaunchRequest& request, const std::vector<codegen::LaunchInfo>& kernels,
                                   const std::string& binary) {
  if (on_cuda(request)) return load_cuda(kernels, binary, request.device);
  return load_cpu(kernels, std::make_shared<const SharedObject>(binary, request.program.name));
}

}  // namespace

codegen::Source generate_source(const LaunchRequest& request) {
  const std::shared_ptr<const ir::Graph> graph = request.graph();
  return codegen::generate(*graph, codegen::outline(*graph), request.layouts, request.target, request.options,
                           request.author_text);
}

std::shared_ptr<const Launch> Launches::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = launches_.find(key);
  return found == launches_.end() ? nullptr : found->second;
}

std::shared_ptr<const Launch> Launches::keep(const std::string& key, std::shared_ptr<const Launch> launch) {
  const std::lock_guard lock(mutex_);
  return launches_.emplace(key, std::move(launch)).first->second;
}

std::shared_ptr<const Launch> Launches::get(const LaunchRequest& request) {
  const std::string key = key_of(request);
  if (auto launch = find(key)) return launch;
  return flights_.run(key, [&] {
    if (auto launch = find(key)) return launch;  // another thread's flight landed between the two looks
    return keep(key, make(key, request));
  });
}

std::shared_ptr<const Launch> Launches::stored(const std::string& key, const LaunchRequest& request) {
  Record record;
  const auto bytes = store_.find("kernel", key);
  if (!bytes || !from_bytes(*bytes, record) || record.kernels.size() != request.layouts.size()) return nullptr;
  std::shared_ptr<const Launch> launch;
  if (record.library.empty())
    launch = load(request, record.kernels, record.binary);
  else if (auto library = shared_library(record.library))
    launch = load_cpu(record.kernels, std::move(library));
  if (launch) Tally::add(tally_.disk_hits);
  return launch;
}

std::shared_ptr<const SharedObject> Launches::shared_library(const std::string& key) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const SharedObject>& known = libraries_[key];
  if (auto library = known.lock()) return library;
  const auto bytes = store_.find("library", key);
  if (!bytes) return nullptr;
  auto library = std::make_shared<const SharedObject>(*bytes, "kernels");
  known = library;
  return library;
}

std::shared_ptr<const Launch> Launches::make(const std::string& key, const LaunchRequest& request) {
  Tally::add(tally_.loads);
  if (auto launch = stored(key, request)) return launch;
  const codegen::Source source = generate_source(request);
  Tally::add(tally_.plans);
  const Record record{source.kernels, compile(request, source), {}};
  Tally::add(tally_.compiles);
  auto launch = load(request, record.kernels, record.binary);
  store_.publish("kernel", key, to_bytes(record));  // after loading: what does not load is not worth keeping
  return launch;
}

void LaunchBatch::add(const LaunchRequest& request) {
  if (on_cuda(request)) return;
  std::string key = key_of(request);
  if (!keys_.insert(key).second || launches_.find(key)) return;
  if (auto launch = launches_.stored(key, request)) {
    Tally::add(launches_.tally_.loads);
    launches_.keep(key, std::move(launch));
    return;
  }
  const std::shared_ptr<const ir::Graph> graph = request.graph();
  codegen::Source functions =
      codegen::generate_functions(*graph, codegen::outline(*graph), request.layouts, request.target, request.options,
                                  fmt::format("_k{}", members_.size()));
  Tally::add(launches_.tally_.plans);
  members_.push_back({std::move(key), request.program.name, request.options.fast_math, std::move(functions)});
}

void LaunchBatch::compile() {
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
  if (failure) std::rethrow_exception(failure);
}

void LaunchBatch::compile(std::span<const Member> members) {
  std::vector<codegen::Source> sources;
  for (const Member& member : members) sources.push_back(member.functions);
  const std::string text = codegen::join(codegen::Target::Kind::Cpu, sources);
  const std::string binary = HostCompiler::compile(text, "kernels.cpp", members[0].fast_math);
  Tally::add(launches_.tally_.compiles);

  const auto library = std::make_shared<const SharedObject>(binary, "kernels");
  const std::string library_key = Fingerprint::of(binary).hex();
  {
    const std::lock_guard lock(launches_.mutex_);
    launches_.libraries_[library_key] = library;
  }
  launches_.store_.publish("library", library_key, binary);
  for (const Member& member : members) {
    Tally::add(launches_.tally_.loads);
    launches_.keep(member.key, load_cpu(member.functions.kernels, library));
    launches_.store_.publish("kernel", member.key,
                             to_bytes(Launches::Record{member.functions.kernels, {}, library_key}));
  }
}

}  // namespace ingot::runtime
