#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

// Whether an op may be computed of shards: of tensors that are cut along some dim, each into as many contiguous pieces,
// where nobody knows the other pieces. It may where the graph for the pieces is the graph for the whole, with another
// size, and each element of a piece of a result is made of elements in the same place along the cut.

namespace ingot::ir {

/// One for each parameter: the dim along which it is cut; none where it is whole.
using Cuts = std::vector<std::optional<uint32_t>>;

struct Sharding {
  Cuts params;  ///< as they were asked for, and along the cut also what was whole and is read along it
  std::vector<uint32_t> results;  ///< the dim along which each result is cut
  bool needs_elements = false;    ///< a piece of size 0 would be refused where the whole is not
};

/// How the graph is computed of parameters that are cut so, of which one is at least. Nothing where it is not: where
/// elements in another place along the cut are read (reductions, shifts, gathers, windows), where dims are merged or
/// split there, where anything is made of a place or a size along it, or drawn, where a parameter is written or a
/// result is not cut. What is whole is then read by every piece in full, and the sum of the pieces' gradients is its
/// gradient.
std::optional<Sharding> shard(const Graph& graph, const Cuts& cuts);

/// Whether `ones` is the same graph, lowered for pieces whose sizes along all of these cuts are 1. Which sizes are 1 is
/// for lowering to know, and an op may ask for it (`squeeze`, `if x.size(0) == 1`).
bool matches_unit_shard(const Graph& graph, std::span<const Cuts> cuts, const Graph& ones);

}  // namespace ingot::ir
