// The only file that uses NVRTC. This file declares NVRTC's few functions itself, because the header belongs to a
// toolkit that users do not have. The library is opened on the first compilation: opening it takes milliseconds, which
// a disk hit must not cost.

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

#include "base/error.h"
#include "runtime/cache/interrupt.h"
#include "runtime/compile/compiler.h"
#include "runtime/compile/file_identity.h"

namespace ingot::runtime {

namespace {

using Result = int;  ///< 0: success
using Program = struct OpaqueProgram*;

/// NVRTC's functions, from the opened library.
struct NvrtcLibrary {
  std::string path;
  int major = 0, minor = 0;
  std::vector<int> architectures;

  const char* (*GetErrorString)(Result);
  Result (*Version)(int* major, int* minor);
  Result (*GetNumSupportedArchs)(int* count);
  Result (*GetSupportedArchs)(int* architectures);
  Result (*CreateProgram)(Program*, const char* source, const char* name, int headers, const char* const* texts,
                          const char* const* names);
  Result (*DestroyProgram)(Program*);
  Result (*CompileProgram)(Program, int options, const char* const* texts);
  Result (*GetProgramLogSize)(Program, size_t*);
  Result (*GetProgramLog)(Program, char*);
  Result (*GetCUBINSize)(Program, size_t*);
  Result (*GetCUBIN)(Program, char*);
  Result (*GetPTXSize)(Program, size_t*);
  Result (*GetPTX)(Program, char*);
  Result (*AddNameExpression)(Program, const char* expression);
  Result (*GetLoweredName)(Program, const char* expression, const char** name);
  Result (*SetFlowCallback)(Program, int (*callback)(void*, void*), void* payload);  ///< null in older versions

  std::string version() const { return std::to_string(major) + "." + std::to_string(minor); }
};

/// The folders from which PyTorch's libraries were loaded.
std::vector<std::filesystem::path> torch_folders() {
  std::vector<std::filesystem::path> folders;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        const std::filesystem::path path = info->dlpi_name;
        if (path.filename() == "libc10.so" || path.filename() == "libtorch_cpu.so")
          static_cast<std::vector<std::filesystem::path>*>(result)->push_back(path.parent_path());
        return 0;
      },
      &folders);
  return folders;
}

/// The paths at which NVRTC may be, best first. The system's loader resolves a name without a slash.
std::vector<std::string> candidate_paths() {
  if (const char* chosen = std::getenv("INGOT_NVRTC"); chosen && *chosen) return {chosen};
  std::vector<std::string> paths;
  for (const std::filesystem::path& torch : torch_folders()) {
    const std::filesystem::path packages = (torch / "../..").lexically_normal();
    paths.push_back(packages / "nvidia/cu13/lib/libnvrtc.so.13");
    paths.push_back(packages / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  }
  const char* home = std::getenv("CUDA_HOME");
  for (const std::filesystem::path toolkit : {home ? home : "", "/usr/local/cuda"}) {
    if (toolkit.empty()) continue;
    paths.push_back(toolkit / "lib64/libnvrtc.so.13");
    paths.push_back(toolkit / "lib64/libnvrtc.so.12");
  }
  paths.insert(paths.end(), {"libnvrtc.so.13", "libnvrtc.so.12"});
  std::set<std::string> seen;
  std::erase_if(paths, [&](const std::string& path) { return !seen.insert(path).second; });
  return paths;
}

/// Opens the builtins library first. NVRTC opens it by its bare name, which the loader resolves only if a toolkit is
/// installed, or if the library is already open.
void open_builtins(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so"))
      ::dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

template <typename Function>
bool bind(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  return function != nullptr;
}

/// Binds NVRTC's functions. Returns whether the library has all required ones (from CUDA 11.2 on).
bool bind_all(void* handle, NvrtcLibrary& library) {
  if (!(bind(handle, "nvrtcGetErrorString", library.GetErrorString) && bind(handle, "nvrtcVersion", library.Version) &&
        bind(handle, "nvrtcGetNumSupportedArchs", library.GetNumSupportedArchs) &&
        bind(handle, "nvrtcGetSupportedArchs", library.GetSupportedArchs) &&
        bind(handle, "nvrtcCreateProgram", library.CreateProgram) &&
        bind(handle, "nvrtcDestroyProgram", library.DestroyProgram) &&
        bind(handle, "nvrtcCompileProgram", library.CompileProgram) &&
        bind(handle, "nvrtcGetProgramLogSize", library.GetProgramLogSize) &&
        bind(handle, "nvrtcGetProgramLog", library.GetProgramLog) &&
        bind(handle, "nvrtcGetCUBINSize", library.GetCUBINSize) && bind(handle, "nvrtcGetCUBIN", library.GetCUBIN) &&
        bind(handle, "nvrtcGetPTXSize", library.GetPTXSize) && bind(handle, "nvrtcGetPTX", library.GetPTX) &&
        bind(handle, "nvrtcAddNameExpression", library.AddNameExpression) &&
        bind(handle, "nvrtcGetLoweredName", library.GetLoweredName)))
    return false;
  bind(handle, "nvrtcSetFlowCallback", library.SetFlowCallback);  // from CUDA 12.8 on
  int count = 0;
  if (library.Version(&library.major, &library.minor) != 0 || library.GetNumSupportedArchs(&count) != 0) return false;
  library.architectures.resize(static_cast<size_t>(count));
  if (library.GetSupportedArchs(library.architectures.data()) != 0) return false;
  std::ranges::sort(library.architectures);
  return true;
}

std::string path_of(void* handle) {
  const link_map* map = nullptr;
  return ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
}

NvrtcLibrary open() {
  std::string attempts;
  for (const std::string& path : candidate_paths()) {
    if (path.find('/') != std::string::npos) open_builtins(std::filesystem::path(path).parent_path());
    NvrtcLibrary library;
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle && bind_all(handle, library)) {
      library.path = path_of(handle);
      return library;
    }
    const char* error = ::dlerror();
    attempts += path + ": " + (error ? error : "not a usable NVRTC") + "\n";
  }
  throw_environment(
      "NVRTC, which compiles kernels for the GPU, was not found: install a PyTorch with CUDA (it brings "
      "nvidia-cuda-nvrtc), or set INGOT_NVRTC to the path of libnvrtc.so.13",
      attempts);
}

const NvrtcLibrary& nvrtc_library() {
  static const NvrtcLibrary opened = open();  // never closed: it cannot be unloaded safely
  return opened;
}

/// The identity if there is no NVRTC.
constexpr std::string_view kNone = "no NVRTC";

/// Ingot's options for every version of NVRTC.
std::vector<std::string> fixed_options(bool fast_math) {
  return {"-default-device", fast_math ? "--use_fast_math" : "--fmad=false"};
}

std::string library_identity() {
  for (const std::string& path : candidate_paths()) {
    if (path.find('/') == std::string::npos) break;
    if (std::string identity = file_identity(path); !identity.empty()) return identity;
  }
  try {
    return file_identity(nvrtc_library().path);
  } catch (const Error&) {
    return std::string(kNone);
  }
}

std::string make_identity() {
  std::string text = library_identity();
  if (text == kNone) return text;
  for (const bool fast_math : {false, true})
    for (const std::string& option : fixed_options(fast_math)) text += " " + option;
  return text;
}

bool is_at_least(const NvrtcLibrary& nvrtc, int major, int minor) {
  return nvrtc.major > major || (nvrtc.major == major && nvrtc.minor >= minor);
}

/// Disables NVRTC's own cache, which opens the driver and makes the first compilation much slower (docs/performance.md:
/// nvrtc-cache).
void disable_cache(const NvrtcLibrary& nvrtc, std::vector<std::string>& flags) {
  if (is_at_least(nvrtc, 12, 9)) flags.emplace_back("--no-cache");
}

std::vector<std::string> ingot_options(const NvrtcLibrary& nvrtc, bool fast_math) {
  std::vector<std::string> flags = fixed_options(fast_math);
  if (is_at_least(nvrtc, 12, 4)) flags.emplace_back("-minimal");
  disable_cache(nvrtc, flags);
  return flags;
}

/// Fetches a text or binary from NVRTC: first its size, then its contents.
std::string fetch(const NvrtcLibrary& nvrtc, Program program, Result (*size_of)(Program, size_t*),
                  Result (*contents_of)(Program, char*)) {
  size_t size = 0;
  Result result = size_of(program, &size);
  std::string bytes(size, '\0');
  if (result == 0) result = contents_of(program, bytes.data());
  if (result != 0)
    throw_environment("NVRTC " + nvrtc.version() + " does not return its output: " + nvrtc.GetErrorString(result));
  return bytes;
}

/// Removes the terminating zero of a text.
std::string as_text(std::string bytes) {
  while (!bytes.empty() && bytes.back() == '\0') bytes.pop_back();
  return bytes;
}

void check_architecture(const NvrtcLibrary& nvrtc, int architecture) {
  if (std::ranges::binary_search(nvrtc.architectures, architecture)) return;
  std::string names;
  for (const int supported : nvrtc.architectures)
    names += (names.empty() ? "sm_" : ", sm_") + std::to_string(supported);
  throw_environment("NVRTC " + nvrtc.version() + " cannot make code for sm_" + std::to_string(architecture) +
                    ", only for " + names + ": install a PyTorch whose CUDA knows this GPU");
}

/// The callback that NVRTC calls regularly; returning 1 ends the compilation.
int is_abandoned(void* flag, void*) { return static_cast<const std::atomic<bool>*>(flag)->load() ? 1 : 0; }

/// One compilation, and access to its outputs.
class Compilation {
 public:
  /// Errors: Error(Environment), with the log and, if Ingot generated the source (`is_generated`), the numbered source.
  Compilation(std::string_view source, std::string_view name, std::vector<std::string> flags,
              std::span<const std::string> expressions, bool is_generated)
      : nvrtc_(nvrtc_library()) {
    const std::string text(source), source_name(name);
    if (const Result result = nvrtc_.CreateProgram(&program_, text.c_str(), source_name.c_str(), 0, nullptr, nullptr))
      throw_environment("NVRTC " + nvrtc_.version() + " does not accept a program: " + nvrtc_.GetErrorString(result));
    owner_.reset(program_);
    for (const std::string& expression : expressions) nvrtc_.AddNameExpression(program_, expression.c_str());
    // NVRTC also calls back on its own threads, so the callback gets the flag explicitly.
    if (const SharedInterrupt::Flag flag = SharedInterrupt::flag(); flag && nvrtc_.SetFlowCallback)
      nvrtc_.SetFlowCallback(program_, is_abandoned, const_cast<std::atomic<bool>*>(flag));
    std::vector<const char*> texts;
    for (const std::string& flag : flags) texts.push_back(flag.c_str());
    if (const Result result = nvrtc_.CompileProgram(program_, static_cast<int>(texts.size()), texts.data())) {
      throw_if_interrupted();
      throw_environment("NVRTC " + nvrtc_.version() + " failed to compile " + source_name + " for " +
                            flags.back().substr(flags.back().find('=') + 1) + ": " + nvrtc_.GetErrorString(result),
                        is_generated ? log() + "\n" + numbered(source) : log());
    }
  }

  std::string cubin() const { return fetch(nvrtc_, program_, nvrtc_.GetCUBINSize, nvrtc_.GetCUBIN); }
  std::string ptx() const { return as_text(fetch(nvrtc_, program_, nvrtc_.GetPTXSize, nvrtc_.GetPTX)); }
  std::string log() const { return as_text(fetch(nvrtc_, program_, nvrtc_.GetProgramLogSize, nvrtc_.GetProgramLog)); }

  /// The mangled name of an expression in the binary.
  std::string name_of(const std::string& expression) const {
    const char* name = nullptr;
    if (const Result result = nvrtc_.GetLoweredName(program_, expression.c_str(), &name))
      throw_environment("NVRTC " + nvrtc_.version() + " has no name for `" + expression +
                        "`: " + nvrtc_.GetErrorString(result));
    return name;
  }

 private:
  struct Destroy {
    void operator()(Program program) const { nvrtc_library().DestroyProgram(&program); }
  };

  const NvrtcLibrary& nvrtc_;
  Program program_ = nullptr;
  std::unique_ptr<OpaqueProgram, Destroy> owner_;
};

/// Compiles a source that Ingot generated.
Compilation compile_generated(std::string_view source, std::string_view name, std::string_view target, int architecture,
                              bool fast_math) {
  check_architecture(nvrtc_library(), architecture);
  std::vector<std::string> flags = ingot_options(nvrtc_library(), fast_math);
  flags.push_back("-arch=" + std::string(target) + std::to_string(architecture));
  return Compilation(source, name, std::move(flags), {}, /*is_generated=*/true);
}

}  // namespace

std::string Nvrtc::identity() {
  static const std::string text = make_identity();
  return text;
}

std::string Nvrtc::options(bool fast_math) { return fmt::format("{}", fmt::join(fixed_options(fast_math), " ")); }

std::string Nvrtc::version() { return nvrtc_library().version(); }

std::vector<int> Nvrtc::architectures() { return nvrtc_library().architectures; }

std::string Nvrtc::compile_cubin(std::string_view source, std::string_view name, int architecture, bool fast_math) {
  return compile_generated(source, name, "sm_", architecture, fast_math).cubin();
}

std::string Nvrtc::compile_ptx(std::string_view source, std::string_view name, int architecture, bool fast_math) {
  return compile_generated(source, name, "compute_", architecture, fast_math).ptx();
}

CudaProgram Nvrtc::compile(std::string_view source, std::string_view name, int architecture,
                           std::span<const std::string> options, std::span<const std::string> expressions) {
  check_architecture(nvrtc_library(), architecture);
  std::vector<std::string> flags(options.begin(), options.end());
  disable_cache(nvrtc_library(), flags);
  flags.push_back("-arch=sm_" + std::to_string(architecture));
  const Compilation compilation(source, name, std::move(flags), expressions, /*is_generated=*/false);
  CudaProgram program{compilation.cubin(), compilation.ptx(), {}, compilation.log()};
  for (const std::string& expression : expressions) program.names.push_back(compilation.name_of(expression));
  return program;
}

}  // namespace ingot::runtime
