#pragma once

#include <string>

#include "frontend/tensor/builder.h"

// Calls that eager refuses because a tensor requires grad. A refusal is a condition of the graph
// (ir/host/gradient_condition.h). If it does not hold, the call falls back to the op's source in eager, which raises
// its own error. A condition that holds means that a call with other gradients may be refused.

namespace ingot::frontend {

/// Refuses the call if autograd records it and something that `of` depends on requires grad. `reason` names what has no
/// gradient: "the weight of nll_loss".
void refuse_gradient(Builder& builder, const Tensor& of, const std::string& reason);

/// Fails if a gradient that is asked was refused; otherwise removes the conditions.
void require_gradients(Builder& builder);

/// Removes the refusals stated so far.
void allow_gradients(ir::Graph& graph);

}  // namespace ingot::frontend
