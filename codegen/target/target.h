#pragma once

#include <cstdint>

namespace ingot::codegen {

/// What code is generated for.
struct Target {
  enum class Kind : uint8_t { Cuda, Cpu } kind = Kind::Cpu;
  int architecture = 0;  ///< CUDA: 90 for sm_90
  /// CUDA: nothing is read behind a tensor, not even of the 16 bytes in which it ends. Memory is handed out by more
  /// than that, so that only a memory checker may see it.
  bool reads_exactly = false;
  bool operator==(const Target&) const = default;

  bool cuda() const { return kind == Kind::Cuda; }
};

/// Whether what only one arm of a `where` needs is computed, and read, only where that arm is taken.
enum class Lazy : uint8_t {
  Auto,  ///< where that pays; what is gathered always
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
