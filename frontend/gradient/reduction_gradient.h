#pragma once

#include <optional>

#include "frontend/gradient/indexed_value.h"

namespace ingot::frontend {

struct GuardedGradient {
  ir::NodeId value;                      ///< over the reduction's domain
  std::optional<ir::NodeId> guard = {};  ///< it is 0 where this does not hold
};

/// The gradient with respect to the operand of a reduction. `of_rows` is that with respect to its values, over its
/// domain with the dims that go of size 1.
///
/// A maximum's is shared by all elements that are equal to it (amax), one's that is found with its index is that
/// element's, as in torch/csrc/autograd/FunctionsManual.cpp; a product's is the product of the other elements.
GuardedGradient reduction_gradient(Builder& builder, ir::NodeId reduction, const IndexedValue& of_rows);

}  // namespace ingot::frontend
