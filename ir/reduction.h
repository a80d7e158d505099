#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/host/host.h"
#include "ir/op.h"

namespace ingot::ir {

enum class ReduceKind : uint8_t {
#define INGOT_REDUCTION(id, name, value_count, accepts, summary) id,
#include "ir/reductions.def"
#undef INGOT_REDUCTION
};

/// One row of reductions.def.
struct ReductionInfo {
  ReduceKind kind;
  std::string_view name;
  uint32_t value_count;  ///< 1, or 2 for a value and the index of the element that has it
  Accepts accepts;
};

std::span<const ReductionInfo> reductions();
const ReductionInfo& info(ReduceKind kind);
std::optional<ReduceKind> reduction_named(std::string_view name);

/// One flag, 0 or 1, for each dim.
using DimMarks = std::vector<uint8_t>;

/// The reduction that a Reduce node applies to its operand, a function of an index over `domain`. An Access reads its
/// values as tensors of the domain's rank, with size 1 along each reduced dim. Value 0 has the node's dtype. Value 1,
/// if the reduction has one, is the int64 index of an element: its row-major offset over the reduced dims.
struct Reduction {
  ReduceKind kind = ReduceKind::Sum;
  std::vector<HostId> domain;
  DimMarks reduced;  ///< flags the dims of the domain that are reduced
  /// All elements of a row are known to be equal: the result is any of them, and nothing needs to be reduced. The kind
  /// is Max. Only code generation sets this.
  bool is_row_value = false;
  bool operator==(const Reduction&) const = default;
};

}  // namespace ingot::ir
