#pragma once

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

// Compiles C++ source for a test, and keeps what it has compiled.

namespace ingot::codegen {

/// The compilers of shared libraries, with their first flags.
constexpr std::string_view kHostCompiler =
    "c++ -std=c++20 -march=native -fopenmp-simd -ffp-contract=off -fno-math-errno -Wall -Werror "
    "-Wno-unused-function -Wno-unknown-pragmas -Wno-sign-compare -Wno-clobbered -U_FORTIFY_SOURCE "
    "-fno-gnu-unique -shared -fPIC";
constexpr std::string_view kGpuCompiler = "nvcc -x cu -std=c++20 -arch=native --fmad=false -shared -Xcompiler -fPIC";

/// A shared library compiled from C++ source. Static variables are not shared with other
/// libraries that have the same names (-fno-gnu-unique). A folder below the build folder keeps compiled libraries by
/// their source and flags; those that no test has used for a month are removed.
class SharedLibrary {
 public:
  explicit SharedLibrary(const std::string& text, const std::string& flags = "-O1",
                         std::string_view compiler = kHostCompiler) {
    const std::string command = fmt::format("{} {} kernels.cpp -o kernels.so {} > log 2>&1", compiler, flags,
                                            compiler == kHostCompiler ? "-lmvec -lm" : "");
    const std::string source = "// " + command + "\n" + text;
    folder_ = kKept / std::to_string(std::hash<std::string>()(source));
    if (output("kernels.cpp") == source && open()) return;
    compile(source, command);
    if (!is_loaded()) ADD_FAILURE() << output("log").substr(0, 3000) << text.substr(0, 30000);
  }
  ~SharedLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  bool is_loaded() const { return handle_ != nullptr; }
  template <typename Function>
  Function* find(const std::string& name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, name.c_str()));
  }
  /// The contents of a file that the compiler wrote.
  std::string output(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  inline static const std::filesystem::path kKept = INGOT_TEST_LIBRARIES;

  bool open() {
    handle_ = dlopen((folder_ / "kernels.so").c_str(), RTLD_NOW);
    std::error_code ignored;
    std::filesystem::last_write_time(folder_, std::filesystem::file_time_type::clock::now(), ignored);
    return is_loaded();
  }

  void compile(const std::string& source, const std::string& command) {
    const std::filesystem::path kept = folder_;
    std::string name = (kKept / "making_XXXXXX").string();
    std::filesystem::create_directories(kKept);
    folder_ = mkdtemp(name.data());
    std::ofstream(folder_ / "kernels.cpp") << source;
    if (std::system(("cd '" + folder_.string() + "' && " + command).c_str()) != 0 || !open()) return;
    std::error_code ignored;  // another process may have kept the same library meanwhile
    std::filesystem::remove_all(kept, ignored);
    std::filesystem::rename(folder_, kept, ignored);
    if (!ignored) folder_ = kept;
    remove_old();
  }

  static void remove_old() {
    const auto oldest = std::filesystem::file_time_type::clock::now() - std::chrono::days(30);
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(kKept, ignored))
      if (entry.last_write_time(ignored) < oldest) std::filesystem::remove_all(entry, ignored);
  }

  std::filesystem::path folder_;
  void* handle_ = nullptr;
};

}  // namespace ingot::codegen
