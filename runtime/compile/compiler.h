#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// The compilers of the generated source. A binary depends on the arguments of the compile function, on `identity`, and
// on options that change with Ingot's version only. All of these are part of a record's key.

namespace ingot::runtime {

/// The outputs of compiling a CUDA program that Ingot did not write.
struct CudaProgram {
  std::string cubin, ptx;
  std::vector<std::string> names;  ///< of the requested expressions, as the cubin names them
  std::string log;                 ///< the compiler's warnings
};

/// NVRTC, opened by the first function that needs it, usually the first compilation. If $INGOT_NVRTC is set, only that
/// file is tried. Otherwise the order is: the wheel beside the loaded PyTorch, a CUDA toolkit, the
/// system's loader. Errors: Error(Environment), with the searched paths if it is not found, or with NVRTC's log and the
/// numbered source if compilation fails. Safe from several threads.
class Nvrtc {
 public:
  /// Identifies the library, as part of a key: its file's name, size and date. Does not open the library, unless only
  /// the system's loader knows its path. "no NVRTC" if there is none.
  static std::string identity();
  /// "13.0".
  static std::string version();
  /// Ingot's options that change what generated source computes, as one text.
  static std::string options(bool fast_math);
  /// The architectures for which it can make machine code, ascending: 90 is sm_90.
  static std::vector<int> architectures();
  /// Returns a cubin for sm_<architecture>. Options: -default-device --fmad=false (or --use_fast_math), and -minimal
  /// and --no-cache if NVRTC's version has them. `name` is the source's name in the log: "relu_add.cu".
  static std::string compile_cubin(std::string_view source, std::string_view name, int architecture, bool fast_math);
  static std::string compile_ptx(std::string_view source, std::string_view name, int architecture, bool fast_math);
  /// Compiles a program that Ingot did not write, with its author's options only. `expressions` name kernels and
  /// instances of templates (`scale<float, 4>`), which are compiled with the program. The log of an error refers to the
  /// lines of `name`.
  static CudaProgram compile(std::string_view source, std::string_view name, int architecture,
                             std::span<const std::string> options, std::span<const std::string> expressions);
};

/// The host's C++ compiler: $INGOT_CXX, else $CXX, else c++, g++, clang++ on PATH. Either variable may begin with a
/// launcher and end with options, which follow Ingot's own: "ccache g++ -O1". The compiler runs without a shell.
/// Errors: as Nvrtc's. Safe from several threads.
class HostCompiler {
 public:
  /// Identifies the compiler: its file, size and date, the options, the variables that select headers and programs
  /// (CPATH), the processor (to which -march=native resolves), the C library's version. Does not run the compiler. For
  /// a wrapper, the wrapper's own file counts, and the programs among its arguments. "no compiler" if there is none.
  static std::string identity();
  /// Ingot's options for generated source, as one text.
  static std::string options(bool fast_math);
  /// Returns the bytes of a shared library. The options are in host_compiler.cpp; among them are -O3, -march=native and
  /// -ffp-contract=off. `fast_math` may contract, reassociate, multiply by reciprocals and ignore the sign of zero, but
  /// keeps NaN and infinity. `name` is the source's name in the log: "relu_add.cpp".
  static std::string compile(std::string_view source, std::string_view name, bool fast_math);
  /// Compiles a program that Ingot did not write. The options are those of $INGOT_CXX or
  /// $CXX, the author's, and -fPIC -shared.
  static std::string compile(std::string_view source, std::string_view name, std::span<const std::string> options);
};

}  // namespace ingot::runtime
