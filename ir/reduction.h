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
#define INGOT_REDUCTION(id, name, values, accepts, summary) id,
#include "ir/reductions.def"
#undef INGOT_REDUCTION
};

/// One row of reductions.def.
struct ReductionInfo {
  ReduceKind kind;
  std::string_view name;
  uint32_t values;
  Accepts accepts;
};

std::span<const ReductionInfo> reductions();
const ReductionInfo& info(ReduceKind kind);
std::optional<ReduceKind> reduction_named(std::string_view name);

/// One mark for each dim, 0 or 1.
using DimMarks = std::vector<uint8_t>;

/// What a Reduce node does with its operand, a function of an index over `domain`. Read through an Access, its values
/// are tensors of the rank of the domain: where a dim is reduced, of size 1. Value 0 is of the node's dtype, the index
/// of an element is an int64: how many elements stand before it in row-major order of the reduced dims.
struct Reduction {
  ReduceKind kind = ReduceKind::Sum;
  std::vector<HostId> domain;
  DimMarks reduced;  ///< of the domain's dims, those that are made one
  bool operator==(const Reduction&) const = default;
};

}  // namespace ingot::ir
