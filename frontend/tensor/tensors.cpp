#include "frontend/tensor/tensors.h"

#include <algorithm>

#include "frontend/tensor/materialize_concat.h"

namespace ingot::frontend {
namespace {

template <typename Change>
void for_blocks(Tensor& tensor, Change change) {
  for (ConcatBlock& block : tensor.blocks) block = change(block);
}

/// Whether the range [start, start + length) covers some blocks along a dim of the grid exactly, and all other blocks
/// are known to be outside. Then a slice needs no static values.
bool covers_whole_blocks(Builder& builder, const Tensor& tensor, size_t dim, ir::HostId start, ir::HostId length,
                         std::vector<ConcatBlock>& covered) {
  ir::HostPool& host = builder.graph.host;
  for (const ConcatBlock& block : tensor.blocks) {
    const ir::HostId size = extents(builder, block)[dim];
    if (host.same(block.offsets[dim], start) && host.same(size, length)) {
      covered.push_back(block);
    } else if (!host.known_nonnegative(builder.sub(block.offsets[dim], builder.add(start, length))) &&
               !host.known_nonnegative(builder.sub(start, builder.add(block.offsets[dim], size)))) {
      return false;
    }
  }
  return true;
}

/// Slices along a dim of the grid that is divided into blocks.
std::vector<ConcatBlock> sliced_blocks(Builder& builder, const Tensor& tensor, size_t dim, ir::HostId start,
                                       ir::HostId length, int64_t step) {
  std::vector<ConcatBlock> slices;
  if (step == 1 && covers_whole_blocks(builder, tensor, dim, start, length, slices)) {
    for (ConcatBlock& block : slices) block.offsets[dim] = builder.integer(0);
    return slices;
  }
  slices.clear();
  const int64_t first = builder.static_number(start).as_int();
  const int64_t count = builder.static_number(length).as_int();
  const auto steps_to = [&](int64_t position) {  // the first i with first + i * step >= position
    return std::clamp<int64_t>((position - first + step - 1) / step, 0, count);
  };
  for (const ConcatBlock& block : tensor.blocks) {
    const int64_t begin = builder.static_number(block.offsets[dim]).as_int();
    const int64_t size = builder.static_number(extents(builder, block)[dim]).as_int();
    const int64_t low = steps_to(begin), high = steps_to(begin + size);
    if (low >= high) continue;
    slices.push_back(slice_block(builder, block, dim, builder.integer(first + low * step - begin),
                                 builder.integer(high - low), step));
    slices.back().offsets[dim] = builder.integer(low);
  }
  return slices;
}

Tensor sliced_grid(Builder& builder, const Tensor& tensor, size_t dim, ir::HostId start, ir::HostId length,
                   int64_t step) {
  builder.budget.spend_blocks(tensor.blocks.size() - 1);
  Tensor result = tensor;
  result.grid[dim] = length;
  if (blocks_span_dim(builder, tensor, dim)) {
    for_blocks(result, [&](const ConcatBlock& block) { return slice_block(builder, block, dim, start, length, step); });
    return result;
  }
  result.blocks = sliced_blocks(builder, tensor, dim, start, length, step);
  if (result.blocks.empty()) result.blocks = without_elements(builder, tensor.dtype, result.grid).blocks;
  return result;
}

Tensor selected_grid(Builder& builder, const Tensor& tensor, size_t dim, ir::HostId index) {
  const bool blocks_span = blocks_span_dim(builder, tensor, dim);
  Tensor result = blocks_span ? tensor : sliced_grid(builder, tensor, dim, index, builder.integer(1), 1);
  const ir::HostId block_index = blocks_span ? index : builder.integer(0);
  for_blocks(result, [&](const ConcatBlock& block) { return select_block(builder, block, dim, block_index); });
  result.grid.erase(result.grid.begin() + static_cast<ptrdiff_t>(dim));
  return result;
}

/// Adds leading dims of size 1 up to a rank. Nodes stay unchanged, because they are aligned at their last dims.
Tensor with_rank(Builder& builder, Tensor tensor, size_t rank) {
  const size_t missing = rank - tensor.rank();
  if (missing == 0) return tensor;
  const Shape ones(missing, builder.integer(1)), zeros(missing, builder.integer(0));
  const Reassociation single(missing, 1);
  tensor.grid.insert(tensor.grid.begin(), ones.begin(), ones.end());
  if (!tensor.groups.empty()) tensor.groups.insert(tensor.groups.begin(), single.begin(), single.end());
  for (ConcatBlock& block : tensor.blocks) {
    block.shape.insert(block.shape.begin(), ones.begin(), ones.end());
    block.offsets.insert(block.offsets.begin(), zeros.begin(), zeros.end());
    if (!block.groups.empty()) block.groups.insert(block.groups.begin(), single.begin(), single.end());
  }
  return tensor;
}

/// For a dim of size 1 that is divided into blocks, keeps only the block that has the element along the dim: only this
/// block is broadcast.
void keep_nonempty_block(Builder& builder, Tensor& tensor, size_t dim) {
  std::vector<ConcatBlock> nonempty;
  for (const ConcatBlock& block : tensor.blocks) {
    const ir::HostId size = extents(builder, block)[dim];
    if (builder.static_number(size).as_int() == 0) continue;
    nonempty.push_back(slice_block(builder, block, dim, builder.integer(0), builder.integer(1), 1));
    nonempty.back().offsets[dim] = builder.integer(0);
  }
  tensor.blocks = std::move(nonempty);
  tensor.grid[dim] = builder.integer(1);
}

/// Broadcasts to the sizes of a grid of the same rank.
void expand_grid(Builder& builder, Tensor& tensor, std::span<const ir::HostId> grid) {
  for (size_t d = 0; d < grid.size(); ++d) {
    const bool is_broadcast = is_one(builder, tensor.grid[d]) && !is_one(builder, grid[d]);
    if (is_broadcast && !blocks_span_dim(builder, tensor, d)) keep_nonempty_block(builder, tensor, d);
  }
  std::vector<bool> spans_dim;
  for (size_t d = 0; d < grid.size(); ++d) spans_dim.push_back(blocks_span_dim(builder, tensor, d));
  for_blocks(tensor, [&](const ConcatBlock& block) {
    Shape sizes = extents(builder, block);
    for (size_t d = 0; d < grid.size(); ++d) {
      if (spans_dim[d]) sizes[d] = grid[d];
    }
    return expand_block(builder, block, sizes);
  });
  tensor.grid.assign(grid.begin(), grid.end());
}

/// For each dim that Tensor::groups of some tensor merges, splits the dim in all tensors, which have one rank. Returns
/// the groups that merge the dims again.
Reassociation align_merges(Builder& builder, std::vector<Tensor>& tensors) {
  if (std::ranges::all_of(tensors, [](const Tensor& tensor) { return tensor.groups.empty(); })) return {};
  Reassociation result(tensors.front().rank(), 1);
  for (size_t dim = result.size(); dim-- > 0;) {
    Shape sizes;
    for (Tensor& tensor : tensors) {
      const auto [begin, count] = dims_of(tensor.groups, dim);
      if (count == 1) continue;
      const Shape merged_sizes(tensor.grid.begin() + static_cast<ptrdiff_t>(begin),
                               tensor.grid.begin() + static_cast<ptrdiff_t>(begin + count));
      if (sizes.empty()) {
        sizes = merged_sizes;
      } else if (!same_shape(builder, sizes, merged_sizes)) {
        tensor = materialize_concat(builder, tensor);
      }
    }
    if (sizes.empty()) continue;
    result[dim] = static_cast<uint32_t>(sizes.size());
    for (Tensor& tensor : tensors) {
      const auto [begin, count] = dims_of(tensor.groups, dim);
      Reassociation groups = explicit_groups(tensor.groups, tensor.grid.size());
      if (count == 1) {
        const ir::HostId size = tensor.grid[begin];
        if (!is_not_one(builder, size)) builder.static_number(size);
        if (is_one(builder, size)) {
          for (size_t i = 1; i < sizes.size(); ++i) tensor = unsqueezed(builder, tensor, dim);
        } else {
          builder.require(ir::Condition::Kind::Equal, size, product(builder, sizes));
          tensor = unflattened(builder, tensor, dim, sizes);
        }
      } else {
        groups.erase(groups.begin() + static_cast<ptrdiff_t>(dim));
        groups.insert(groups.begin() + static_cast<ptrdiff_t>(dim), count, 1);
        tensor.groups = simplified(std::move(groups));
      }
    }
  }
  return result;
}

/// The region of a tensor at these offsets of its grid, as a tensor.
Tensor region(Builder& builder, Tensor tensor, const Shape& offsets, const Shape& sizes) {
  for (size_t d = 0; d < offsets.size(); ++d) {
    if (builder.graph.host.same(sizes[d], tensor.grid[d])) continue;
    tensor = sliced_grid(builder, tensor, d, offsets[d], sizes[d], 1);
  }
  return tensor;
}

/// Gives blocks of equal extents the same merged dims.
void align_blocks(Builder& builder, std::vector<ConcatBlock>& blocks) {
  const size_t rank = blocks.front().offsets.size();
  for (size_t dim = 0; dim < rank; ++dim) {
    const auto reference =
        std::ranges::find_if(blocks, [&](const ConcatBlock& block) { return dims_of(block.groups, dim).count > 1; });
    if (reference == blocks.end()) continue;
    const auto [begin, count] = dims_of(reference->groups, dim);
    const Shape sizes(reference->shape.begin() + static_cast<ptrdiff_t>(begin),
                      reference->shape.begin() + static_cast<ptrdiff_t>(begin + count));
    for (ConcatBlock& block : blocks) block = refine_block(builder, block, dim, sizes);
  }
}

}  // namespace

bool blocks_span_dim(Builder& builder, const Tensor& tensor, size_t grid_dim) {
  const ir::HostPool& host = builder.graph.host;
  return std::ranges::all_of(tensor.blocks, [&](const ConcatBlock& block) {
    return host.is_int(block.offsets[grid_dim], 0) &&
           host.same(extents(builder, block)[grid_dim], tensor.grid[grid_dim]);
  });
}

Tensor whole(Builder& builder, ir::NodeId node, ir::DType dtype, Shape shape) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.blocks.push_back({node, shape, {}, Shape(shape.size(), builder.integer(0))});
  tensor.grid = std::move(shape);
  return tensor;
}

Tensor without_elements(Builder& builder, ir::DType dtype, Shape shape) {
  const bool is_bool = dtype == ir::DType::Bool;
  const ir::HostId zero = is_bool ? builder.graph.host.boolean(false) : builder.integer(0);
  return whole(builder, builder.graph.scalar(ir::compute_type(dtype), zero), dtype, std::move(shape));
}

Tensor canonicalized(Builder& builder, Tensor tensor) {
  tensor.groups = simplified(std::move(tensor.groups));
  for (size_t dim = tensor.groups.size(); dim-- > 0;) {
    const auto [begin, count] = dims_of(tensor.groups, dim);
    if (count == 1) continue;
    bool crosses_blocks = false;
    for (size_t d = begin + 1; d < begin + count; ++d) crosses_blocks |= !blocks_span_dim(builder, tensor, d);
    if (crosses_blocks) continue;
    for_blocks(tensor, [&](const ConcatBlock& block) { return flatten_block(builder, block, begin, count); });
    const auto first = tensor.grid.begin() + static_cast<ptrdiff_t>(begin);
    *first = product(builder, std::span(tensor.grid).subspan(begin, count));
    tensor.grid.erase(first + 1, first + static_cast<ptrdiff_t>(count));
    tensor.groups[dim] = 1;
  }
  tensor.groups = simplified(std::move(tensor.groups));
  return tensor;
}

Tensor permuted(Builder& builder, const Tensor& tensor, std::span<const size_t> order) {
  std::vector<size_t> grid_order;
  Tensor result = tensor;
  result.grid.clear();
  result.groups.clear();
  for (const size_t dim : order) {
    const auto [begin, count] = dims_of(tensor.groups, dim);
    result.groups.push_back(static_cast<uint32_t>(count));
    for (size_t d = begin; d < begin + count; ++d) {
      grid_order.push_back(d);
      result.grid.push_back(tensor.grid[d]);
    }
  }
  result.groups = simplified(std::move(result.groups));
  for_blocks(result, [&](const ConcatBlock& block) { return permute_block(builder, block, grid_order); });
  return result;
}

Tensor unsqueezed(Builder& builder, const Tensor& tensor, size_t dim) {
  Tensor result = tensor;
  const size_t grid_dim = dim < tensor.rank() ? dims_of(tensor.groups, dim).begin : tensor.grid.size();
  for_blocks(result, [&](const ConcatBlock& block) { return unsqueeze_block(builder, block, grid_dim); });
  result.grid.insert(result.grid.begin() + static_cast<ptrdiff_t>(grid_dim), builder.integer(1));
  if (!tensor.groups.empty()) result.groups.insert(result.groups.begin() + static_cast<ptrdiff_t>(dim), 1);
  return result;
}

Tensor selected(Builder& builder, const Tensor& tensor, size_t dim, ir::HostId index) {
  const auto [begin, count] = dims_of(tensor.groups, dim);
  Tensor result = tensor;
  result.groups.clear();
  ir::HostId rest = index;
  for (size_t d = begin + count; d-- > begin;) {
    const bool is_outermost = d == begin;
    const ir::HostId coordinate = is_outermost ? rest : builder.host(ir::HostOp::Mod, {rest, tensor.grid[d]});
    if (!is_outermost) rest = builder.host(ir::HostOp::FloorDiv, {rest, tensor.grid[d]});
    result = selected_grid(builder, result, d, coordinate);
  }
  if (!tensor.groups.empty()) {
    result.groups = tensor.groups;
    result.groups.erase(result.groups.begin() + static_cast<ptrdiff_t>(dim));
  }
  return canonicalized(builder, std::move(result));
}

Tensor sliced(Builder& builder, const Tensor& tensor, size_t dim, ir::HostId start, ir::HostId length, int64_t step) {
  const auto [begin, count] = dims_of(tensor.groups, dim);
  if (count != 1) return sliced(builder, materialize_concat(builder, tensor), dim, start, length, step);
  return canonicalized(builder, sliced_grid(builder, tensor, begin, start, length, step));
}

Tensor flipped(Builder& builder, const Tensor& tensor, size_t dim) {
  const auto [begin, count] = dims_of(tensor.groups, dim);
  Tensor result = tensor;
  for (size_t d = begin; d < begin + count; ++d) {
    for_blocks(result, [&](const ConcatBlock& block) {
      ConcatBlock flipped = flip_block(builder, block, d);
      const ir::HostId end = builder.add(block.offsets[d], extents(builder, block)[d]);
      flipped.offsets[d] = builder.sub(tensor.grid[d], end);
      return flipped;
    });
  }
  return result;
}

Tensor expanded(Builder& builder, const Tensor& tensor, std::span<const ir::HostId> shape) {
  Tensor result = with_rank(builder, tensor, shape.size());
  Shape grid = result.grid;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const auto [begin, count] = dims_of(result.groups, dim);
    if (count == 1) grid[begin] = shape[dim];
  }
  expand_grid(builder, result, grid);
  return result;
}

Tensor flattened(Builder& builder, const Tensor& tensor, size_t dim, size_t count) {
  Tensor result = tensor;
  Reassociation outer(tensor.rank() - count + 1, 1);
  outer[dim] = static_cast<uint32_t>(count);
  result.groups = compose(tensor.groups, outer, tensor.grid.size());
  return canonicalized(builder, std::move(result));
}

Tensor concatenated(Builder& builder, std::span<const Tensor> tensors, size_t dim) {
  std::vector<Tensor> parts(tensors.begin(), tensors.end());
  for (Tensor& part : parts) {
    if (dims_of(part.groups, dim).count != 1) part = materialize_concat(builder, part);
  }
  const Reassociation groups = align_merges(builder, parts);
  const size_t grid_dim = dims_of(groups, dim).begin;
  Tensor result = parts.front();
  result.blocks.clear();
  result.groups = groups;
  result.grid[grid_dim] = builder.integer(0);
  for (const Tensor& part : parts) {
    if (builder.graph.host.is_int(part.grid[grid_dim], 0)) continue;
    for (ConcatBlock block : part.blocks) {
      builder.budget.spend_blocks(1);
      block.offsets[grid_dim] = builder.add(block.offsets[grid_dim], result.grid[grid_dim]);
      result.blocks.push_back(std::move(block));
    }
    result.grid[grid_dim] = builder.add(result.grid[grid_dim], part.grid[grid_dim]);
  }
  if (result.blocks.empty()) return parts.front();
  return canonicalized(builder, std::move(result));
}

AlignedBlocks aligned_blocks(Builder& builder, std::span<const Tensor> tensors) {
  size_t rank = 0;
  for (const Tensor& tensor : tensors) rank = std::max(rank, tensor.rank());
  std::vector<Tensor> equal_rank_tensors;
  for (const Tensor& tensor : tensors) equal_rank_tensors.push_back(with_rank(builder, tensor, rank));

  AlignedBlocks result;
  result.groups = align_merges(builder, equal_rank_tensors);
  std::vector<Shape> grids;
  for (const Tensor& tensor : equal_rank_tensors) grids.push_back(tensor.grid);
  result.grid = broadcast_shapes(builder, grids);
  for (Tensor& tensor : equal_rank_tensors) expand_grid(builder, tensor, result.grid);

  result.blocks.push_back({Shape(result.grid.size(), builder.integer(0)), {}});
  std::vector<Shape> sizes{result.grid};
  for (const Tensor& tensor : equal_rank_tensors) {
    std::vector<AlignedBlock> new_blocks;
    std::vector<Shape> new_sizes;
    for (size_t i = 0; i < result.blocks.size(); ++i) {
      const AlignedBlock& aligned = result.blocks[i];
      builder.budget.spend_blocks(tensor.blocks.size() - 1);
      const Tensor covered = region(builder, tensor, aligned.offsets, sizes[i]);
      builder.budget.spend_blocks(covered.blocks.size() - 1);
      for (const ConcatBlock& block : covered.blocks) {
        AlignedBlock new_block;
        const Shape block_sizes = extents(builder, block);
        for (size_t d = 0; d < aligned.offsets.size(); ++d) {
          new_block.offsets.push_back(builder.add(aligned.offsets[d], block.offsets[d]));
        }
        for (const ConcatBlock& earlier : aligned.blocks) {
          Tensor single{.dtype = tensor.dtype, .blocks = {earlier}, .grid = sizes[i], .groups = {}};
          new_block.blocks.push_back(region(builder, std::move(single), block.offsets, block_sizes).blocks.front());
        }
        new_block.blocks.push_back(block);
        for (ConcatBlock& block_of_tensor : new_block.blocks)
          block_of_tensor.offsets.assign(block_of_tensor.offsets.size(), builder.integer(0));
        new_blocks.push_back(std::move(new_block));
        new_sizes.push_back(block_sizes);
      }
    }
    result.blocks = std::move(new_blocks);
    sizes = std::move(new_sizes);
  }
  for (AlignedBlock& aligned : result.blocks) align_blocks(builder, aligned.blocks);
  return result;
}

void require_same_device(const Builder& builder, std::span<const Tensor> tensors) {
  const auto on_cuda = [](const Tensor& tensor) { return !tensor.on_host; };
  const auto on_cpu = [](const Tensor& tensor) { return tensor.on_host && tensor.rank() > 0; };
  if (std::ranges::none_of(tensors, on_cuda) || std::ranges::none_of(tensors, on_cpu)) return;
  builder.fail("Expected all tensors to be on the same device, but found at least two devices, cuda and cpu",
               "the only CPU tensors that an op on CUDA takes are 0-dim: move it, s.to(x.device)");
}

Tensor detached(Builder& builder, Tensor tensor) {
  for (ConcatBlock& block : tensor.blocks) block.node = builder.graph.call(ir::kDetach, block.node, {});
  return tensor;
}

Tensor combined(Builder& builder, std::span<const Tensor> tensors, ir::DType dtype,
                const std::function<ir::NodeId(std::span<const ir::NodeId>)>& make) {
  require_same_device(builder, tensors);
  const AlignedBlocks common = aligned_blocks(builder, tensors);
  Tensor result;
  result.dtype = dtype;
  result.grid = common.grid;
  result.groups = common.groups;
  result.on_host = std::ranges::all_of(tensors, &Tensor::on_host);
  for (const AlignedBlock& aligned : common.blocks) {
    std::vector<ir::NodeId> nodes;
    for (const ConcatBlock& block : aligned.blocks) nodes.push_back(block.node);
    const ConcatBlock& first = aligned.blocks.front();
    result.blocks.push_back({make(nodes), first.shape, first.groups, aligned.offsets});
  }
  return result;
}

}  // namespace ingot::frontend
