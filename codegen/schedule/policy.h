#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/schedule/facts.h"
#include "codegen/schedule/schedule.h"

// The rules about speed, as pure functions. The reasons are in the comments of policy.cpp and, for the CPU,
// policy_cpu.cpp. No rule can make a kernel incorrect. `lanes` is the number of elements of a thread. In these rules a
// row is a line of elements along the innermost axis.

namespace ingot::codegen {

inline constexpr uint32_t kWordBytes = 4;  ///< the smallest width of a vector, in bytes, for which shifted loads are
                                           ///< possible

/// The properties of the values that only one arm of a `where` needs.
struct ArmFacts {
  bool gathers = false;       ///< some of them are gathered
  bool reads_groups = false;  ///< some of them are loads of access groups
  bool computes = false;      ///< some of them are results of ops
};

/// Whether an arm with these properties should be computed, and its operands loaded, only if it is selected (lazily).
bool is_lazy(const ArmFacts& arms, Lazy lazy, bool is_cuda);
/// Whether a load that only a lazy arm needs is made within the arm.
bool is_masked(const AccessFacts& access, const KernelFacts& facts, Lazy lazy, bool is_cuda);

/// The presets: how elements are assigned to threads (see LoopMap in schedule.h).
enum class Preset : uint8_t {
  Single,    ///< one element per thread
  Flat,      ///< in each step, one vector of adjacent elements per thread; the next step continues after the vectors of
             ///< all threads of the block. If there are several axes, a vector is within one row
  RowByRow,  ///< as Flat, but each block has one row, or a part of one. The first and the last vector may cross the
             ///< row's ends
  Carried,   ///< a vector of adjacent elements per thread, which may cross ends of rows
  Tile,      ///< vectors in several rows of a tile of the domain
  Interleaved,  ///< several elements per thread, as far apart as the block has threads
};

/// The threads of a CUDA block, and the number of steps in which they process the block's elements. In each step a
/// thread processes one vector.
struct Steps {
  uint32_t threads, count;
};
/// The steps to use with a preset.
Steps steps_for(const KernelFacts& facts, Preset preset, uint32_t lanes);
/// Whether blocks of the preset Flat may take several steps: every access must be a vector or uniform.
bool may_take_steps(const KernelFacts& facts, uint32_t lanes);
/// Whether a CUDA kernel that reduces nothing uses the prelude's `quotient_of` for float32 division.
bool uses_quotient_of(const KernelFacts& facts);
/// Whether the masked vectors of an access group (`group_vectors`) are loaded ahead of the computation, under a hoisted
/// predicate. `group_count`: the number of elements for which a thread has these vectors at a time.
bool should_hoist(const AccessFacts& access, const std::vector<GroupVector>& group_vectors, uint32_t group_count);

/// The elements per thread, if the layout allows as many; a power of two.
uint32_t lanes_for(const KernelFacts& facts);

/// Whether a preset can be used for a kernel.
bool allows(Preset preset, const KernelFacts& facts, uint32_t lanes);
/// The preset to use for a kernel.
Preset preset_for(const KernelFacts& facts, uint32_t lanes);

/// CUDA: the axis that spans a tile together with the innermost one; kNoAxis if no tile is used.
uint32_t axis_across(const KernelFacts& facts);
/// The elements of a tile along the axis `axis_across` and along the innermost axis, and the elements of a thread's
/// vector.
struct TileSize {
  uint32_t rows, columns, lanes;
};
TileSize tile_size_for(const KernelFacts& facts);

/// How a thread with a vector of `lanes` elements makes an access.
AccessSchedule::How how_for(const AccessFacts& access, const KernelFacts& facts, Preset preset, uint32_t lanes);

/// How an access group is divided into vectors; a width of 1 is a single element. `used`: the distances of the group's
/// accesses from the leader in elements, ascending and unique. A store may write only these elements; a load may also
/// read elements between them. `alignment`: of the leader, in bytes.
std::vector<GroupVector> vectors_of_group(const std::vector<uint32_t>& used, uint32_t element_bytes, uint32_t alignment,
                                          bool store);
/// The vectors of the access group that has this leader.
std::vector<GroupVector> group_vectors_of(const KernelOutline& outline, const KernelLayout& layout, uint32_t leader);

/// CPU: the axis along which a tile has several rows; kNoAxis if no tile is used.
uint32_t cpu_axis_across(const KernelFacts& facts);
/// CPU: the columns of a tile.
inline constexpr uint32_t kCpuTileColumns = 64;
/// CPU: the rows of a tile.
uint32_t cpu_tile_rows(const KernelFacts& facts);

/// CPU: the largest number of elements of short rows that one loop computes; 0 if each row should have its own loop.
uint32_t cpu_short_row_elements(const KernelFacts& facts);
/// CPU: how an access is made in a loop over several short rows; nothing if it cannot be made.
std::optional<AccessSchedule::How> how_in_short_rows(const AccessFacts& access, const KernelFacts& facts);

/// CPU: whether an access converts float16 in bulk.
bool is_widened(const AccessFacts& access, AccessSchedule::How how);
/// CPU: the number of elements of a row that such an access converts at a time.
inline constexpr uint32_t kCpuConversionBlock = 256;

/// CPU: the elements of a vector; 0: the machine's widest vectors.
uint32_t cpu_simd(const KernelFacts& facts);

/// CPU: the estimated time per element, in 1/8 ns; sets the grain size of parallel_for.
uint32_t cpu_weight(uint32_t cost, uint32_t accesses);

}  // namespace ingot::codegen
