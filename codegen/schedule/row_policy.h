#pragma once

#include <cstdint>

#include "codegen/schedule/policy.h"
#include "ir/reduction_order.h"

// The rules for kernels that reduce: how rows are distributed over threads, and which values are cached. A row is the
// set of elements that are reduced to one value. `lanes` is the number of elements of a row, or of adjacent rows, that
// a thread handles at a time.

namespace ingot::codegen {

/// Whether most loaded bytes are contiguous across rows (from row to row), and not along them. Broadcast operands are
/// small, and are counted only if there are no others.
bool is_contiguous_across_rows(const KernelFacts& facts);

/// The order in which kernels of the target reduce rows of at most ir::kSpecializedSize elements.
ir::ReductionOrder reduction_order(bool is_cuda);

/// CPU: the number of accumulators of a row, or of a chunk of it, for rows of at most 2^length_bits elements.
uint32_t cpu_accumulators(uint32_t length_bits);
/// CPU: the number of elements of a chunk, for rows of at most 2^length_bits elements; 0: a row is one chunk.
uint32_t cpu_chunk_length(uint32_t length_bits);
/// CPU: the loop maps of a kernel.
LoopMaps cpu_rows(const KernelFacts& facts, const KernelLayout& layout, bool has_several_phases);
/// CPU: the loop maps of rows with these numbers. `lanes`: the adjacent rows that are computed together; 1: the
/// elements of a vector belong to one row. `is_split`: a unit has a chunk of a row.
LoopMaps cpu_loop_maps(const KernelLayout& layout, uint32_t lanes, bool is_split);
/// CPU: whether rows that are computed together have blocked accumulators (Residency).
bool cpu_blocks_accumulators(const Schedule& schedule, const KernelLayout& layout);
/// CPU: whether the memory of a result is prefetched while values are cached for the phase that stores it.
bool cpu_prefetches(const AccessFacts& access, const KernelLayout& layout);
/// CPU: whether an access is copied to a buffer if adjacent rows are computed together.
bool cpu_copies_to_buffer(const AccessFacts& access, const KernelFacts& facts, const KernelLayout& layout);
/// CPU: whether values that take `bytes` bytes per element are cached between phases, for all elements of the `lanes`
/// rows that are computed together.
bool cpu_can_cache(const KernelLayout& layout, uint32_t lanes, uint32_t bytes);

/// CUDA: the elements of a row that its threads cover in a step; with blocked accumulators, that all steps of the same
/// number cover together.
uint64_t elements_of_step(const Schedule& schedule);

/// CUDA: the shared memory that a block may use; the architecture is 80 for sm_80.
uint32_t cuda_shared_bytes(uint32_t architecture);
/// CUDA: the blocks that a cluster may have on any GPU of the architecture.
uint32_t cuda_cluster_blocks(uint32_t architecture);
/// CUDA: from 2^kManyRowsBits rows on, rows are not split for want of blocks; very long rows still are.
inline constexpr uint32_t kManyRowsBits = 12;

/// CUDA: the shared memory in which the warps of a block exchange results, if adjacent threads have adjacent rows.
uint64_t exchanged_bytes_across(const Schedule& schedule, const KernelFacts& facts);
/// CUDA: Residency::steps that cover the longest row of a layout.
uint32_t steps_across(const RowsAcross& rows, const KernelLayout& layout);
/// CUDA: the number of accumulators for rows of at most 2^length_bits elements; `loads`: the number of
/// load accesses of the kernel.
uint32_t cuda_accumulators(uint32_t length_bits, uint32_t loads);
/// CUDA: the schedule of a kernel without its accesses and cached values: its loop maps, and how elements are cached.
Schedule cuda_rows(const KernelFacts& facts, const KernelLayout& layout, bool has_several_phases);
/// CUDA: as `cuda_rows`, for rows of which adjacent threads have corresponding elements.
Schedule cuda_rows_across(const KernelFacts& facts, const KernelLayout& layout, bool has_several_phases);
/// CUDA: whether an access can be made for `rows` adjacent rows together (`Batched`): they are contiguous in memory,
/// and start and end at vector boundaries.
bool can_be_batched(const AccessFacts& access, uint32_t rows);
/// CUDA: whether corresponding elements of `lanes` adjacent rows are an aligned vector.
bool is_vector_across_rows(const AccessFacts& access, const KernelLayout& layout, uint32_t lanes);
/// CUDA: whether a thread has registers for cached values that take `bytes` bytes per element.
bool cuda_can_cache(const Schedule& schedule, uint32_t bytes);
/// CUDA: whether threads can compute past the end of a row, in a schedule whose accesses are complete: only whole
/// vectors are loaded and stored, all steps have registers, and nothing is undefined for elements that are zeros.
bool can_compute_past_end(const KernelFacts& facts, const Schedule& schedule);
/// CUDA: whether they can, and it is faster (Residency::computes_past_end).
bool cuda_computes_past_end(const KernelFacts& facts, const Schedule& schedule);
/// CUDA: whether an access of a register-cached row is loaded ahead of all phases, although a later phase is the first
/// to need it.
bool cuda_reads_ahead(const AccessFacts& access, const KernelFacts& facts, const Schedule& schedule);
/// Whether `lanes` adjacent elements of a row are an aligned vector.
bool is_vector_in_row(const AccessFacts& access, const KernelFacts& facts, uint32_t lanes);

}  // namespace ingot::codegen
