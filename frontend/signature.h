#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/host/host.h"
#include "ir/types/dtype.h"

namespace ingot::frontend {

enum class Device : uint8_t { Cpu, Cuda };

/// How 16-bit floats round and what may be approximate (DESIGN §3).
enum class Numerics : uint8_t {
  Default,  ///< intermediates of 16-bit floats stay in float32
  Eager,    ///< rounded after each op, as eager PyTorch does
  Fast,     ///< fast-math allowed
};

/// What lowering may know of one argument.
struct ArgumentFact {
  enum class Kind : uint8_t {
    Tensor,
    CpuScalar,  ///< a 0-dim CPU tensor beside CUDA tensors: a value, that promotes as a 0-dim tensor does
    Number,     ///< a Python number
    None,       ///< left out, or None
  } kind = Kind::Tensor;
  ir::DType dtype = ir::DType::F32;           ///< of a tensor
  ir::HostKind number = ir::HostKind::Float;  ///< of a Number
  uint8_t rank = 0;
  uint64_t ones = 0;  ///< bit d is set where size(d) is 1
  bool operator==(const ArgumentFact&) const = default;
};

/// All that the lowered graph may depend on, beside the values that it asks to be static.
struct Signature {
  Device device = Device::Cpu;
  Numerics numerics = Numerics::Default;
  ir::DType default_dtype = ir::DType::F32;
  std::vector<ArgumentFact> arguments;  ///< one for each parameter
  bool operator==(const Signature&) const = default;

  /// One line that two signatures share only when they are equal, "cuda f32 | x: f32[?, 1] | bias: float".
  std::string text() const;
};

/// The values behind the symbols, asked only for what must be static.
using Actuals = ir::HostInputs;

}  // namespace ingot::frontend
