#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

// Decides whether an op can be computed shard by shard, without communication. Tensors are sharded along one dim each,
// all into the same number of contiguous shards. An op can be sharded if lowering gives the same graph for a shard as
// for the whole, up to the size of the sharded dim, and if each element of a result depends only on elements at the
// same position along the sharded dim.

namespace ingot::ir {

/// One entry for each parameter: the dim along which it is sharded; none if it is replicated.
using ShardedDims = std::vector<std::optional<uint32_t>>;

struct Sharding {
  ShardedDims params;  ///< the requested dims, plus those of replicated parameters that are read along the sharded dim
  std::vector<uint32_t> results;  ///< the dim along which each result is sharded
  bool needs_elements = false;    ///< a shard of size 0 would violate a condition that the whole satisfies
};

/// Returns how to compute the graph from parameters that are sharded along `sharded_dims`; at least one parameter must
/// be sharded. Returns nullopt if that is not possible:
/// - if elements at another position along the sharded dim are read (reductions, shifts, gathers, windows),
/// - if the sharded dim is split, or merged with another dim,
/// - if a value depends on a position or a size along the sharded dim, or on random numbers,
/// - if a parameter is written, or a result is not sharded.
/// Every shard reads a replicated parameter in full. The parameter's gradient is the sum of the gradients of all
/// shards.
std::optional<Sharding> shard(const Graph& graph, const ShardedDims& sharded_dims);

/// Whether `unit_shard`, the graph lowered for shards of size 1 along the dims of all `shardings`, is the same graph.
/// Lowering knows which sizes are 1, and an op may depend on that (`squeeze`, `if x.size(0) == 1`).
bool matches_unit_shard(const Graph& graph, std::span<const ShardedDims> shardings, const Graph& unit_shard);

}  // namespace ingot::ir
