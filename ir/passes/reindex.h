#pragma once

#include <vector>

#include "ir/graph.h"

namespace ingot::ir {

/// One coordinate of an old index as a function of a new index: offset + Σ terms.coef · index[terms.dim].
struct AffineCoordinate {
  HostId offset;
  std::vector<Term> terms = {};
};

/// Maps an index of a new space to an index of an old one.
struct AffineMap {
  std::vector<AffineCoordinate> coordinates;  ///< one per dim of the old index
  std::vector<HostId> old_sizes, new_sizes;   ///< a dim of size 1 has index 0, whatever size it broadcasts to
  /// Indices that each access must check in addition to its own. They have no terms: they select nothing.
  std::vector<IndirectIndex> checks = {};
  std::vector<NodeId> checked = {};  ///< the values of `checks`, as functions of the new index
};

/// Adds, for each root, a node whose value at an index of the new space is the root's value at the old index. Returns
/// the new roots.
std::vector<NodeId> reindex(Graph& graph, const std::vector<NodeId>& roots, const AffineMap& map);

}  // namespace ingot::ir
