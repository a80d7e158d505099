#pragma once

#include <optional>
#include <span>
#include <vector>

#include "frontend/gradient/indexed_value.h"

// The gradient of a gather that may read an element several times is a scatter, in which values meet. A kernel in which
// every element looks at all indices does it in one pass (transpose.h); where tables and indices are large, values and
// the positions where they go are results, and whoever runs the graph adds them up (ir::Scatter).

namespace ingot::frontend {

/// Adds up what goes along no dim of the source, nor of any index: the elements that it leads to are the same for all
/// of it. The dims are of size 1 then.
IndexedValue summed_where_idle(Builder& builder, const IndexedValue& values, const ir::Access& access,
                               std::span<const ir::NodeId> indices);

/// What reading through a gather is backwards; nothing where it reads no element twice. Arguments as those of
/// `transposed`, the values as `summed_where_idle` leaves them.
std::optional<Scattered> scattered(Builder& builder, const IndexedValue& values, const ir::Access& access,
                                   std::span<const ir::NodeId> indices, const Shape& source);

}  // namespace ingot::frontend
