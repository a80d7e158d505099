#pragma once

#include <optional>
#include <span>
#include <vector>

#include "frontend/gradient/indexed_value.h"

// The gradient of a gather that may read an element several times is a scatter-add. There are two ways to compute it.
// In one kernel, every element of the gathered tensor compares its position with all indices (transpose.h). If that
// tensor and the indices are large, this takes too long: the values and their positions become results instead, and the
// caller of the graph adds the values up (ir::ScatterAdd).
//
// In this file, the values are those that are added: the gradient with respect to the gather's result, over its domain.
// The source is the tensor from which the gather reads.

namespace ingot::frontend {

/// Sums the values over each dim that belongs to no dim of the source and along which no index varies: all values along
/// such a dim are added to one element of the source. The summed dims stay, with size 1.
IndexedValue sum_unindexed_dims(Builder& builder, const IndexedValue& values, const ir::Access& access,
                                std::span<const ir::NodeId> indices);

/// The transpose of a gather as a scatter; nullopt if the access is no gather, or cannot read an element twice. Takes
/// the arguments of `transposed`, with the values as `sum_unindexed_dims` returns them.
std::optional<TensorScatterAdd> as_scatter_add(Builder& builder, const IndexedValue& values, const ir::Access& access,
                                               std::span<const ir::NodeId> indices, const Shape& source);

}  // namespace ingot::frontend
