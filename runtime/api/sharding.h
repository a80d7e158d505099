#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/sharding.h"

// A call of which each process of a mesh has a shard. What is decided here hangs on the whole tensors alone, so that
// all of the processes decide alike, however large their shards are.

namespace ingot {

/// Along one dim of the mesh.
struct MeshCut {
  ir::Cuts tensors;           ///< one for each tensor of the request
  bool leaves_ones = false;   ///< some shard is of size 1 where the whole is not,
  bool leaves_empty = false;  ///< or of size 0
};

struct ShardingRequest {
  std::span<const at::Tensor> tensors;  ///< those among the arguments, whole and without data
  c10::Device device;                   ///< on which the shards are
  std::vector<MeshCut> mesh;
  bool recorded = false;  ///< a gradient is asked for
};

struct ShardedCall {
  struct Result {
    c10::ScalarType dtype;
    std::vector<int64_t> sizes, strides;        ///< of the whole
    std::vector<std::optional<uint32_t>> cuts;  ///< along each dim of the mesh
  };
  /// Along each dim of the mesh: as requested, and what was whole and is to be cut as well.
  std::vector<ir::Cuts> tensors;
  std::vector<Result> results;
};

}  // namespace ingot
