#pragma once

#include <string>

#include "frontend/tensor/builder.h"

// Calls for which eager raises an error because a tensor requires grad: PyTorch has no such gradient. A condition of
// the graph represents the missing gradient (ir/host/gradient_condition.h). If the condition does not hold, the call
// falls back to the op's source in eager, which raises its own error. A condition that holds stays in the graph,
// because a call that requests other gradients may fail.

namespace ingot::frontend {

/// Rejects the call if autograd records it and `tensor` depends on a tensor that requires grad. `what` names the
/// operand without a gradient: "nll_loss with respect to `weight`".
void refuse_gradient(Builder& builder, const Tensor& tensor, const std::string& what);

/// Fails if a requested gradient does not exist; otherwise removes the conditions of missing gradients.
void check_and_clear_missing_gradients(Builder& builder);

/// Removes the conditions of missing gradients that were stated so far.
void allow_gradients(ir::Graph& graph);

}  // namespace ingot::frontend
