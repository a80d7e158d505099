#pragma once

#include <optional>
#include <span>
#include <vector>

#include "frontend/gradient/indexed_value.h"

// The gradient of a gather that may read an element several times is a scatter-add. A kernel in which every element
// compares all indices computes the gradient in one pass (transpose.h). If tables and indices are large, the values and
// their positions become results, and the caller of the graph adds them up (ir::ScatterAdd).

namespace ingot::frontend {

/// Sums the values over dims that belong to no dim of the source and along which no index varies: all values along such
/// a dim go to the same elements. These dims then have size 1.
IndexedValue sum_unindexed_dims(Builder& builder, const IndexedValue& values, const ir::Access& access,
                                std::span<const ir::NodeId> indices);

/// The transpose of a gather as a scatter; nullopt if the gather reads no element twice. Takes the arguments of
/// `transposed`, with the values as `sum_unindexed_dims` returns them.
std::optional<TensorScatterAdd> as_scatter_add(Builder& builder, const IndexedValue& values, const ir::Access& access,
                                               std::span<const ir::NodeId> indices, const Shape& source);

}  // namespace ingot::frontend
