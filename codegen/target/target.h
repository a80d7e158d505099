#pragma once

#include <cstdint>

namespace ingot::codegen {

/// The target of code generation.
struct Target {
  enum class Kind : uint8_t { Cuda, Cpu } kind = Kind::Cpu;
  int architecture = 0;  ///< CUDA: 90 means sm_90
  /// CUDA: no load may read past the end of a tensor, not even to the end of the aligned 16 bytes that contain the last
  /// element. Memory is allocated in larger units than 16 bytes, so that only a memory checker can notice such a load.
  bool never_reads_past_end = false;
  bool operator==(const Target&) const = default;

  bool cuda() const { return kind == Kind::Cuda; }
};

/// When `where`s are lazy: an arm is computed, and its inputs are read, only if that arm is selected.
enum class Lazy : uint8_t {
  Auto,  ///< if that is faster; gathers always
  Always,
  Never,
};

/// Options of the user that change generated source.
struct Options {
  bool check_indices = false;  ///< gathers report an index out of range through the status argument (always on the CPU)
  bool fast_math = false;      ///< the source will be compiled with the compiler's fast-math options
  Lazy lazy = Lazy::Auto;
  bool operator==(const Options&) const = default;
};

}  // namespace ingot::codegen
