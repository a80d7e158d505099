#pragma once

#include <memory>

#include "runtime/api/op_state.h"

namespace ingot::runtime {

// Records calls with tensors that require grad. A node keeps the arguments that a gradient reads (GradientNeeds) and
// calls the op's gradient on them. A node also keeps residuals (values per row,
// frontend/gradient/residuals.h) if these are small compared to the arguments.

class OpBackward;

/// Whether the program's residuals are small compared to the arguments, or there are none.
bool has_small_residuals(const Program& program, const CallKey& key);

/// Makes the node; returns null if no result has a requested gradient. Call this function before the call of the op
/// writes anything. An argument
/// without a gradient is no input of the node and gets no gradient, as in eager: an optimizer distinguishes that from
/// zeros. For a registered operator (`is_registered`) all arguments are inputs, because a trace of the operator knows
/// only its schema.
std::shared_ptr<OpBackward> begin_record(std::shared_ptr<const OpState> op, const BoundCall& call, const CallKey& key,
                                         bool is_registered);
/// Saves the value of a residual in the node. Call this function in the order of the program's results.
void save_residual(OpBackward& node, const at::Tensor& value);
/// Sets the node as the grad_fn of the results that have a requested gradient. `results`: the returned results.
void end_record(OpBackward& node, const Program& program, const CallKey& key, std::span<const at::Tensor> results);

/// Rejects a write into a tensor that requires grad, and a write of a value with a gradient into a tensor that requires
/// none.
void check_recorded_writes(const Program& program, const CallKey& key);

}  // namespace ingot::runtime
