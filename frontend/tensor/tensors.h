#pragma once

#include <functional>
#include <span>
#include <vector>

#include "frontend/tensor/concat_blocks.h"

// Views of tensors, block by block, and functions that make one tensor of several. Dims are the tensor's, from the
// front, and arguments are already checked. The caller records eager's layouts (views.h).

namespace ingot::frontend {

/// A tensor of one block: a node over a shape.
Tensor whole(Builder& builder, ir::NodeId node, ir::DType dtype, Shape shape);

/// Whether every block covers the whole of a dim of the grid.
bool blocks_span_dim(Builder& builder, const Tensor& tensor, size_t grid_dim);

/// An empty tensor: a size of the shape is 0, so the values do not matter.
Tensor without_elements(Builder& builder, ir::DType dtype, Shape shape);

Tensor permuted(Builder& builder, const Tensor& tensor, std::span<const size_t> order);
Tensor unsqueezed(Builder& builder, const Tensor& tensor, size_t dim);
Tensor selected(Builder& builder, const Tensor& tensor, size_t dim, ir::HostId index);
Tensor sliced(Builder& builder, const Tensor& tensor, size_t dim, ir::HostId start, ir::HostId length, int64_t step);
Tensor flipped(Builder& builder, const Tensor& tensor, size_t dim);
/// Broadcasts to a shape of at least the tensor's rank.
Tensor expanded(Builder& builder, const Tensor& tensor, std::span<const ir::HostId> shape);
/// Splits a dim; the product of the sizes is the size of the dim.
Tensor unflattened(Builder& builder, const Tensor& tensor, size_t dim, std::span<const ir::HostId> sizes);
Tensor flattened(Builder& builder, const Tensor& tensor, size_t dim, size_t count);
/// The same values without merged dims: the dims are those of the grid, or, for a tensor of one block, those of the
/// block.
Tensor unmerged(Builder& builder, const Tensor& tensor);
/// Reshapes in row-major order. The shapes have the same number of elements (the caller states the condition).
Tensor reshaped(Builder& builder, const Tensor& tensor, std::span<const ir::HostId> shape);
/// The same values, without a gradient.
Tensor detached(Builder& builder, Tensor tensor);
/// Concatenates along a dim; all tensors have one dtype and rank, and equal sizes in the other dims.
Tensor concatenated(Builder& builder, std::span<const Tensor> tensors, size_t dim);

/// Fails, with PyTorch's message, if the tensors of one op are on different devices; CPU scalars are allowed
/// everywhere.
void require_same_device(const Builder& builder, std::span<const Tensor> tensors);

/// Applies `make` to the nodes of tensors that broadcast together, block by block. Tensors with different blocks or
/// merged dims are first split in the same way. `make` takes one node per tensor and returns the node of the result.
Tensor combined(Builder& builder, std::span<const Tensor> tensors, ir::DType dtype,
                const std::function<ir::NodeId(std::span<const ir::NodeId>)>& make);

/// A region of the grid in which each of several tensors is one block, all blocks over the same index space.
struct AlignedBlock {
  Shape offsets;
  std::vector<ConcatBlock> blocks;  ///< one per tensor
};
/// Tensors that broadcast together, split into the same regions.
struct AlignedBlocks {
  Shape grid;
  Reassociation groups;
  std::vector<AlignedBlock> blocks;
};
AlignedBlocks aligned_blocks(Builder& builder, std::span<const Tensor> tensors);

/// Moves each merge from Tensor::groups to ConcatBlock::groups, unless the tensor is divided into blocks along an inner
/// one of the merged dims. All functions here return tensors in this form.
Tensor canonicalized(Builder& builder, Tensor tensor);

}  // namespace ingot::frontend
