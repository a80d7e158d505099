#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/schedule/facts.h"
#include "codegen/schedule/schedule.h"

// Every choice that is about speed, as pure functions of what the choice depends on; the reasons stand beside the rules
// in policy.cpp, of the CPU in policy_cpu.cpp. None of them can make a kernel wrong.

namespace ingot::codegen {

inline constexpr uint32_t kWordBytes = 4;  ///< the narrowest whose bytes are shifted

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

/// Threads of a CUDA block, and how many steps they take through its part, in each of which they have their lanes.
struct Steps {
  uint32_t threads, count;
};
Steps steps_for(const KernelFacts& facts, Preset preset, uint32_t lanes);
/// Whether flat blocks may take several along the domain, with one vector of every access in each.
bool may_take_steps(const KernelFacts& facts, uint32_t lanes);
/// Whether a CUDA kernel that reduces nothing divides float32 by steps of its own.
bool divides_by_own_steps(const KernelFacts& facts);
/// Whether the masked vectors of a group are read ahead of what is computed, so many of each at a time.
bool foresees(const AccessFacts& access, const std::vector<Chunk>& chunks, uint32_t vectors);

/// Elements a thread takes where it can, a power of two.
uint32_t lanes_for(const KernelFacts& facts);

/// Whether a preset could be of use at all, and which one is chosen.
bool allows(Preset preset, const KernelFacts& facts, uint32_t lanes);
Preset preset_for(const KernelFacts& facts, uint32_t lanes);

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
