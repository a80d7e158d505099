#pragma once

#include <cstdint>

namespace ingot::codegen {

/// The target of code generation.
struct Target {
  enum class Kind : uint8_t { Cuda, Cpu } kind = Kind::Cpu;
  int architecture = 0;  ///< 90 means sm_90
  /// CUDA: no load may extend past the end of a tensor, not even within the tensor's last 16 bytes. The allocator's
  /// granularity is larger than that, so that only a memory checker can notice.
  bool never_reads_past_end = false;
  bool operator==(const Target&) const = default;

  bool cuda() const { return kind == Kind::Cuda; }
};

/// Whether an arm of a `where` is computed, and its inputs are read, only if that arm is selected.
enum class Lazy : uint8_t {
  Auto,  ///< if that is faster; gathers always
  Always,
  Never,
};

struct Options {
  bool check_indices = false;  ///< gathers report an index out of range through the status argument (always on the CPU)
  bool fast_math = false;
  Lazy lazy = Lazy::Auto;
  bool operator==(const Options&) const = default;
};

}  // namespace ingot::codegen
