#pragma once

#include <span>
#include <vector>

#include "frontend/gradient/indexed_value.h"

namespace ingot::frontend {

/// Where each dim of values of this shape leads in the source; nowhere along what the access broadcasts.
std::vector<std::vector<ir::Term>> terms_of(Builder& builder, const Shape& shape, const ir::Access& access);

/// What reading through an access is backwards: at each element of a source of this shape the sum of the values at all
/// indices that the access leads to it, 0 where it leads there from none. `indices` are the values of its leads, over
/// the same shape as `values`.
///
/// An element gathers what is its own, so sums have the order of any reduction. Of a gather that may read an element
/// several times, every element looks at all indices; of windows that overlap, which are asked to be of a static
/// size, one place of all windows is added after the other.
Tensor transposed(Builder& builder, const IndexedValue& values, const ir::Access& access,
                  std::span<const ir::NodeId> indices, const Shape& source);

/// a + b. What is no part of one of them, a constant 0, leaves the other as it is.
Tensor added(Builder& builder, const Tensor& a, const Tensor& b);

}  // namespace ingot::frontend
