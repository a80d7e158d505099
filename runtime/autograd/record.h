#pragma once

#include <memory>

#include "runtime/api/op_state.h"

namespace ingot::runtime {

// How autograd gets to know of a call with tensors that require grad: by a node that keeps the arguments which a
// gradient reads (GradientNeeds) and calls the op's gradient on them. Of what was computed it keeps what is of a row,
// where rows are long (frontend/gradient/residuals.h).

class OpBackward;

/// Whether what the program keeps is small beside the arguments, or it keeps nothing.
bool is_worth_keeping(const Program& program, const CallKey& key);

/// The node, made before the call writes anything; null where no result has a gradient that is asked for. An argument
/// of which none has one is no input of it, and gets no gradient, as in eager, which an optimizer tells from zeros; but
/// of an operator, which is called `by_schema`, all are inputs: those that trace it know no better.
std::shared_ptr<OpBackward> begin_record(std::shared_ptr<const OpState> op, const BoundCall& call, const CallKey& key,
                                         bool by_schema);
/// Lets it keep what the call has computed for it, in the order of the program's results.
void keep(OpBackward& node, const at::Tensor& computed);
/// Makes it that of those results which have such a gradient. `results` are what the call returns.
void end_record(OpBackward& node, const Program& program, const CallKey& key, std::span<const at::Tensor> results);

/// Refuses to write what requires grad, or what has a gradient into what requires none.
void check_recorded_writes(const Program& program, const CallKey& key);

}  // namespace ingot::runtime
