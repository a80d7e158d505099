#pragma once

#include <cstdint>
#include <vector>

#include "codegen/schedule/schedule.h"

// Every choice that is about speed, as pure functions of what the choice depends on; the reasons stand beside the rules
// in policy.cpp. None of them can make a kernel wrong.

namespace ingot::codegen {

/// Threads of a CUDA block.
uint32_t block_threads();

/// What decides how many neighbouring elements a thread takes.
struct LaneFacts {
  struct Access {
    uint32_t bytes;      ///< of an element
    StrideClass inner;   ///< along the innermost axis
    uint32_t alignment;  ///< in bytes
    bool gathered;
    bool grouped;  ///< one of several neighbours that are read or written as a vector
  };
  std::vector<Access> accesses;  ///< loads, gathers and stores
  uint32_t rank = 1;
  uint32_t inner_multiple = 16;
  uint32_t cost = 0;  ///< of an element, as cost.h counts
};

/// Elements a thread takes on CUDA, a power of two.
uint32_t lanes_for(const LaneFacts& facts);

/// How a group is cut into vectors; a width of 1 is an access by itself. `used`: the distances from the leader,
/// ascending and without repeats. A store may write only what is used; a load may read what lies between.
std::vector<Chunk> chunks_of(const std::vector<uint32_t>& used, uint32_t element_bytes, uint32_t alignment, bool store);

/// The cost of an element for the grain of parallel_for, in eighths of a nanosecond.
uint32_t cpu_weight(uint32_t cost, uint32_t accesses);

}  // namespace ingot::codegen
