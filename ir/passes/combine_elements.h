#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "ir/reduction_order.h"

namespace ingot::ir {

/// An element of a row: one node; or, for a sum of products that are not rounded, two factors.
using Element = std::vector<NodeId>;

/// A value of a reduction (SourceRef::index), and the dtype of its elements.
struct ReducedValue {
  ReduceKind kind;
  uint32_t index;
  DType dtype;
};

/// Adds a node that combines the elements of a row in this order. `elements` must not be empty.
NodeId combine_elements(Graph& graph, const ReducedValue& value, const std::vector<Element>& elements,
                        const ReductionOrder& order);

}  // namespace ingot::ir
