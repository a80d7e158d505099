#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/schedule/schedule.h"

// The properties of a kernel and its accesses on which the rules about speed depend.

namespace ingot::codegen {

inline constexpr uint32_t kNoAxis = UINT32_MAX;
inline constexpr uint32_t kVectorBytes = 16;  ///< the widest load or store of a thread

/// The properties of an access.
struct AccessFacts {
  uint32_t bytes = 4;                         ///< of an element
  StrideClass inner = StrideClass::One;       ///< the stride along the innermost axis
  uint8_t inner_step = 0;                     ///< CPU: the same stride if it is from 2 to kSmallStep; otherwise 0
  StrideClass next_outer = StrideClass::One;  ///< the stride along the axis outside the innermost one
  uint32_t unit_axis = 0;                     ///< the innermost axis of stride 1; kNoAxis if there is none
  bool is_linear = true;                      ///< element i of the domain is i elements after the first
  bool broadcasts = false;     ///< it is constant along some axis, so it reads less than the domain's size
  bool is_uniform = false;     ///< it varies along no axis
  uint64_t constant_axes = 0;  ///< bit d: it is constant along axis d
  uint32_t alignment = 16;     ///< in bytes, of the addresses that AccessLayout::alignment describes
  AccessUse::Kind kind = AccessUse::Kind::Load;
  bool widens = false;            ///< computations use it in a wider type
  bool may_stay_float32 = false;  ///< float16 that the kernel may hold as float32: its exact bits are never used
  bool is_grouped = false;        ///< one of several accesses of an access group
  bool is_masked = false;         ///< loaded only if a `where` needs it
  bool is_hoistable = false;      ///< masked by a predicate that can be hoisted: one that is cheap, and known ahead of
                                  ///< the computation
  bool skips_rows = false;  ///< for a gather: its predicate, if any, and its indices are the same for all elements
                            ///< of a row, and known before them
  bool row_shares_index = false;  ///< for a gather: all elements of a row have the same indices, which do not depend on
                                  ///< a lazy `where`
  bool varies_in_row = false;     ///< in a kernel that reduces: it varies along a row
  uint32_t phase = 0;             ///< the first phase that needs it
  StrideClass along_rows = StrideClass::Zero;  ///< in a kernel that reduces: the stride from row to row, along the
                                               ///< innermost axis that is not reduced
};

/// Whether the access is a load or a store, not a gather or an iota (AccessUse::Kind::Index).
bool is_element_wise(const AccessFacts& access);
/// Whether the address of each vector of `lanes` elements is a multiple of the vector's size.
bool is_aligned(const AccessFacts& access, uint32_t lanes);

/// Whether a load has stride 1 along this axis, and along the innermost axis a stride other than 0, 1 and `inner_step`.
bool is_transposed(const AccessFacts& access, uint32_t axis);

/// The properties of a kernel.
struct KernelFacts {
  std::vector<AccessFacts> accesses;            ///< one per access of the outline
  uint32_t rank = 1;                            ///< number of axes
  uint32_t inner_multiple = 16;                 ///< a power of two of which the innermost extent is a multiple
  uint32_t cost = 0;                            ///< of computing an element, in instructions (cost.h)
  uint32_t loads = 0;                           ///< load accesses, without those of workspaces
  bool has_transcendentals = false;             ///< it computes transcendental functions
  bool depends_on_vector_width = false;         ///< CPU: some function does, see cost.h
  uint8_t inner_bits = 0, transposed_bits = 0;  ///< see KernelLayout
  // results_alias: a result overlaps an input or another result. The other fields are properties of the innermost axis,
  // for which KernelLayout has the exact conditions: has_short_rows (CPU) if it is short and there are other axes;
  // has_long_rows (CUDA) if it is long and no multiple of a vector; has_many_steps (CUDA) if it is long and the domain
  // is large.
  bool results_alias = false, has_short_rows = false, has_long_rows = false, has_many_steps = false;
  uint32_t reduced_axis_multiple = 1;  ///< CPU: a power of two that divides the innermost extent, if it is reduced
  uint32_t row_cost = 0;               ///< of the values that a row's elements share
  uint32_t quotients = 0;              ///< float32 quotients whose divisor is not a scalar
  bool may_divide_by_zero = false;     ///< an integer divisor may be zero
  bool has_regions = false;            ///< some `where`s are lazy (regions.h)
  bool has_several_phases = false;     ///< it traverses its rows several times
  uint32_t result_bytes = 0;           ///< of the results of its reductions, per row
  uint32_t shared_bytes = 0;           ///< CUDA: the shared memory that a block may use
  bool never_reads_past_end = false;   ///< CUDA: Target::never_reads_past_end
  uint32_t cluster_blocks = 1;         ///< CUDA: the most blocks of a cluster
  uint32_t phases = 1;                 ///< number of passes over a row
  uint32_t speculative_phase = 0;      ///< the speculative phase; 0: there is none
  uint32_t ordered_bytes = 0;          ///< of one accumulator of each reduction whose order matters, in sum
  uint32_t column_partial_bytes = 0;   ///< of fused column partials, per column; 0 if there are none
  bool finalizes_partials = false;     ///< another kernel computes partial results for it
};

/// The axis along which the transposed loads (is_transposed) have the most bytes per element; kNoAxis if no load is
/// transposed.
uint32_t most_transposed_axis(const KernelFacts& facts);
/// The bytes per element of the loads that are transposed along this axis (is_transposed).
uint32_t transposed_bytes(const KernelFacts& facts, uint32_t axis);
/// The bytes per element of the accesses that have an element for each element of the domain.
uint32_t bytes_per_element(const KernelFacts& facts);
/// In a kernel that reduces: whether the access is a load with one element per element of the domain.
bool is_large(const AccessFacts& access);
/// In a kernel that reduces: the bytes per element of these loads.
uint32_t large_bytes(const KernelFacts& facts);
/// In a kernel that reduces: the elements of the widest vector of all accesses that vary along a row.
uint32_t elements_of_vector(const KernelFacts& facts);
/// One flag per access: whether the access is a gather whose node satisfies `holds`.
std::vector<bool> flag_gathers(const ir::Graph& graph, const KernelOutline& outline,
                               const std::function<bool(ir::NodeId)>& holds);
/// Whether a kernel that reduces also stores a result per element.
bool stores_elements(const KernelFacts& facts);
/// The properties that follow from the outline and the layout, without those that depend on the target or on lazy
/// `where`s. `graph` must be the graph from which the outline was made.
KernelFacts facts_of(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout);
/// As above, with the properties that depend on the target.
KernelFacts facts_of(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout,
                     const Target& target);

}  // namespace ingot::codegen
