#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/sharding.h"

// A call on shards: each process of a mesh has one. The decisions depend on the whole tensors only, so that all
// processes make the same decisions, whatever the sizes of their shards.

namespace ingot {

/// The cuts along one dim of the mesh: the dim of each tensor that is divided among the processes along it, if any.
struct MeshCut {
  ir::ShardedDims tensors;        ///< one for each tensor of the request
  bool has_unit_shards = false;   ///< some shard has size 1 although the whole tensor does not
  bool has_empty_shards = false;  ///< the same for size 0
};

struct ShardingRequest {
  std::span<const at::Tensor> tensors;  ///< the tensors among the arguments, whole and without data
  c10::Device device;                   ///< the device of the shards
  std::vector<MeshCut> mesh;
  bool is_recorded = false;  ///< a gradient is requested
};

struct ShardedCall {
  struct Result {
    c10::ScalarType dtype;
    std::vector<int64_t> sizes, strides;        ///< of the whole result
    std::vector<std::optional<uint32_t>> cuts;  ///< along each dim of the mesh
  };
  /// Along each dim of the mesh: the requested cuts, plus cuts of tensors that were whole and must be cut as well.
  std::vector<ir::ShardedDims> tensors;
  std::vector<Result> results;
};

}  // namespace ingot
