#pragma once

#include <span>
#include <vector>

#include "frontend/gradient/indexed_value.h"

namespace ingot::frontend {

/// Where each dim of values of this shape moves in the source; no terms along dims that the access broadcasts.
std::vector<std::vector<ir::Term>> terms_of(Builder& builder, const Shape& shape, const ir::Access& access);

/// Transposes a read through an access: each element of a source of this shape is the sum of the values at all indices
/// that the access maps to it, or 0 if there are none. `indices` are the values of the access's indirect indices, over
/// the shape of `values`.
///
/// An element gathers its own values, so sums have the order of any reduction. For a gather that may read an element
/// several times, every element compares all indices. For overlapping windows, one position of all windows is added
/// after the other; the size of the windows is asked to be static.
Tensor transposed(Builder& builder, const IndexedValue& values, const ir::Access& access,
                  std::span<const ir::NodeId> indices, const Shape& source);

/// a + b. Where a block of one operand is a constant 0, the result is the other operand's node.
Tensor added(Builder& builder, const Tensor& a, const Tensor& b);

}  // namespace ingot::frontend
