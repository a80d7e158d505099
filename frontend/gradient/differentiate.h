#pragma once

#include <optional>
#include <span>
#include <vector>

#include "frontend/gradient/scatter.h"
#include "frontend/interpret/evaluation.h"

namespace ingot::frontend {

/// A tensor that an op returns, and the gradient of something with respect to it, of the same shape.
struct Cotangent {
  Tensor value, gradient;
};

/// An argument of the op, a tensor as it came in.
struct Argument {
  uint32_t param;
  Tensor tensor;
};

/// A gradient. Where it is a sum that the caller takes, the tensor holds zeros.
struct Gradient {
  Tensor tensor;
  std::optional<ScatteredSum> sum = {};
};

/// The gradients of the same thing with respect to these arguments, each of its argument's shape and dtype: reverse
/// mode over the graph of an evaluation that kept a tape. Gradients of 16-bit floats are summed up in float32.
///
/// A gradient does not flow into the arm of a `where` that was not taken, whatever the derivative is there.
/// Those of gathers are sums of the caller's where the evaluation may have such.
/// Errors: Error(Author) where there is no derivative.
std::vector<Gradient> gradients(Evaluation& evaluation, std::span<const Cotangent> cotangents,
                                std::span<const Argument> arguments);

}  // namespace ingot::frontend
