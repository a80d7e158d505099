#pragma once

#include <map>

#include "frontend/tensor/builder.h"

// Indexing by tensors: a view whose coordinates are values. Like a slice, such a view is pushed down to the loads,
// which become gathers.

namespace ingot::frontend {

/// Indexes x by the tensors of `indices` at some of its dims, as x[:, i, j]. The broadcast dims of the indices replace
/// the indexed dims if the indexed dims are adjacent; otherwise they come first.
Tensor index_by_tensors(Builder& builder, const Tensor& x, const std::map<size_t, Tensor>& indices);
/// Selects along `dim` at the coordinate that a 0-dim tensor holds. Eager reads the coordinate on the host, then
/// selects.
Tensor select_by_tensor(Builder& builder, const Tensor& x, size_t dim, const Tensor& index);
/// torch.take, torch.index_select, torch.gather.
Tensor take(Builder& builder, const Tensor& x, const Tensor& index);
Tensor index_select(Builder& builder, const Tensor& x, size_t dim, const Tensor& index);
Tensor gather(Builder& builder, const Tensor& x, size_t dim, const Tensor& index);

}  // namespace ingot::frontend
