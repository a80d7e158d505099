#pragma once

#include <span>

#include "runtime/api/op_state.h"

namespace ingot::runtime {

/// Compares the op's gradient with what differences give: in float64, along a random direction for each tensor of
/// floats, weighted at random over the results' elements. The arguments' values should be where the op is smooth.
/// Errors: Error(Author) for a gradient that is farther off than a part in 10⁴, naming the parameter.
void check_gradient(const OpState& op, std::span<const Argument> arguments);

}  // namespace ingot::runtime
