#include <fmt/ranges.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "runtime/cache/digest.h"
#include "runtime/compile/compiler.h"
#include "runtime/compile/file_identity.h"
#include "runtime/compile/shortage.h"
#include "runtime/compile/subprocess.h"
#include "runtime/compile/temporary_folder.h"

namespace ingot::runtime {

namespace {

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Returns the program's absolute path, as a shell would find it; empty if there is none.
std::string find_program(const std::string& name) {
  const auto is_executable = [](const std::string& path) {
    return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path);
  };
  if (name.find('/') != std::string::npos) return is_executable(name) ? std::filesystem::absolute(name).string() : "";
  std::istringstream folders(environment_variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = std::filesystem::absolute(folder.empty() ? "." : folder) / name;
    if (is_executable(path)) return path;
  }
  return {};
}

/// The result of the search for a compiler.
struct CompilerSearch {
  std::vector<std::string> command;  ///< paths or names: a launcher, the compiler; empty if there is none
  std::vector<std::string> options;  ///< the variable's options after the compiler's name
  std::string attempts;              ///< a line for each place that was searched
};

CompilerSearch find_compiler() {
  CompilerSearch result;
  for (const std::string variable : {"INGOT_CXX", "CXX"}) {
    const std::string value = environment_variable(variable.c_str());
    std::istringstream words(value);
    std::vector<std::string> command(std::istream_iterator<std::string>(words), {});
    const auto first_option = std::ranges::find_if(command, [](const auto& word) { return word.starts_with('-'); });
    const std::vector<std::string> options(first_option, command.end());
    command.erase(first_option, command.end());
    if (command.empty() && !options.empty())
      return {
          {}, {}, result.attempts + "$" + variable + ": " + value + ": only options; put the compiler before them\n"};
    if (command.empty()) {
      result.attempts += "$" + variable + ": not set\n";
      continue;
    }
    // If the user's compiler is missing, that is an error: there is no fallback to another compiler.
    if (std::string path = find_program(command[0]); !path.empty()) {
      command[0] = path;
      return {command, options, {}};
    }
    return {{}, {}, result.attempts + "$" + variable + ": " + command[0] + ": no such program\n"};
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (std::string path = find_program(name); !path.empty()) return {{path}, {}, {}};
    result.attempts += std::string(name) + ": not on PATH\n";
  }
  return result;
}

const CompilerSearch& compiler() {
  static const CompilerSearch result = find_compiler();
  return result;
}

/// Identifies the processor for -march=native: the constant lines of the first processor's entry.
std::string processor_identity() {
  constexpr std::string_view kX86Fields[] = {"vendor_id", "cpu family", "model", "model name", "stepping", "flags"};
  constexpr std::string_view kArmFields[] = {"Features", "CPU implementer", "CPU architecture", "CPU variant",
                                             "CPU part"};
  std::ifstream file("/proc/cpuinfo");
  std::string lines, model = "unknown processor";
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::string field = line.substr(0, line.find_first_of("\t:"));
    if (std::ranges::count(kX86Fields, field) + std::ranges::count(kArmFields, field) == 0) continue;
    lines += line + "\n";
    if (field == "model name") model = line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return model + " " + Digest::of(lines).hex();
}

/// The environment variables that, besides the command, affect which headers and programs a compiler uses.
std::string environment_identity() {
  std::string text;
  for (const char* name : {"CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH",
                           "CCC_OVERRIDE_OPTIONS", "SDKROOT"})
    if (const char* value = std::getenv(name)) text += std::string("; ") + name + "=" + value;
  return text;
}

/// The options that Ingot passes to any compiler.
std::vector<std::string> ingot_options(bool fast_math) {
  // Without -fno-trapping-math, GCC computes no operation ahead of a select, because it might trap.
  std::vector<std::string> options = {
      "-std=c++20",         "-O3",   "-march=native", "-fopenmp-simd", "-fno-math-errno",
      "-fno-trapping-math", "-fPIC", "-shared"};
  // GCC's vectorizer replaces pow(x, 0.5) by a square root, which differs at -inf and -0.
  options.insert(options.end(), {"-fno-builtin-pow", "-fno-builtin-powf"});
#ifdef __x86_64__
  // Use full 512-bit AVX-512 registers; GCC by default uses half (docs/performance.md: cpu-compiler-options).
  options.emplace_back("-mprefer-vector-width=512");
#endif
  if (fast_math) {
    // Not -ffast-math: linking a library with it turns denormals off in the thread that loads it (before GCC 13), and
    // it would make NaN and infinity undefined.
    options.insert(options.end(),
                   {"-fno-signed-zeros", "-fassociative-math", "-freciprocal-math", "-ffp-contract=fast"});
  } else {
    options.emplace_back("-ffp-contract=off");
  }
  return options;
}

std::string command_identity() {
  std::string text;
  for (const std::string& word : compiler().command) {
    const std::string program = find_program(word);  // ccache's own argument is the compiler
    text += (text.empty() ? "" : " ") + (program.empty() ? word : file_identity(program));
  }
  for (const auto& options : {ingot_options(false), ingot_options(true), compiler().options})
    for (const std::string& option : options) text += " " + option;
  return text;
}

/// Makes the name safe as a file name: no file system, shell or compiler gives its characters a special meaning.
std::string safe_file_name(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, 100))
    text += std::isalnum(static_cast<unsigned char>(c)) || (c == '.' && !text.empty()) ? c : '_';
  return text.empty() ? "kernel.cpp" : text;
}

/// Whether the compiler is Clang, which rejects options that only GCC has.
bool is_clang() {
  static const bool result = [] {
    std::vector<std::string> command = compiler().command;
    command.emplace_back("--version");
    return run_program(command, "/").output.find("clang") != std::string::npos;
  }();
  return result;
}

std::vector<std::string> command_line(const std::string& source, bool fast_math) {
  std::vector<std::string> command = compiler().command;
  std::ranges::copy(ingot_options(fast_math), std::back_inserter(command));
  // A clamp is two selects. If GCC threads the jumps of one clamp into the next, it duplicates a division for each
  // path. -fno-thread-jumps, with -fno-trapping-math, avoids that and changes no result (docs/performance.md:
  // cpu-compiler-options).
  if (!is_clang()) command.emplace_back("-fno-thread-jumps");
  // The last of two conflicting options wins: the user's.
  std::ranges::copy(compiler().options, std::back_inserter(command));
  command.insert(command.end(), {"-o", "kernel.so", "-x", "c++", source});
  return command;
}

std::optional<std::string> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Compiles a source in a temporary folder and returns the library. `command_of` returns the command for the source's
/// file name. An error shows the source if Ingot generated it (`is_generated`).
template <typename CommandOf>
std::string compile_in_folder(std::string_view source, std::string_view name, bool is_generated, CommandOf command_of) {
  if (compiler().command.empty())
    throw_environment("no C++ compiler: install g++ or clang++, or set INGOT_CXX to one", compiler().attempts);

  const TemporaryFolder folder;
  const std::string file = safe_file_name(name);
  std::ofstream out(folder.path() / file, std::ios::binary);
  out.write(source.data(), static_cast<std::streamsize>(source.size()));
  out.close();
  if (!out) throw_environment("cannot write a kernel's source to " + folder.path().string());

  const Outcome outcome = run_program(command_of(file), folder.path());
  std::optional<std::string> library = read_file(folder.path() / "kernel.so");
  const bool has_library = library && !library->empty();
  if (outcome.succeeded && has_library) return *std::move(library);
  const std::string failure = "the C++ compiler failed to compile " + std::string(name) + ": " + compiler().command[0] +
                              " " + outcome.ending + (outcome.succeeded ? ", but wrote no library" : "");
  if (const std::string shortage = exhausted_resource_in(outcome.output); !shortage.empty())
    throw_environment(failure + ": " + shortage, outcome.output);
  throw_environment(failure, is_generated ? outcome.output + "\n" + numbered(source) : outcome.output);
}

}  // namespace

std::string HostCompiler::options(bool fast_math) {
  return fmt::format("{}", fmt::join(ingot_options(fast_math), " "));
}

std::string HostCompiler::identity() {
  if (compiler().command.empty()) return "no compiler";
  static const std::string command = command_identity(),
                           machine = "; " + processor_identity() + "; glibc " + ::gnu_get_libc_version();
  return command + environment_identity() + machine;  // the environment may change meanwhile
}

std::string HostCompiler::compile(std::string_view source, std::string_view name, bool fast_math) {
  return compile_in_folder(source, name, /*is_generated=*/true,
                           [&](const std::string& file) { return command_line(file, fast_math); });
}

std::string HostCompiler::compile(std::string_view source, std::string_view name,
                                  std::span<const std::string> options) {
  return compile_in_folder(source, name, /*is_generated=*/false, [&](const std::string& file) {
    std::vector<std::string> command = compiler().command;
    command.insert(command.end(), compiler().options.begin(), compiler().options.end());
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"-fPIC", "-shared", "-o", "kernel.so", "-x", "c++", file});
    return command;
  });
}

}  // namespace ingot::runtime
