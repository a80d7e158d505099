#pragma once

#include <array>
#include <span>
#include <vector>

#include "frontend/tensor/reindex.h"
#include "frontend/tensor/shapes.h"

// Views of one tile. Dims are those of the grid; a dim that merges several of the tile's own is handled as such where
// it stays whole, and else becomes one dim whose index is divided anew (linearised).

namespace ingot::frontend {

/// The sizes of a tile along the dims of the grid.
Shape extents(Builder& builder, const ConcatBlock& block);

ConcatBlock permute_block(Builder& builder, const ConcatBlock& block, std::span<const size_t> order);
/// A dim of size 1 before `dim`.
ConcatBlock unsqueeze_block(Builder& builder, const ConcatBlock& block, size_t dim);
/// Without `dim`, at coordinate `index` of the tile.
ConcatBlock select_block(Builder& builder, const ConcatBlock& block, size_t dim, ir::HostId index);
/// `length` coordinates of `dim` from `start` in steps, all within the tile.
ConcatBlock slice_block(Builder& builder, const ConcatBlock& block, size_t dim, ir::HostId start, ir::HostId length,
                        int64_t step);
/// `count` windows of `size` along a dim, each `step` further on, all within the tile: `dim` counts the windows, and a
/// new last dim runs within them.
ConcatBlock unfold_block(Builder& builder, const ConcatBlock& block, size_t dim, ir::HostId count, ir::HostId size,
                         int64_t step);
/// `length` coordinates of two dims that go together, each from its start: a new last dim in their place.
ConcatBlock diagonal_block(Builder& builder, const ConcatBlock& block, std::array<size_t, 2> dims,
                           std::array<ir::HostId, 2> starts, ir::HostId length);
ConcatBlock flip_block(Builder& builder, const ConcatBlock& block, size_t dim);
/// `dim` as several dims of the grid.
ConcatBlock unflatten_block(Builder& builder, const ConcatBlock& block, size_t dim, std::span<const ir::HostId> sizes);
/// `dim` still one dim of the grid, merging dims of these sizes.
ConcatBlock refine_block(Builder& builder, const ConcatBlock& block, size_t dim, std::span<const ir::HostId> sizes);
/// `count` dims of the grid from `dim` on merged into one. The tile must reach across all of the inner ones.
ConcatBlock flatten_block(Builder& builder, const ConcatBlock& block, size_t dim, size_t count);
/// A dim that is made of one dim of the tile, computing indices where it merges several.
ConcatBlock linearise_block(Builder& builder, const ConcatBlock& block, size_t dim);
/// Broadcast to the extents, which the tile's own broadcast to.
ConcatBlock expand_block(Builder& builder, const ConcatBlock& block, std::span<const ir::HostId> sizes);

}  // namespace ingot::frontend
