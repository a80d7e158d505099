#pragma once

#include <array>
#include <span>
#include <vector>

#include "frontend/tensor/reindex.h"
#include "frontend/tensor/shapes.h"

// Views of one concat block. The *grid* is the index space that all blocks of a tensor cover together (value.h). The
// functions here count dims of the grid, each of which may merge several of the block's dims. A view that keeps such a
// grid dim as a whole applies to each of the merged dims. For any other view, the block is linearised: the merged dims
// are replaced by one dim, from whose index the node computes the index along each of them, by division and remainder.

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
/// Gives the block dims of these sizes in place of those that `dim` merges; `dim` stays one dim of the grid.
ConcatBlock refine_block(Builder& builder, const ConcatBlock& block, size_t dim, std::span<const ir::HostId> sizes);
/// Merges `count` dims of the grid, `dim` and those after it, into one. Along the dims after `dim`, the block must
/// cover the whole grid.
ConcatBlock flatten_block(Builder& builder, const ConcatBlock& block, size_t dim, size_t count);
/// Gives the block one dim in place of those that `dim` merges; if they are several, their indices are computed.
ConcatBlock linearise_block(Builder& builder, const ConcatBlock& block, size_t dim);
/// Broadcasts a block to these extents.
ConcatBlock expand_block(Builder& builder, const ConcatBlock& block, std::span<const ir::HostId> sizes);

}  // namespace ingot::frontend
