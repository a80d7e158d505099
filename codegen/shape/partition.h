#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "codegen/shape/layout.h"
#include "codegen/shape/outline.h"

// Which of a graph's outlines a call takes: sizes say it, and where rows are reduced in passing how they lie in memory.

namespace ingot::codegen {

/// All of a graph's.
struct Outlines {
  Outline shared;
  std::optional<Outline> whole, passing;  ///< where they are others

  const Outline& of(PartitionStrategy strategy) const {
    return strategy == PartitionStrategy::Whole && whole       ? *whole
           : strategy == PartitionStrategy::Passing && passing ? *passing
                                                               : shared;
  }
};
Outlines outlines(const ir::Graph& graph);

/// Which of them a call had better take: whole where all lone rows are short, where the bits are the same; in passing
/// where all rows are long and many enough, if it may be.
PartitionStrategy partition_strategy_of(const Outlines& outlines, std::span<const ir::HostValue> host, bool may_pass);

/// Into how many pieces rows of so many columns are dealt out, one after another in turn, where these are reduced in
/// passing; a power of two.
uint32_t pieces_in_passing(int64_t columns);

/// Whether all that the kernels read in passing lies along their rows, element by element.
bool passes_along_memory(const Outline& outline, std::span<const KernelGeometry> geometries);

}  // namespace ingot::codegen
