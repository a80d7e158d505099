#pragma once

#include <map>

#include "frontend/tensor/builder.h"

// Indexing by tensors. It is a view whose coordinates are values: it goes down to the loads as slices do, and leaves
// gathers there.

namespace ingot::frontend {

/// x with the tensors of `indices` at some of its dims, as x[:, i, j]: the dims that they broadcast to stand where the
/// indexed dims were if those are neighbours, and else in front.
Tensor index_by_tensors(Builder& builder, const Tensor& x, const std::map<size_t, Tensor>& indices);
/// x without `dim`, at the coordinate that a 0-dim tensor holds: what eager selects after it has read that on the host.
Tensor select_by_tensor(Builder& builder, const Tensor& x, size_t dim, const Tensor& index);
/// torch.take, torch.index_select, torch.gather.
Tensor take(Builder& builder, const Tensor& x, const Tensor& index);
Tensor index_select(Builder& builder, const Tensor& x, size_t dim, const Tensor& index);
Tensor gather(Builder& builder, const Tensor& x, size_t dim, const Tensor& index);

}  // namespace ingot::frontend
