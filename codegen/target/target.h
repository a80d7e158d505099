#pragma once

#include <cstdint>

namespace ingot::codegen {

/// What code is generated for.
struct Target {
  enum class Kind : uint8_t { Cuda, Cpu } kind = Kind::Cpu;
  int architecture = 0;  ///< CUDA: 90 for sm_90
  bool operator==(const Target&) const = default;

  bool cuda() const { return kind == Kind::Cuda; }
};

struct Options {
  bool check_indices = false;  ///< gathers report an index out of range through the status argument (always on the CPU)
  bool fast_math = false;
  bool operator==(const Options&) const = default;
};

}  // namespace ingot::codegen
