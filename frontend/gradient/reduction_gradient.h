#pragma once

#include <optional>

#include "frontend/gradient/indexed_value.h"

namespace ingot::frontend {

struct GuardedGradient {
  ir::NodeId value;                      ///< over the reduction's domain
  std::optional<ir::NodeId> guard = {};  ///< the gradient is 0 if this is false
};

/// Computes the gradient with respect to the operand of a reduction. `row_gradient` is the gradient with respect to the
/// reduction's value, over the domain with the reduced dims of size 1.
///
/// As in torch/csrc/autograd/FunctionsManual.cpp, all elements equal to an extreme share its gradient (amax). If the
/// reduction also gives the extreme's index, the gradient goes to that element alone. For a product, the gradient of an
/// element is multiplied by the product of the other elements.
GuardedGradient reduction_gradient(Builder& builder, ir::NodeId reduction, const IndexedValue& row_gradient);

}  // namespace ingot::frontend
