#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/gradient/differentiate.h"

namespace ingot::frontend {

/// The gradients with respect to `of`, of the arguments of an op that has been evaluated on them, in an evaluation that
/// kept a tape: by the derivative that its author wrote, or by the rules. `incoming` are the gradients with respect to
/// what it returned, one a result; of a result that has none, nothing or None.
/// Errors: Error(Author) where there is no derivative, or the author's gives what does not fit.
std::vector<Gradient> op_gradients(Evaluation& evaluation, const Definition& op,
                                   std::span<const std::optional<Value>> arguments, const Value& returned,
                                   std::span<const std::optional<Value>> incoming, std::span<const Argument> of);

/// Adds the gradients to what the evaluation returns.
void add_gradients(Evaluation& evaluation, std::vector<Gradient> gradients, std::vector<Value>& returned);

/// What an op returned, from left to right.
std::span<const Value> results_of(const Value& returned);

Value call_library(Evaluation& evaluation, std::string_view name, std::vector<Value> arguments);

}  // namespace ingot::frontend
