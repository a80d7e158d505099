#pragma once

#include <span>
#include <vector>

#include "frontend/gradient/indexed_value.h"

namespace ingot::frontend {

/// For each dim of an index space of this shape: the terms of the access that contain the index along this dim; none if
/// the access broadcasts the dim.
std::vector<std::vector<ir::Term>> terms_of(Builder& builder, const Shape& shape, const ir::Access& access);

/// Transposes a read through an access: each element of a source of this shape is the sum of the values at all indices
/// that the access maps to it, or 0 if there are none. `indices` are the values of the access's indirect indices, over
/// the shape of `values`.
///
/// Each element of the source is computed as a reduction of the values that belong to it, so the sum has the fixed
/// order of a reduction. For a gather that may read an element several times, each element of the source compares its
/// position with all indices. For overlapping windows, the values at one position of all windows are added, then those
/// at the next position, and so on; the size of the windows is specialised.
Tensor transposed(Builder& builder, const IndexedValue& values, const ir::Access& access,
                  std::span<const ir::NodeId> indices, const Shape& source);

/// a + b. If a block of one operand is a constant 0, the result is the other operand's node.
Tensor added(Builder& builder, const Tensor& a, const Tensor& b);

}  // namespace ingot::frontend
