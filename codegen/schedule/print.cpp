#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/schedule/schedule.h"

namespace ingot::codegen {
namespace {

std::string_view name_of(Scope scope) {
  static constexpr std::string_view kNames[] = {"grid", "cluster", "block", "vector", "serial", "fold"};
  return kNames[static_cast<size_t>(scope)];
}

std::string axes_of(const LoopMap& loop_map) {
  if (loop_map.axes == 0) return "no axis";
  if (loop_map.axes == 1) return fmt::format("axis {}", loop_map.first);
  return fmt::format("axes {} to {}", loop_map.first, loop_map.first + loop_map.axes - 1);
}

std::string text_of(const LoopMap& loop_map) {
  std::vector<std::string> loops;
  for (const MappedLoop& loop : loop_map.loops)
    if (loop.count != 1)
      loops.push_back(loop.count == 0 ? std::string(name_of(loop.scope))
                                      : fmt::format("{} {}", loop.count, name_of(loop.scope)));
  return fmt::format("  {}{}: {}\n", axes_of(loop_map), loop_map.is_reduced ? ", reduced" : "",
                     fmt::join(loops, " · "));
}

std::string_view text_of(Coordinates coordinates) {
  switch (coordinates) {
    case Coordinates::None:
      break;
    case Coordinates::Thread:
      return "by division, once per thread";
    case Coordinates::Lane:
      return "by division, for each element";
    case Coordinates::Row:
      return "by division, once per block, which has one row";
    case Coordinates::Carry:
      return "by division once per thread, then carried from element to element";
  }
  return {};
}

std::string text_of(const AccessSchedule& access) {
  using How = AccessSchedule::How;
  switch (access.how) {
    case How::Fixed:
      return "uniform";
    case How::Single:
      return "element by element";
    case How::Vector:
      return "vector";
    case How::Shifted:
      return "unaligned vector, out of two aligned ones";
    case How::Batched:
      return "a warp's rows together, by vectors through shared memory";
    case How::Staged:
      return "transposed in a buffer";
    case How::Spread:
      return "each element repeated along a row";
    case How::Repeated:
      return "a row, repeated";
    case How::Grouped: {
      std::vector<std::string> group_vectors;
      for (const GroupVector& group_vector : access.group_vectors)
        group_vectors.push_back(fmt::format("{}+{}", group_vector.first, group_vector.width));
      return group_vectors.empty() ? "with its group" : fmt::format("group: {}", fmt::join(group_vectors, " "));
    }
  }
  return {};
}

std::string text_of(const Residency& residency) {
  std::vector<std::string> texts;
  if (residency.has_blocked_accumulators)
    texts.push_back(residency.steps > 0 ? fmt::format("blocked accumulators of {} steps", residency.steps)
                                        : "blocked accumulators");
  else if (residency.steps > 0)
    texts.push_back(fmt::format("{} steps in registers", residency.steps - residency.shared_steps));
  if (residency.shared_steps > 0) texts.push_back(fmt::format("{} steps in shared memory", residency.shared_steps));
  if (residency.computes_past_end) texts.emplace_back("computed past the row's end");
  if (residency.batch > 0) texts.push_back(fmt::format("batches of {} rows per warp", residency.batch));
  if (const size_t cached = residency.cached.size(); cached > 0)
    texts.push_back(fmt::format("{} computed value{} per element", cached, cached == 1 ? "" : "s"));
  if (residency.prefetches) texts.emplace_back("next row prefetched");
  return texts.empty() ? "" : fmt::format("  cached: {}\n", fmt::join(texts, ", "));
}

std::string_view text_of(SplitReason split_reason) {
  switch (split_reason) {
    case SplitReason::Gathered:
      return "it is read by a gather";
    case SplitReason::OtherRows:
      return "its reader has other rows";
    case SplitReason::OtherReduction:
      return "its reader is reduced over other rows";
    case SplitReason::StoredApart:
      return "its reader is stored by a kernel of its own";
    case SplitReason::PerPhase:
      return "each phase has a kernel, in which many blocks share a row";
    case SplitReason::LaterReads:
      return "its reader also needs a later kernel";
  }
  return {};
}

}  // namespace

std::string print(const AccessSchedule& access) {
  return fmt::format("{}{}{}{}", text_of(access), access.is_widened ? ", converted to float32" : "",
                     access.is_hoisted  ? ", only where it is needed, under a hoisted predicate"
                     : access.is_masked ? ", only where it is needed"
                                        : "",
                     access.is_loaded_ahead ? ", ahead of all phases"
                     : access.is_prefetched ? ", prefetched"
                                            : "");
}

std::string print(const Schedule& schedule, const KernelOutline& outline) {
  std::vector<std::string> properties;
  if (schedule.has_partial_vectors) properties.emplace_back("partial vectors");
  if (schedule.simd != 0) properties.push_back(fmt::format("vectors of {}", schedule.simd));
  properties.push_back(fmt::format("{}-bit indices", schedule.index_bits));
  std::string text = fmt::format("{}: {}\n", outline.name, fmt::join(properties, ", "));
  for (const LoopMap& loop_map : schedule.loop_maps) text += text_of(loop_map);
  if (schedule.coordinates != Coordinates::None)
    text += fmt::format("  coordinates: {}\n", text_of(schedule.coordinates));
  text += text_of(schedule.residency);
  if (schedule.speculative_phase > 0)
    text += fmt::format("  sums of phase {} computed speculatively, one phase early\n", schedule.speculative_phase);
  if (!schedule.finalize_maps.empty()) text += "  the partial results are combined by a second launch:\n";
  for (const LoopMap& loop_map : schedule.finalize_maps) text += "  " + text_of(loop_map);
  for (size_t a = 0; a < schedule.accesses.size(); ++a)
    text += fmt::format("  access {}: {}\n", a, print(schedule.accesses[a]));
  for (size_t v = 0; v < outline.workspace_stores.size(); ++v) {
    const size_t access = outline.first_store() + outline.output_blocks.size() + v;
    const std::string& value = outline.accesses[access].text;
    text += fmt::format("  access {} stores {} for a later kernel: {}\n", access, value.substr(0, value.find('\n')),
                        text_of(outline.workspace_stores[v].split_reason));
  }
  if (schedule.uses_quotient_of) text += "  quotients: by quotient_of\n";
  if (!schedule.lazy.empty()) text += fmt::format("  lazy: {} where\n", schedule.lazy.size());
  return text;
}

}  // namespace ingot::codegen
