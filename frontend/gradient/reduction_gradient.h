#pragma once

#include <optional>

#include "frontend/gradient/indexed_value.h"

namespace ingot::frontend {

/// A gradient that is 0 for a part of the elements.
struct MaskedGradient {
  ir::NodeId value;                     ///< over the reduction's domain
  std::optional<ir::NodeId> mask = {};  ///< the gradient is 0 if this is false
};

/// Computes the gradient with respect to the operand of a reduction. `row_gradient` is the gradient with respect to the
/// reduction's value, over the domain with the reduced dims of size 1.
///
/// The formulas are those of torch/csrc/autograd/FunctionsManual.cpp. Max and Min: the elements that equal the extreme
/// share the gradient equally. ArgMax and ArgMin: the gradient goes to the element at the index alone. Prod: the
/// gradient with respect to an element is the row's gradient times the product of the row's other elements.
MaskedGradient reduction_gradient(Builder& builder, ir::NodeId reduction, const IndexedValue& row_gradient);

}  // namespace ingot::frontend
