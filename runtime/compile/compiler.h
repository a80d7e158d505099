#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// The compilers of the generated source. What shapes a binary is the source, the function's arguments, `identity`, and
// the other options, which change with Ingot's version only: together they make the key of a record.

namespace ingot::runtime {

/// What a program of someone else's became.
struct CudaProgram {
  std::string cubin, ptx;
  std::vector<std::string> names;  ///< of the expressions that were asked for, as the cubin has them
  std::string log;                 ///< the compiler's warnings
};

/// NVRTC, opened by its full path on the first compilation and never before: $INGOT_NVRTC (a file, and then only that
/// one), else the wheel's beside the PyTorch that is loaded, else a toolkit's, else what the system's loader finds.
/// Errors: Error(Environment), with what was tried where it is not found, or with NVRTC's log and the numbered source
/// where it refuses. Safe from several threads.
class Nvrtc {
 public:
  /// Which library it is, as part of a key: its file's name, size and date. Does not open the library, unless only the
  /// system's loader knows where it lies. "no NVRTC" where there is none.
  static std::string identity();
  /// "13.0".
  static std::string version();
  /// Those it can make machine code for, ascending: 90 is sm_90.
  static std::vector<int> architectures();
  /// A cubin for sm_<architecture>. Options: -minimal -default-device --no-cache --fmad=false (or --use_fast_math).
  /// `name` is what the log calls the source: "relu_add.cu".
  static std::string compile_cubin(std::string_view source, std::string_view name, int architecture, bool fast_math);
  static std::string compile_ptx(std::string_view source, std::string_view name, int architecture, bool fast_math);
  /// A program that Ingot did not write, with its author's options alone. `expressions` name kernels and instances of
  /// templates (`scale<float, 4>`), which are compiled for it. The log of an error speaks of the lines of `name`.
  static CudaProgram compile(std::string_view source, std::string_view name, int architecture,
                             std::span<const std::string> options, std::span<const std::string> expressions);
};

/// The host's C++ compiler: $INGOT_CXX, else $CXX, else c++, g++, clang++ on PATH. Either variable may begin with a
/// launcher and end with options, which come after Ingot's own: "ccache g++ -O1". It is run without a shell. Errors as
/// above. Safe from several threads.
class HostCompiler {
 public:
  /// The compiler's file, size and date, the options, the variables that say where it looks for headers and programs
  /// (CPATH), the processor (to which -march=native resolves), the C library's version. Does not run the compiler; of a
  /// wrapper it is its own file that counts, and the programs among its arguments. "no compiler" where there is none.
  static std::string identity();
  /// The bytes of a shared library. -O3 -march=native -fopenmp-simd -ffp-contract=off -fno-math-errno -shared;
  /// `fast_math` may contract, reassociate, multiply by reciprocals and forget the sign of zero, but keeps NaN and
  /// infinity. `name` as above: "relu_add.cpp".
  static std::string compile(std::string_view source, std::string_view name, bool fast_math);
  /// The same of a program that Ingot did not write; beside -fPIC -shared are the variable's options and its author's.
  static std::string compile(std::string_view source, std::string_view name, std::span<const std::string> options);
};

}  // namespace ingot::runtime
