#include "runtime/launches.h"

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/compile/compiler.h"
#include "runtime/compile/shared_object.h"
#include "runtime/json.h"
#include "runtime/runtime.h"

namespace ingot::runtime {

namespace {

/// What the store keeps of a launch.
struct Record {
  std::vector<codegen::LaunchInfo> kernels;
  std::string binary;
};

void to_json(nlohmann::json& json, const Record& record) {
  json["kernels"] = record.kernels;
  json["binary"] = nlohmann::json::binary({record.binary.begin(), record.binary.end()});
}
void from_json(const nlohmann::json& json, Record& record) {
  json.at("kernels").get_to(record.kernels);
  const auto& bytes = json.at("binary").get_binary();
  record.binary.assign(bytes.begin(), bytes.end());
}

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

Launch load(const LaunchRequest& request, const Record& record) {
  Launch launch;
  std::vector<std::string> entries;
  for (const codegen::LaunchInfo& info : record.kernels) {
    launch.kernels.push_back({.info = info});
    entries.push_back(info.entry);
  }
  if (on_cuda(request)) {
    std::vector<const void*> loaded(entries.size());
    launch.library = cuda_backend().load(record.binary, entries, request.device, loaded);
    for (size_t i = 0; i < entries.size(); ++i) launch.kernels[i].cuda = loaded[i];
  } else {
    const auto library = std::make_shared<const SharedObject>(record.binary, request.program.name);
    for (size_t i = 0; i < entries.size(); ++i) launch.kernels[i].cpu = library->function<CpuKernel>(entries[i]);
    launch.library = library;
  }
  return launch;
}

}  // namespace

codegen::Source generate_source(const LaunchRequest& request) {
  const std::shared_ptr<const ir::Graph> graph = request.graph();
  return codegen::generate(*graph, codegen::outline(*graph), request.layouts, request.target, request.options,
                           request.author_text);
}

std::shared_ptr<const Launch> Launches::get(const LaunchRequest& request) {
  const std::string key = key_of(request);
  const auto find = [&]() -> std::shared_ptr<const Launch> {
    const std::lock_guard lock(mutex_);
    const auto found = launches_.find(key);
    return found == launches_.end() ? nullptr : found->second;
  };
  if (auto launch = find()) return launch;
  return flights_.run(key, [&] {
    if (auto launch = find()) return launch;  // another thread's flight landed between the two looks
    auto launch = make(key, request);
    const std::lock_guard lock(mutex_);
    launches_.emplace(key, launch);
    return launch;
  });
}

std::shared_ptr<const Launch> Launches::make(const std::string& key, const LaunchRequest& request) {
  Tally::add(tally_.loads);
  Record record;
  if (const auto bytes = store_.find("kernel", key);
      bytes && from_bytes(*bytes, record) && record.kernels.size() == request.layouts.size()) {
    Tally::add(tally_.disk_hits);
    return std::make_shared<const Launch>(load(request, record));
  }
  const codegen::Source source = generate_source(request);
  Tally::add(tally_.plans);
  record = {source.kernels, compile(request, source)};
  Tally::add(tally_.compiles);
  auto launch = std::make_shared<const Launch>(load(request, record));
  store_.publish("kernel", key, to_bytes(record));  // after loading: what does not load is not worth keeping
  return launch;
}

}  // namespace ingot::runtime
