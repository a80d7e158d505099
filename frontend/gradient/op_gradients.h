#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/gradient/differentiate.h"

namespace ingot::frontend {

/// Computes the gradients with respect to `requested`, arguments of an op. The op has been evaluated on `arguments`, in
/// an evaluation that recorded a tape. Uses the custom backward if the author wrote one, else the derivative rules.
/// `incoming` are the gradients with respect to the results, one each; nullopt or None for a result that has none.
/// Errors: Error(Author) if there is no derivative, or if the custom backward returns values that do not fit.
std::vector<Gradient> op_gradients(Evaluation& evaluation, const Definition& op,
                                   std::span<const std::optional<Value>> arguments, const Value& returned,
                                   std::span<const std::optional<Value>> incoming, std::span<const Argument> requested);

/// Appends the gradients to `returned`, the values that the evaluation will return, and their sums to
/// Builder::scattered_sums.
void append_gradients(Evaluation& evaluation, std::vector<Gradient> gradients, std::vector<Value>& returned);

/// The values that an op returned, from left to right.
std::span<const Value> results_of(const Value& returned);

/// Calls a function of the library by its name.
Value call_library(Evaluation& evaluation, std::string_view name, std::vector<Value> arguments);

}  // namespace ingot::frontend
