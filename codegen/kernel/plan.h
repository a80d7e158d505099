#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/shape/layout.h"
#include "codegen/shape/outline.h"
#include "ir/graph.h"

// The plan is the kernel as data, every decision taken: how elements map to threads and lanes, which accesses are made
// together as a vector, which values are named, in which types the arguments come. An emitter prints it and decides
// nothing.

namespace ingot::codegen {

struct Target {
  enum class Kind : uint8_t { Cuda, Cpu } kind = Kind::Cpu;
  int architecture = 0;  ///< CUDA: 90 for sm_90
  bool operator==(const Target&) const = default;
};

struct Options {
  bool check_indices = false;  ///< gathers report an index out of range through the status argument (always on the CPU)
  bool fast_math = false;
  bool operator==(const Options&) const = default;
};

/// One argument of a kernel, in the order in which it takes them; the runtime packs them by this list.
struct Argument {
  enum class Kind : uint8_t {
    Pointer,     ///< to the access's tensor, moved by the access's offset
    Extent,      ///< of axis `b`
    Numel,       ///< the number of elements of the domain
    Stride,      ///< of access `a` along axis `b`, in elements
    LeadStride,  ///< of access `a`, gathered coordinate `b`, in elements
    LeadExtent,
    Scalar,  ///< kernel.scalars[a]
    /// int32_t*: set to 1 + a, where an index that access `a` gathers by is out of range; to 1 + accesses + d, where
    /// the divisor of kernel.divisions[d] is zero (CPU)
    Status,
  } kind;
  uint32_t a = 0, b = 0;
  ir::DType dtype = ir::DType::I32;  ///< the type in which it is passed: of a Scalar; I32 or I64 for sizes
  std::string name;                  ///< in the generated source
  bool operator==(const Argument&) const = default;
};

/// How to launch what was compiled: all that the runtime keeps of a plan.
struct LaunchInfo {
  std::string entry;  ///< extern "C" name
  std::vector<Argument> arguments;
  uint32_t block_threads = 256;      ///< CUDA
  uint32_t elements_per_thread = 1;  ///< CUDA: grid = ceil(numel / (block_threads · elements_per_thread))
  uint32_t weight = 1;               ///< CPU: cost of an element in rough nanoseconds·8, for the grain of parallel_for
  bool operator==(const LaunchInfo&) const = default;
};

struct KernelPlan;  // plan_body.h: axes, accesses, statements
struct Plan;

}  // namespace ingot::codegen
