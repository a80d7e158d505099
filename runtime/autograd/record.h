#pragma once

#include <memory>

#include "runtime/api/op_state.h"

namespace ingot::runtime {

/// Makes autograd know how the results of a call came from those of its tensors that require grad: by a node that keeps
/// the arguments and calls the op's gradient on them. Nothing that was computed is kept. A result that has no gradient
/// with respect to any of these is left alone. `results` are what the call returns.
void record(std::shared_ptr<const OpState> op, const Program& program, const Facts& facts,
            std::span<const at::Tensor> results);

/// Refuses to write what requires grad, or what has a gradient into what requires none.
void check_recorded_writes(const Program& program, const Facts& facts);

}  // namespace ingot::runtime
