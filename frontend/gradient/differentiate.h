#pragma once

#include <optional>
#include <span>
#include <vector>

#include "frontend/gradient/scatter.h"
#include "frontend/interpret/evaluation.h"

namespace ingot::frontend {

/// A tensor that an op returns, and the incoming gradient with respect to it, of the same shape.
struct Cotangent {
  Tensor value, gradient;
};

/// A tensor argument of the op, with the values that it had when the op was called.
struct Argument {
  uint32_t param;  ///< the index of its parameter in the graph
  Tensor tensor;
};

/// A gradient. If the caller of the graph computes it as a sum, the tensor holds zeros.
struct Gradient {
  Tensor tensor;
  std::optional<ScatteredSum> sum = {};
};

/// Computes the gradients with respect to these arguments, by reverse mode over the graph of an evaluation that
/// recorded a tape. Each gradient has its argument's shape and dtype. Gradients of 16-bit floats are summed in float32.
///
/// No gradient flows into the arm of a `where` that was not taken, whatever the derivative of the arm is. Gradients of
/// gathers are sums that the caller of the graph computes, if the evaluation allows that (Evaluation::may_scatter).
/// Errors: Error(Author) if there is no derivative.
std::vector<Gradient> gradients(Evaluation& evaluation, std::span<const Cotangent> cotangents,
                                std::span<const Argument> arguments);

}  // namespace ingot::frontend
