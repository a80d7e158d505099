#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "ir/reduction_order.h"

// A reduction of at most kSpecializedSize elements is short. If a reader has other rows than a short reduction, the
// reduction would need a kernel of its own, and a workspace for its values. This pass replaces the reads of such a
// reduction by the combination of its elements, so that each reader computes the values in registers
// (docs/performance.md: short-reductions-unroll).

namespace ingot::ir {

/// Returns the graph with short reductions unrolled, simplified. Unrolls a reduction if its length is constant and some
/// reader would be in another kernel. The results have the bits that the target's kernels give them. Does not unroll
/// if a value would be computed again too often, if it is gathered, or if the graph would have too many more nodes.
Graph unroll_reductions(const Graph& graph, const ReductionOrder& order);

/// A size of a parameter.
struct ParamDim {
  uint32_t param, dim;
  auto operator<=>(const ParamDim&) const = default;
};

/// Returns the sizes that must be constant, and small, for `unroll_reductions` to unroll more reductions: lengths of
/// reductions over a single dim of unknown size.
std::vector<ParamDim> sizes_to_unroll(const Graph& graph);

}  // namespace ingot::ir
