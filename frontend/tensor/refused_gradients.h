#pragma once

#include <string>

#include "frontend/tensor/builder.h"

// Calls that eager refuses because a tensor requires grad. A refusal is a condition of the graph
// (ir/host/gradient_condition.h): where it does not hold, the call goes to the op's text, and eager itself raises its
// error. One that holds says that another call, of which other gradients are asked, may be refused.

namespace ingot::frontend {

/// Refuses the call if autograd records it and something that `of` is made of requires grad. `reason` says what has no
/// gradient: "the weight of nll_loss".
void refuse_gradient(Builder& builder, const Tensor& of, const std::string& reason);

/// Fails where a gradient was refused that is asked; else the conditions are taken back.
void require_gradients(Builder& builder);

/// Takes back what was refused so far.
void allow_gradients(ir::Graph& graph);

}  // namespace ingot::frontend
