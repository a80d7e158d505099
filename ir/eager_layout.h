#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"

// Computes the strides that eager PyTorch gives its results. Applies TensorIterator's rules op by op, in the order of
// the op's source, because applying the rules once to all inputs of an expression can give other strides.

namespace ingot::ir {

using Sizes = std::vector<int64_t>;

Sizes contiguous_strides(std::span<const int64_t> sizes);
/// The strides of a tensor of rank 4 in memory_format=channels_last, or of rank 5 in channels_last_3d.
Sizes channels_last_strides(std::span<const int64_t> sizes);
bool is_contiguous(std::span<const int64_t> sizes, std::span<const int64_t> strides);
bool is_non_overlapping_and_dense(std::span<const int64_t> sizes, std::span<const int64_t> strides);

/// The sizes and strides of a tensor, which are all that the rules depend on.
struct SizesAndStrides {
  Sizes sizes;
  Sizes strides;
};

/// The strides of the new result, of sizes `sizes`, of a pointwise op over `inputs` (TensorIteratorBase: the fast
/// set-up, else reorder_dimensions, then permuted contiguous strides). TensorIterator compares only strides of the same
/// input with each other, so element sizes do not matter.
Sizes pointwise_strides(std::span<const int64_t> sizes, std::span<const SizesAndStrides> inputs);
/// The strides of empty_like(input, memory_format=torch.preserve_format).
Sizes preserve_strides(const SizesAndStrides& input);
/// The strides of input.view(sizes) if that view exists (computeStride in TensorUtils), else the strides of the
/// contiguous copy that reshape makes.
Sizes reshape_strides(const SizesAndStrides& input, std::span<const int64_t> sizes);
/// The strides of cat(inputs), a tensor of sizes `sizes`.
Sizes cat_strides(std::span<const int64_t> sizes, std::span<const SizesAndStrides> inputs);
/// The strides of F.pad(input, …, mode="constant"), a tensor of sizes `sizes` (constant_pad_nd). `cropped` is the part
/// of `input` that negative padding leaves.
Sizes pad_strides(std::span<const int64_t> sizes, const SizesAndStrides& cropped, const SizesAndStrides& input);
/// The strides of source[…] (index.Tensor) with index tensors at the dims `dims` (ascending) and full slices at the
/// others. `sizes` are the result's sizes as PyTorch orders them: the broadcast dims of the indices replace `dims` if
/// `dims` are adjacent; otherwise they come first. An index of rank 0 removes its dim, as a number does.
Sizes gather_strides(std::span<const int64_t> sizes, const SizesAndStrides& source, std::span<const uint32_t> dims,
                     std::span<const SizesAndStrides> indices);

/// Returns the sizes and strides of every step's tensor. `host`: the value of each expression of the graph's HostPool,
/// by id (see ir::evaluate). `arguments`: one entry for each parameter, empty for a number.
std::vector<SizesAndStrides> eager_tensors(std::span<const LayoutStep> steps, std::span<const HostValue> host,
                                           std::span<const SizesAndStrides> arguments);
/// Evaluates an alias query: whether the two tensors share storage. `host`: the value of each expression of the query's
/// HostPool, by id.
bool shares_memory(const AliasQuery& query, std::span<const HostValue> host,
                   std::span<const SizesAndStrides> arguments);
/// Returns the data from which `shares_memory` can decide, for the strides of a call, whether the tensor of layout step
/// `step` shares the storage of the step's input. `graph`: the lowered op without its nodes.
AliasQuery alias_query(const GraphFrame& graph, uint32_t step);
/// Whether input.view(sizes) exists, that is, needs no copy.
bool has_view(const SizesAndStrides& input, std::span<const int64_t> sizes);

}  // namespace ingot::ir
