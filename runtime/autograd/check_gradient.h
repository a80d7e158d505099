#pragma once

#include <span>

#include "runtime/api/op_state.h"

namespace ingot::runtime {

/// Compares the op's gradient with finite differences: in float64, along a random direction for each floating-point
/// tensor, with random weights over the results' elements. The op should be smooth near the arguments' values.
/// Errors: Error(Author), with the parameter's name, for a gradient that is off by more than one part in 10⁴.
void check_gradient(const OpState& op, std::span<const Argument> arguments);

}  // namespace ingot::runtime
