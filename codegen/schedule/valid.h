#pragma once

#include <optional>
#include <string>

#include "codegen/schedule/facts.h"
#include "codegen/schedule/schedule.h"

// The rules that a schedule of a kernel that reduces must satisfy, so that its kernel is right. The rules about speed
// (row_policy.h) choose among the schedules that satisfy them. All schedules that satisfy them give the same bits.

namespace ingot::codegen {

/// The rule that a schedule breaks by its loop maps, its residency without the cached nodes, or its other fields
/// without the accesses; nothing if it breaks none.
std::optional<std::string> broken_mapping_rule(const Schedule& schedule, const KernelFacts& facts,
                                               const KernelLayout& layout, const Target& target);

/// The rule that a schedule of a kernel that reduces breaks, in words; nothing if it breaks none. `facts`: as the
/// schedule's lazy `where`s and masked accesses imply.
std::optional<std::string> broken_rule(const Schedule& schedule, const KernelFacts& facts, const KernelLayout& layout,
                                       const Target& target);

/// As above, for any kernel; nothing is checked if it does not reduce. `layout` is as `relevant_to` the target, and
/// `graph` the graph from which the outline was made.
std::optional<std::string> broken_rule(const Schedule& schedule, const ir::Graph& graph, const KernelOutline& outline,
                                       const KernelLayout& layout, const Target& target);

}  // namespace ingot::codegen
