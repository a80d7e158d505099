#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"

// The strides that eager PyTorch gives its results: TensorIterator's rules applied op by op, in the author's order.
// Applied once to all inputs they give other strides in 6 to 12 % of random expressions.

namespace ingot::ir {

using Sizes = std::vector<int64_t>;

Sizes contiguous_strides(std::span<const int64_t> sizes);
/// The strides of a tensor of rank 4 or 5 in memory_format=channels_last or channels_last_3d.
Sizes channels_last_strides(std::span<const int64_t> sizes);
bool is_contiguous(std::span<const int64_t> sizes, std::span<const int64_t> strides);
bool is_non_overlapping_and_dense(std::span<const int64_t> sizes, std::span<const int64_t> strides);

/// A tensor as the rules see it.
struct Extents {
  Sizes sizes;
  Sizes strides;
};

/// The strides of a new result of `sizes` of a pointwise op over `inputs` (TensorIteratorBase: fast set-up, else
/// reorder_dimensions, then the permuted contiguous strides). Only the order of an input's own strides counts, so its
/// element size does not.
Sizes pointwise_strides(std::span<const int64_t> sizes, std::span<const Extents> inputs);
/// empty_like(input, memory_format=preserve).
Sizes preserve_strides(const Extents& input);
/// The strides of input.view(sizes) where it can be a view (computeStride in TensorUtils), else those of the contiguous
/// copy that reshape makes.
Sizes reshape_strides(const Extents& input, std::span<const int64_t> sizes);
/// The strides of cat(inputs), a tensor of `sizes`.
Sizes cat_strides(std::span<const int64_t> sizes, std::span<const Extents> inputs);
/// The strides of F.pad(input, …, mode="constant"), a tensor of `sizes`; `kept` is what negative padding leaves of the
/// input (constant_pad_nd).
Sizes pad_strides(std::span<const int64_t> sizes, const Extents& kept, const Extents& input);
/// The strides of source[…], where index tensors stand for the dims `dims` (ascending) and the others are taken whole
/// (index.Tensor). The result's `sizes` are PyTorch's: the broadcast indices stand where `dims` were if these are
/// neighbours, else in front. An index of rank 0 selects, as a number would.
Sizes gather_strides(std::span<const int64_t> sizes, const Extents& source, std::span<const uint32_t> dims,
                     std::span<const Extents> indices);

/// The tensor of every step. `host` are the evaluated slots of the graph's pool; `arguments` one for each param (empty
/// for numbers).
std::vector<Extents> eager_tensors(std::span<const LayoutStep> steps, std::span<const HostValue> host,
                                   std::span<const Extents> arguments);
/// The answer to a question for evaluated slots of its pool.
bool shares_memory(const AliasQuestion& question, std::span<const HostValue> host, std::span<const Extents> arguments);
/// The question about one step of a graph.
AliasQuestion alias_question(const GraphFrame& graph, uint32_t step);
/// Whether input.view(sizes) can be a view.
bool has_view(const Extents& input, std::span<const int64_t> sizes);

}  // namespace ingot::ir
