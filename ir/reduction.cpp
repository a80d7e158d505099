#include "ir/reduction.h"

#include <algorithm>

namespace ingot::ir {
namespace {

using namespace accepted;

constexpr ReductionInfo kReductions[] = {
#define INGOT_REDUCTION(id, name, value_count, accepts, summary) {ReduceKind::id, name, value_count, accepts},
#include "ir/reductions.def"
#undef INGOT_REDUCTION
};

}  // namespace

std::span<const ReductionInfo> reductions() { return kReductions; }

const ReductionInfo& info(ReduceKind kind) { return kReductions[static_cast<size_t>(kind)]; }

std::optional<ReduceKind> reduction_named(std::string_view name) {
  const auto match = std::ranges::find(kReductions, name, &ReductionInfo::name);
  if (match == std::end(kReductions)) return std::nullopt;
  return match->kind;
}

}  // namespace ingot::ir
