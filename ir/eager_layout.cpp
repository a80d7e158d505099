#include "ir/eager_layout.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace ingot::ir {
namespace {

using Dims = std::span<const int64_t>;

int64_t element_count(Dims sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

/// Whether the strides are those of a tensor without gaps whose dims are laid out in `order`, innermost first. Ignores
/// dims of size 1.
bool is_dense_in_order(Dims sizes, Dims strides, Dims order) {
  int64_t expected = 1;
  for (const int64_t d : order) {
    const auto i = static_cast<size_t>(d);
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

constexpr int64_t kChannelsLast2d[] = {1, 3, 2, 0};
constexpr int64_t kChannelsLast3d[] = {1, 4, 3, 2, 0};

/// Whether the strides are those of memory_format=channels_last, or for rank 5 of channels_last_3d.
bool is_channels_last(Dims sizes, Dims strides) {
  return (sizes.size() == 4 && is_dense_in_order(sizes, strides, kChannelsLast2d)) ||
         (sizes.size() == 5 && is_dense_in_order(sizes, strides, kChannelsLast3d));
}

/// The strides of a new tensor laid out in `order`, innermost dim first.
Sizes dense_strides(Dims sizes, Dims order) {
  Sizes strides(sizes.size());
  int64_t next = 1;
  for (const int64_t d : order) {
    const auto i = static_cast<size_t>(d);
    strides[i] = next;
    next *= sizes[i];
  }
  return strides;
}

/// Sorts the dims from the innermost to the outermost, as TensorIterator does. `compare` returns 0 for an ambiguous
/// pair: the insertion sort then keeps the order of the two dims and continues with the next one. The comparison is not
/// a strict order, so another sorting algorithm could give another result.
template <typename Compare>
std::vector<int64_t> order_dims(size_t rank, const Compare& compare) {
  std::vector<int64_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  for (size_t i = 1; i < rank; ++i) {
    size_t position = i;
    for (size_t before = i; before-- > 0;) {
      const int comparison = compare(order[before], order[position]);
      if (comparison > 0) {
        std::swap(order[before], order[position]);
        position = before;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  return order;
}

/// Compares two dims by the strides of one tensor: 1 if dim `a` should be outside dim `b`, -1 if inside, 0 if
/// ambiguous.
int compare_dims(Dims sizes, Dims strides, int64_t a, int64_t b) {
  const int64_t stride_a = strides[static_cast<size_t>(a)], stride_b = strides[static_cast<size_t>(b)];
  if (stride_a == 0 || stride_b == 0) return 0;  // broadcast
  if (stride_a != stride_b) return stride_a < stride_b ? -1 : 1;
  return sizes[static_cast<size_t>(a)] > sizes[static_cast<size_t>(b)] ? 1 : 0;
}

/// The strides of an input after it is expanded to `sizes`.
Sizes broadcast_strides(Dims sizes, const SizesAndStrides& input) {
  Sizes strides(sizes.size());
  const size_t missing = sizes.size() - input.sizes.size();
  for (size_t d = 0; d < input.sizes.size(); ++d) {
    const bool is_repeated = input.sizes[d] == 1 && sizes[missing + d] != 1;
    strides[missing + d] = is_repeated ? 0 : input.strides[d];
  }
  return strides;
}

/// TensorIterator's fast set-up, for inputs that need neither broadcasting nor reordering; nullopt for other inputs.
std::optional<Sizes> same_layout_strides(Dims sizes, std::span<const SizesAndStrides> inputs) {
  const auto all = [&](const auto& holds) { return std::ranges::all_of(inputs, holds); };
  if (inputs.empty()) return contiguous_strides(sizes);
  if (!all([&](const SizesAndStrides& x) { return x.sizes == inputs[0].sizes; })) return std::nullopt;
  if (all([](const SizesAndStrides& x) { return is_contiguous(x.sizes, x.strides); })) {
    return contiguous_strides(sizes);
  }
  if (sizes.size() == 4 && all([](const SizesAndStrides& x) { return is_channels_last(x.sizes, x.strides); })) {
    return dense_strides(sizes, kChannelsLast2d);
  }
  const bool are_dense = all([&](const SizesAndStrides& x) {
    return x.strides == inputs[0].strides && is_non_overlapping_and_dense(x.sizes, x.strides);
  });
  return are_dense ? std::optional(inputs[0].strides) : std::nullopt;
}

/// The strides of input.view(sizes); nullopt if no such view exists. As PyTorch's computeStride does, divides the
/// input's dims into groups that are contiguous in memory, and splits each group into dims of the view.
std::optional<Sizes> view_strides(const SizesAndStrides& input, Dims sizes) {
  if (input.sizes.empty()) return Sizes(sizes.size(), 1);
  if (element_count(input.sizes) == 0) {
    return std::ranges::equal(input.sizes, sizes) ? input.strides : contiguous_strides(sizes);
  }
  Sizes strides(sizes.size());
  size_t first_done = sizes.size();  // the strides of the view's dims from this one on are computed
  int64_t group_stride = input.strides.back(), group_elements = 1;
  for (size_t d = input.sizes.size(); d-- > 0;) {
    group_elements *= input.sizes[d];
    const bool ends_group =
        d == 0 || (input.sizes[d - 1] != 1 && input.strides[d - 1] != group_elements * group_stride);
    if (!ends_group) continue;
    int64_t covered = 1;
    while (first_done > 0 && (covered < group_elements || sizes[first_done - 1] == 1)) {
      --first_done;
      strides[first_done] = covered * group_stride;
      covered *= sizes[first_done];
    }
    if (covered != group_elements) return std::nullopt;
    if (d > 0) group_stride = input.strides[d - 1];
    group_elements = 1;
  }
  if (first_done != 0) return std::nullopt;
  return strides;
}

/// Whether PyTorch suggests channels_last for a tensor: its strides ascend in the dim order of channels_last. If the
/// strides fit the contiguous order as well, PyTorch suggests contiguous.
bool suggests_channels_last(const SizesAndStrides& input) {
  const size_t rank = input.sizes.size();
  if (rank != 4 && rank != 5) return false;
  if (input.strides[1] == 0) return false;
  int64_t min_stride = 0;
  for (const int64_t d : rank == 4 ? Dims(kChannelsLast2d) : Dims(kChannelsLast3d)) {
    const int64_t size = input.sizes[static_cast<size_t>(d)];
    const int64_t stride = input.strides[static_cast<size_t>(d)];
    if (size == 0 || stride < min_stride) return false;
    if (d == 0 && min_stride == input.strides[1]) return false;  // every dim but the batch has size 1
    min_stride = size > 1 ? stride * size : stride;
  }
  return true;
}

}  // namespace

Sizes contiguous_strides(Dims sizes) {
  Sizes strides(sizes.size());
  int64_t next = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = next;
    next *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

Sizes channels_last_strides(Dims sizes) {
  return dense_strides(sizes, sizes.size() == 4 ? Dims(kChannelsLast2d) : Dims(kChannelsLast3d));
}

bool is_contiguous(Dims sizes, Dims strides) {
  if (element_count(sizes) == 0) return true;
  std::vector<int64_t> order(sizes.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return is_dense_in_order(sizes, strides, order);
}

bool is_non_overlapping_and_dense(Dims sizes, Dims strides) {
  if (is_contiguous(sizes, strides)) return true;
  std::vector<int64_t> order;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1) order.push_back(static_cast<int64_t>(d));
  }
  std::ranges::sort(order, {}, [&](int64_t d) { return strides[static_cast<size_t>(d)]; });
  return is_dense_in_order(sizes, strides, order);
}

Sizes pointwise_strides(Dims sizes, std::span<const SizesAndStrides> inputs) {
  if (auto strides = same_layout_strides(sizes, inputs)) return *strides;
  std::vector<Sizes> broadcast;
  for (const SizesAndStrides& input : inputs) broadcast.push_back(broadcast_strides(sizes, input));
  const auto order = order_dims(sizes.size(), [&](int64_t a, int64_t b) {
    for (const Sizes& strides : broadcast) {
      if (const int comparison = compare_dims(sizes, strides, a, b)) return comparison;
    }
    return 0;
  });
  // A dim of size 0 counts as 1 in PyTorch's contiguous strides, but as 0 in permuted strides.
  const bool is_contiguous_order = std::ranges::is_sorted(order, std::greater<>());
  return is_contiguous_order ? contiguous_strides(sizes) : dense_strides(sizes, order);
}

Sizes preserve_strides(const SizesAndStrides& input) {
  if (is_non_overlapping_and_dense(input.sizes, input.strides)) return input.strides;
  const auto order = order_dims(input.sizes.size(),
                                [&](int64_t a, int64_t b) { return compare_dims(input.sizes, input.strides, a, b); });
  Sizes sizes = input.sizes;
  for (int64_t& size : sizes) size = std::max<int64_t>(size, 1);
  return dense_strides(sizes, order);
}

Sizes reshape_strides(const SizesAndStrides& input, Dims sizes) {
  return view_strides(input, sizes).value_or(contiguous_strides(sizes));
}

Sizes cat_strides(Dims sizes, std::span<const SizesAndStrides> inputs) {
  if (inputs.empty() || !std::ranges::all_of(inputs, suggests_channels_last)) {
    return contiguous_strides(sizes);
  }
  return channels_last_strides(sizes);
}

Sizes pad_strides(Dims sizes, const SizesAndStrides& cropped, const SizesAndStrides& input) {
  if (std::ranges::equal(sizes, cropped.sizes)) return preserve_strides(cropped);
  return cat_strides(sizes, std::span(&input, 1));
}

Sizes gather_strides(Dims sizes, const SizesAndStrides& source, std::span<const uint32_t> dims,
                     std::span<const SizesAndStrides> indices) {
  // Eager PyTorch treats an index of rank 0 as a number, which selects and removes the dim.
  SizesAndStrides without_scalars, source_with_index_dims;
  std::vector<SizesAndStrides> index_tensors;
  std::vector<size_t> indexed_dims;
  for (size_t d = 0; d < source.sizes.size(); ++d) {
    const auto position = std::ranges::find(dims, d) - dims.begin();
    const bool is_indexed = position < std::ssize(dims);
    const SizesAndStrides* index = is_indexed ? &indices[static_cast<size_t>(position)] : nullptr;
    if (is_indexed && index->sizes.empty()) continue;
    if (is_indexed) {
      indexed_dims.push_back(without_scalars.sizes.size());
      index_tensors.push_back(*index);
    } else {
      source_with_index_dims.sizes.push_back(source.sizes[d]);
      source_with_index_dims.strides.push_back(source.strides[d]);
    }
    without_scalars.sizes.push_back(source.sizes[d]);
    without_scalars.strides.push_back(source.strides[d]);
  }
  if (indexed_dims.empty()) return without_scalars.strides;

  // The broadcast dims of the indices replace the indexed dims in place if the indexed dims are adjacent; otherwise
  // they come first.
  const bool are_adjacent = indexed_dims.back() - indexed_dims.front() + 1 == indexed_dims.size();
  const size_t first = are_adjacent ? indexed_dims.front() : 0;
  size_t rank = 0;
  for (const SizesAndStrides& index : index_tensors) rank = std::max(rank, index.sizes.size());
  const Dims shape = sizes.subspan(first, rank);
  const auto begin = static_cast<std::ptrdiff_t>(first);
  source_with_index_dims.sizes.insert(source_with_index_dims.sizes.begin() + begin, shape.begin(), shape.end());
  source_with_index_dims.strides.insert(source_with_index_dims.strides.begin() + begin, rank, 0);

  // Expand the indices to their common shape, then insert dims of size 1 for the result's dims around those of the
  // indices.
  Sizes around(sizes.size(), 1);
  std::ranges::copy(shape, around.begin() + begin);
  std::vector<SizesAndStrides> inputs{source_with_index_dims};
  for (const SizesAndStrides& index : index_tensors) {
    const SizesAndStrides expanded{Sizes(shape.begin(), shape.end()), broadcast_strides(shape, index)};
    inputs.push_back({around, reshape_strides(expanded, around)});
  }
  return pointwise_strides(sizes, inputs);
}

bool shares_memory(const AliasQuery& query, std::span<const HostValue> host,
                   std::span<const SizesAndStrides> arguments) {
  const std::vector<SizesAndStrides> tensors = eager_tensors(query.steps, host, arguments);
  const LayoutStep& step = query.steps.back();
  const SizesAndStrides& input = tensors[step.inputs[0]];
  if (step.kind == LayoutStep::Kind::Reshape) return has_view(input, tensors.back().sizes);
  return tensors.back().strides == input.strides;
}

AliasQuery alias_query(const GraphFrame& graph, uint32_t step) {
  const std::vector<LayoutStep>& steps = graph.eager_layouts;
  std::vector<bool> needed(step + 1);
  needed[step] = true;
  for (size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (const uint32_t input : steps[i].inputs) needed[input] = true;
  AliasQuery query{graph.host, {}};
  std::vector<uint32_t> new_index(needed.size());
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    new_index[i] = static_cast<uint32_t>(query.steps.size());
    LayoutStep& copied = query.steps.emplace_back(steps[i]);
    for (uint32_t& input : copied.inputs) input = new_index[input];
  }
  return query;
}

bool has_view(const SizesAndStrides& input, Dims sizes) { return view_strides(input, sizes).has_value(); }

std::vector<SizesAndStrides> eager_tensors(std::span<const LayoutStep> steps, std::span<const HostValue> host,
                                           std::span<const SizesAndStrides> arguments) {
  using Kind = LayoutStep::Kind;
  std::vector<SizesAndStrides> tensors;
  tensors.reserve(steps.size());
  for (const LayoutStep& step : steps) {
    SizesAndStrides tensor;
    for (const HostId size : step.shape) tensor.sizes.push_back(host[size.index].as_int());
    std::vector<SizesAndStrides> inputs;
    for (const uint32_t input : step.inputs) inputs.push_back(tensors[input]);
    switch (step.kind) {
      case Kind::Param:
        tensor = arguments[step.param];
        break;
      case Kind::Pointwise:
        tensor.strides = pointwise_strides(tensor.sizes, inputs);
        break;
      case Kind::View:
        for (const std::vector<Term>& row : step.stride_map) {
          int64_t stride = 0;
          for (const Term& term : row) {
            const bool is_unit = term.dim == inputs[0].strides.size();
            stride += host[term.coef.index].as_int() * (is_unit ? 1 : inputs[0].strides[term.dim]);
          }
          tensor.strides.push_back(stride);
        }
        break;
      case Kind::Reshape:
        tensor.strides = reshape_strides(inputs[0], tensor.sizes);
        break;
      case Kind::Preserve:
        tensor.strides = preserve_strides(inputs[0]);
        break;
      case Kind::Contiguous:
        tensor.strides = inputs.size() == 1 && is_contiguous(tensor.sizes, inputs[0].strides)
                             ? inputs[0].strides
                             : contiguous_strides(tensor.sizes);
        break;
      case Kind::ChannelsLast:
        tensor.strides = inputs.size() == 1 && is_channels_last(tensor.sizes, inputs[0].strides)
                             ? inputs[0].strides
                             : channels_last_strides(tensor.sizes);
        break;
      case Kind::Unformatted:
        tensor.strides = suggests_channels_last(inputs[0]) ? contiguous_strides(tensor.sizes) : inputs[0].strides;
        break;
      case Kind::Cat:
        tensor.strides = cat_strides(tensor.sizes, inputs);
        break;
      case Kind::Pad:
        tensor.strides = pad_strides(tensor.sizes, inputs[0], inputs[1]);
        break;
      case Kind::Gather:
        tensor.strides = gather_strides(tensor.sizes, inputs[0], step.dims, std::span(inputs).subspan(1));
        break;
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace ingot::ir
