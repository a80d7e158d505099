#pragma once

#include <functional>
#include <span>
#include <vector>

#include "frontend/tensor/concat_blocks.h"

// Views of tensors, tile by tile, and what makes one tensor of several. Dims are the tensor's, from the front, and
// arguments are already checked; eager's layouts are the caller's (views.h).

namespace ingot::frontend {

/// One tile: a node over a shape.
Tensor whole(Builder& builder, ir::NodeId node, ir::DType dtype, Shape shape);

/// Whether every tile reaches across the whole of a dim of the grid.
bool uncut(Builder& builder, const Tensor& tensor, size_t grid_dim);

/// Of a shape with a size of 0, so that its values do not matter.
Tensor without_elements(Builder& builder, ir::DType dtype, Shape shape);

Tensor permuted(Builder& builder, const Tensor& tensor, std::span<const size_t> order);
Tensor unsqueezed(Builder& builder, const Tensor& tensor, size_t dim);
Tensor selected(Builder& builder, const Tensor& tensor, size_t dim, ir::HostId index);
Tensor sliced(Builder& builder, const Tensor& tensor, size_t dim, ir::HostId start, ir::HostId length, int64_t step);
Tensor flipped(Builder& builder, const Tensor& tensor, size_t dim);
/// Broadcast to a shape of at least its rank.
Tensor expanded(Builder& builder, const Tensor& tensor, std::span<const ir::HostId> shape);
/// The sizes multiply to that of the dim.
Tensor unflattened(Builder& builder, const Tensor& tensor, size_t dim, std::span<const ir::HostId> sizes);
Tensor flattened(Builder& builder, const Tensor& tensor, size_t dim, size_t count);
/// The same values with no merged dims but those that cross tiles undone: its dims are the finest there are.
Tensor unmerged(Builder& builder, const Tensor& tensor);
/// Row-major order kept. The shapes have the same number of elements (the caller states the condition).
Tensor reshaped(Builder& builder, const Tensor& tensor, std::span<const ir::HostId> shape);
/// The same values, through which no gradient flows.
Tensor detached(Builder& builder, Tensor tensor);
/// Side by side along a dim; all of one dtype and rank, equal in the other dims.
Tensor concatenated(Builder& builder, std::span<const Tensor> tensors, size_t dim);

/// The tensors of one op must be on one device, in PyTorch's words; CPU scalars go anywhere.
void require_same_device(const Builder& builder, std::span<const Tensor> tensors);

/// Applies `make` to the nodes of tensors that broadcast together, tile by tile. Where the tensors are cut or merged
/// differently they are cut and split alike first. `make` gets one node a tensor and returns the node of the result.
Tensor combined(Builder& builder, std::span<const Tensor> tensors, ir::DType dtype,
                const std::function<ir::NodeId(std::span<const ir::NodeId>)>& make);

/// A part of the grid on which each of several tensors is one tile, all tiles of one index space.
struct AlignedBlock {
  Shape offsets;
  std::vector<ConcatBlock> blocks;  ///< one a tensor
};
/// Tensors that broadcast together, cut alike.
struct AlignedBlocks {
  Shape grid;
  Reassociation groups;
  std::vector<AlignedBlock> blocks;
};
AlignedBlocks aligned_blocks(Builder& builder, std::span<const Tensor> tensors);

/// Merges pushed down into the tiles where no merge crosses them, as every function here leaves its result.
Tensor canonicalized(Builder& builder, Tensor tensor);

}  // namespace ingot::frontend
