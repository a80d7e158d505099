#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/schedule/schedule.h"

// What the rules about speed know of a kernel and of its accesses.

namespace ingot::codegen {

inline constexpr uint32_t kNoAxis = UINT32_MAX;
inline constexpr uint32_t kVectorBytes = 16;  ///< the widest load or store of a thread

/// What the rules know of an access.
struct AccessFacts {
  uint32_t bytes = 4;  ///< of an element
  StrideClass inner = StrideClass::One;
  uint8_t inner_step = 0;                 ///< as the layout has it
  StrideClass across = StrideClass::One;  ///< along the axis outside the innermost one
  uint32_t unit_axis = 0;                 ///< the innermost axis of stride 1; kNoAxis where there is none
  bool linear = true;                     ///< element i of the domain is i elements from the first
  bool broadcasts = false;                ///< it stands still along an axis, and so is smaller than the domain
  bool still = false;                     ///< it stands still along all
  uint32_t alignment = 16;                ///< in bytes
  AccessUse::Kind kind = AccessUse::Kind::Load;
  bool widens = false;        ///< what computes with it has a wider type
  bool rounds = false;        ///< of float16 that the kernel has as float32: nothing asks for its bits
  bool grouped = false;       ///< one of several neighbours that are read or written as a vector
  bool masked = false;        ///< read only where a `where` needs it
  bool foreseen = false;      ///< where it is needed can be found ahead of what is computed, at little cost
  bool skips_rows = false;    ///< of a masked gather, it is known ahead of a row whether and where it is made
  bool shares_place = false;  ///< of a gather, a row's elements have the same indices, none of a lazy `where`
  bool moves_in_row = false;  ///< of a kernel that reduces, it touches other elements along a row
  uint32_t phase = 0;         ///< the first that needs it
  StrideClass along_rows = StrideClass::Zero;  ///< of one that reduces, from row to row along the innermost axis kept
};

/// Whether it is read or written where the elements are.
bool is_element_wise(const AccessFacts& access);
/// Whether the address of each vector of so many lanes is a multiple of its size.
bool is_aligned(const AccessFacts& access, uint32_t lanes);

/// Whether a load moves along this axis element by element, and along the innermost one does not.
bool is_turned(const AccessFacts& access, uint32_t axis);

/// What the rules know of a kernel.
struct KernelFacts {
  std::vector<AccessFacts> accesses;  ///< one for each of the outline's
  uint32_t rank = 1;
  uint32_t inner_multiple = 16;
  uint32_t cost = 0;                 ///< of an element, as cost.h counts
  uint32_t loads = 0;                ///< of tensors, whatever their layout
  bool has_functions = false;        ///< transcendental ones
  bool has_bits_of_vectors = false;  ///< CPU: some of them have
  uint64_t long_axes = 0;            ///< as the layout has them
  bool results_alias = false, has_short_rows = false, has_long_rows = false, has_many_steps = false;
  uint32_t row_multiple = 1;    ///< as the layout has it
  uint32_t row_cost = 0;        ///< of what a row's elements share
  uint32_t quotients = 0;       ///< of float32, by what is no number of the kernel's
  bool has_regions = false;     ///< some `where`s are lazy
  bool goes_again = false;      ///< it goes through its rows several times
  uint32_t found_bytes = 0;     ///< of what its reductions find of a row
  uint32_t shared_bytes = 0;    ///< CUDA: shared memory that a block may have
  bool reads_exactly = false;   ///< CUDA: as the target has it
  uint32_t cluster_blocks = 1;  ///< CUDA: that a cluster may have
  uint32_t phases = 1;          ///< in which it goes through its rows
  uint32_t early_phase = 0;     ///< whose sums may be taken in the one before; 0: there is none
  uint32_t ordered_bytes = 0;   ///< of what its reductions find of a class where the order counts
  uint32_t passed_bytes = 0;    ///< of what it finds of a column in passing; 0 where it does not
  bool is_passed = false;       ///< another kernel takes its elements in passing
};

/// The axis along which most bytes are turned, and kNoAxis where none are.
uint32_t most_turned_axis(const KernelFacts& facts);
/// Of an element of each access that is turned along this axis.
uint32_t turned_bytes(const KernelFacts& facts, uint32_t across);
/// Flags the gathers for whose node `holds` is true; one flag per access.
std::vector<bool> flag_gathers(const ir::Graph& graph, const KernelOutline& outline,
                               const std::function<bool(ir::NodeId)>& holds);
/// Whether a kernel that reduces stores something of each element as well.
bool stores_elements(const KernelFacts& facts);
/// `graph` must be the one that the outline was made of.
KernelFacts facts_of(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout);

}  // namespace ingot::codegen
