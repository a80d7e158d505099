#pragma once

#include <array>
#include <span>
#include <vector>

#include "frontend/tensor/reindex.h"
#include "frontend/tensor/shapes.h"

// Views of one concat block. Dims are those of the grid. A grid dim may merge several of the block's own dims. If the
// grid dim stays whole, its own dims are handled one by one. Otherwise the grid dim becomes one dim whose index is
// divided again (linearised).

namespace ingot::frontend {

/// The sizes of a block along the dims of the grid.
Shape extents(Builder& builder, const ConcatBlock& block);

ConcatBlock permute_block(Builder& builder, const ConcatBlock& block, std::span<const size_t> order);
/// Inserts a dim of size 1 before `dim`.
ConcatBlock unsqueeze_block(Builder& builder, const ConcatBlock& block, size_t dim);
/// Removes `dim`: selects coordinate `index` of the block.
ConcatBlock select_block(Builder& builder, const ConcatBlock& block, size_t dim, ir::HostId index);
/// Takes `length` coordinates of `dim` from `start`, every `step`-th one, all within the block.
ConcatBlock slice_block(Builder& builder, const ConcatBlock& block, size_t dim, ir::HostId start, ir::HostId length,
                        int64_t step);
/// Takes `count` windows of `size` along a dim, each starting `step` after the one before, all within the block. `dim`
/// then counts the windows, and a new last dim is the position within a window.
ConcatBlock unfold_block(Builder& builder, const ConcatBlock& block, size_t dim, ir::HostId count, ir::HostId size,
                         int64_t step);
/// Takes `length` coordinates of two dims that advance together, each from its own start. A new last dim replaces the
/// two.
ConcatBlock diagonal_block(Builder& builder, const ConcatBlock& block, std::array<size_t, 2> dims,
                           std::array<ir::HostId, 2> starts, ir::HostId length);
ConcatBlock flip_block(Builder& builder, const ConcatBlock& block, size_t dim);
/// Splits `dim` into several dims of the grid.
ConcatBlock unflatten_block(Builder& builder, const ConcatBlock& block, size_t dim, std::span<const ir::HostId> sizes);
/// Splits the block's own dims behind `dim` into these sizes; `dim` stays one dim of the grid.
ConcatBlock refine_block(Builder& builder, const ConcatBlock& block, size_t dim, std::span<const ir::HostId> sizes);
/// Merges `count` dims of the grid from `dim` on into one. The block must cover all of the inner ones.
ConcatBlock flatten_block(Builder& builder, const ConcatBlock& block, size_t dim, size_t count);
/// Makes `dim` consist of one of the block's own dims; computes indices if `dim` merges several.
ConcatBlock linearise_block(Builder& builder, const ConcatBlock& block, size_t dim);
/// Broadcasts a block to these extents.
ConcatBlock expand_block(Builder& builder, const ConcatBlock& block, std::span<const ir::HostId> sizes);

}  // namespace ingot::frontend
