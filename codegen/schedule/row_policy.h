#pragma once

#include <cstdint>

#include "codegen/schedule/policy.h"

// The choices of kernels that reduce: how rows are dealt out to threads, and what is kept of them.

namespace ingot::codegen {

/// Whether most of what is read lies side by side from row to row, and not along rows. What stands still along a dim is
/// small, and counts only where there is nothing else.
bool lies_across(const KernelFacts& facts);

/// CPU: classes of a row or its piece, and elements of a piece, 0 where a row is one, of rows of at most two to that
/// power.
uint32_t cpu_classes(uint32_t length_bits);
uint32_t cpu_piece(uint32_t length_bits);
/// CPU: how a kernel goes through its rows, once or `again`.
RowSchedule cpu_rows(const KernelFacts& facts, const KernelLayout& layout, bool again);
/// CPU: how many of its rows stand side by side.
uint32_t cpu_row_lanes(const KernelFacts& facts, const KernelLayout& layout, const RowSchedule& rows);
/// CPU: whether an access is laid out in a buffer where rows stand side by side.
bool cpu_stages(const AccessFacts& access, const KernelFacts& facts, const KernelLayout& layout);
/// CPU: whether values of this many bytes, one for each element of the rows that stand side by side, are kept.
bool cpu_keeps(const KernelLayout& layout, uint32_t lanes, uint32_t bytes);

/// CUDA: the shared memory that a block may have; 80 for sm_80.
uint32_t cuda_shared_bytes(uint32_t architecture);
/// CUDA: the blocks that a cluster may have, on any such GPU.
uint32_t cuda_cluster_blocks(uint32_t architecture);
/// CUDA: the classes of rows of at most two to that power elements, for each of which so many are read of tensors.
uint32_t cuda_classes(uint32_t length_bits, uint32_t loads);
/// CUDA: how a kernel goes through its rows, once or `again`.
RowSchedule cuda_rows(const KernelFacts& facts, const KernelLayout& layout, bool again);
/// CUDA: the neighbours that a thread takes at a time: elements of a row, or, across, rows.
uint32_t cuda_row_lanes(const KernelFacts& facts, const KernelLayout& layout, const RowSchedule& rows);
/// CUDA: whether rows are taken by such neighbours although they begin anywhere and end within some.
bool cuda_rows_are_ragged(const KernelFacts& facts, const KernelLayout& layout, const RowSchedule& rows,
                          uint32_t lanes);
/// CUDA: whether so many rows are one piece of memory, and begin and end where vectors do.
bool comes_in_batches(const AccessFacts& access, uint32_t rows);
/// CUDA: the rows that a block works on at once.
uint32_t cuda_rows_of_block(const RowSchedule& rows, uint32_t lanes, bool again);
/// CUDA: whether neighbouring rows are as many neighbours in memory, aligned.
bool runs_across_rows(const AccessFacts& access, const KernelLayout& layout, uint32_t lanes);
/// CUDA: whether a thread has registers for values of this many bytes for each of its elements.
bool cuda_keeps(const RowSchedule& rows, uint32_t lanes, uint32_t bytes);
/// CUDA: whether an access of a kept row is read ahead of all phases, though it would not be as the first one's.
bool cuda_reads_ahead(const AccessFacts& access, const KernelFacts& facts, const RowSchedule& rows, uint32_t lanes);
/// Whether neighbours along a row are as many neighbours in memory, aligned.
bool runs_in_rows(const AccessFacts& access, const KernelFacts& facts, uint32_t lanes);

}  // namespace ingot::codegen
