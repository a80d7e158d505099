#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace ingot::ir {

/// The order in which a target's kernels combine the elements of a short row. Element i belongs to accumulator
/// i mod `accumulators`. An accumulator takes its elements in order, then a binary tree combines the accumulators.
struct ReductionOrder {
  uint32_t (*accumulators)(uint32_t length_bits);  ///< their number in rows of at most 2^length_bits elements
  bool adjacent_first = false;                     ///< the tree combines adjacent accumulators first; otherwise, halves
  bool fuses_products = false;                     ///< a product that is summed is not rounded (is_sum_of_products)
};

/// Whether the reduction is a sum of floats each of which is a product.
bool is_sum_of_products(const Graph& graph, NodeId reduction);

}  // namespace ingot::ir
