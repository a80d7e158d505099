#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/schedule/schedule.h"

// Every choice that is about speed, as pure functions of what the choice depends on; the reasons stand beside the rules
// in policy.cpp. None of them can make a kernel wrong.

namespace ingot::codegen {

inline constexpr uint32_t kNoAxis = UINT32_MAX;
inline constexpr uint32_t kVectorBytes = 16;  ///< the widest load or store of a thread
inline constexpr uint32_t kWordBytes = 4;     ///< the narrowest whose bytes are shifted

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
  bool shares_place = false;  ///< of a gather, all elements of a row have the same indices
  bool moves_in_row = false;  ///< of a kernel that reduces, it touches other elements along a row
  uint32_t phase = 0;         ///< the first that needs it
  StrideClass along_rows = StrideClass::Zero;  ///< of one that reduces, from row to row along the innermost axis kept
};

/// Whether it is read or written where the elements are.
bool is_element_wise(const AccessFacts& access);
/// Whether the address of each vector of so many lanes is a multiple of its size.
bool is_aligned(const AccessFacts& access, uint32_t lanes);

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

/// Whether a kernel that reduces stores something of each element as well.
bool stores_elements(const KernelFacts& facts);
/// `graph` must be the one that the outline was made of.
KernelFacts facts_of(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout);

/// What only an arm of a `where` needs.
struct ArmFacts {
  bool gathers = false;
  bool reads_groups = false;  ///< whole groups of neighbours
  bool computes = false;
};

/// Whether such an arm had better be computed, and read, only where it is taken.
bool is_lazy(const ArmFacts& arms, Lazy lazy, bool cuda);
/// Whether a load that only such an arm needs is made there.
bool is_masked(const AccessFacts& access, const KernelFacts& facts, Lazy lazy, bool cuda);

/// Names of maps from elements to threads.
enum class Preset : uint8_t {
  Single,       ///< an element a thread
  Flat,         ///< neighbours along the domain, within one row where there are rows
  RowByRow,     ///< the same where a block has one row, in whose ends a thread's neighbours lie with those of others
  Carried,      ///< neighbours along the domain, whatever row they lie in
  Tile,         ///< neighbours in some rows of a square of the domain
  Interleaved,  ///< elements a block apart
};

/// Threads of a CUDA block.
uint32_t block_threads(const KernelFacts& facts, Preset preset);
/// Whether blocks may take several steps along the domain, in each of which a thread has one vector of every access.
bool may_take_steps(const KernelFacts& facts, uint32_t lanes);
/// How many of them a flat one takes.
uint32_t steps_along(const KernelFacts& facts, uint32_t lanes);
/// Whether a CUDA kernel that reduces nothing divides float32 by steps of its own.
bool divides_by_own_steps(const KernelFacts& facts);
/// Whether the masked vectors of a group are read ahead of what is computed, so many of each at a time.
bool foresees(const AccessFacts& access, const std::vector<Chunk>& chunks, uint32_t vectors);
/// Where a block has one row: its threads, and how many steps they take through it, each of a thread's lanes.
struct RowSteps {
  uint32_t threads, steps;
};
RowSteps row_steps(const KernelFacts& facts);

/// Elements a thread takes where it can, a power of two.
uint32_t lanes_for(const KernelFacts& facts);

/// Whether a preset could be of use at all, and which one is chosen.
bool allows(Preset preset, const KernelFacts& facts, uint32_t lanes);
Preset preset_for(const KernelFacts& facts, uint32_t lanes);

/// Whether a load moves along this axis element by element, and along the innermost one does not.
bool is_turned(const AccessFacts& access, uint32_t axis);
/// The axis that spans a tile beside the innermost one; kNoAxis where a tile is of no use.
uint32_t axis_across(const KernelFacts& facts);
/// Rows and columns of a tile, and the lanes of its threads.
struct TileSize {
  uint32_t side, lanes;
};
TileSize tile_size_for(const KernelFacts& facts);

/// How a thread of that many lanes makes an access.
AccessSchedule::How how_for(const AccessFacts& access, const KernelFacts& facts, Preset preset, uint32_t lanes);

/// How a group is cut into vectors; a width of 1 is an access by itself. `used`: the distances from the leader,
/// ascending and without repeats. A store may write only what is used; a load may read what lies between.
std::vector<Chunk> chunks_of(const std::vector<uint32_t>& used, uint32_t element_bytes, uint32_t alignment, bool store);

/// On the CPU: the axis whose elements a tile's rows are; kNoAxis where a tile is of no use.
uint32_t cpu_axis_across(const KernelFacts& facts);
/// Rows of a tile of as many columns as kCpuTileColumns.
inline constexpr uint32_t kCpuTileColumns = 64;
uint32_t cpu_tile_rows(const KernelFacts& facts);

/// On the CPU: elements of a chunk of short rows; 0 where the rows had better be loops of their own.
uint32_t cpu_chunk(const KernelFacts& facts);
/// How an access is made in such a chunk; none where it cannot be.
std::optional<AccessSchedule::How> how_in_chunk(const AccessFacts& access, const KernelFacts& facts);

/// On the CPU: whether float16 is converted by runs, and how many elements of a row at a time.
bool is_widened(const AccessFacts& access, AccessSchedule::How how);
inline constexpr uint32_t kCpuPiece = 256;

/// On the CPU: elements of a vector; 0: as many as the machine's have room for.
uint32_t cpu_simd(const KernelFacts& facts);

/// The cost of an element for the grain of parallel_for, in eighths of a nanosecond.
uint32_t cpu_weight(uint32_t cost, uint32_t accesses);

}  // namespace ingot::codegen
