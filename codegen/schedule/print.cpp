#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/schedule/schedule.h"

namespace ingot::codegen {
namespace {

std::string_view name_of(Scope scope) {
  static constexpr std::string_view kNames[] = {"grid", "block", "vector", "serial"};
  return kNames[static_cast<size_t>(scope)];
}

std::string text_of(const LoopMap& loop_map) {
  std::vector<std::string> steps;
  for (const MappedLoop& step : loop_map.steps)
    steps.push_back(step.count == 0 ? std::string(name_of(step.scope))
                                    : fmt::format("{} {}", step.count, name_of(step.scope)));
  const std::string axes = loop_map.axes == 1
                               ? fmt::format("axis {}", loop_map.first)
                               : fmt::format("axes {} to {}", loop_map.first, loop_map.first + loop_map.axes - 1);
  return fmt::format("{}: {}", axes, fmt::join(steps, " · "));
}

std::string_view text_of(Coordinates coordinates) {
  switch (coordinates) {
    case Coordinates::None:
      return "none";
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

std::string text_of(const RowSchedule& rows) {
  std::string text = fmt::format("  rows: {} accumulators", rows.accumulators);
  if (rows.chunk_length != 0) text += fmt::format(" per chunk of {} elements", rows.chunk_length);
  if (rows.threads > 1) text += fmt::format(", {} threads", rows.threads);
  if (rows.cluster > 1) text += fmt::format(" in each of the {} blocks of a cluster", rows.cluster);
  if (rows.across)
    text += rows.group_accumulators > 0
                ? fmt::format(" a warp apart, {} accumulators at a time", rows.group_accumulators)
                : ", adjacent rows in a vector";
  if (rows.batch > 0) text += fmt::format(", batches of {} per warp", rows.batch);
  if (rows.steps > 0)
    text += fmt::format(", {} in {} steps", rows.has_blocked_accumulators ? "blocked accumulators" : "register-cached",
                        rows.steps);
  if (rows.shared_steps > 0) text += fmt::format(", {} of them in shared memory", rows.shared_steps);
  if (const size_t cached = rows.cached.size(); cached > 0)
    text += fmt::format(
        fmt::runtime(rows.steps > 0 ? " with {} computed value{} per element" : ", {} cached value{} per element"),
        cached, cached == 1 ? "" : "s");
  if (rows.speculative_phase > 0)
    text += fmt::format(", sums of phase {} computed speculatively, one phase early", rows.speculative_phase);
  if (rows.column_chunks > 0)
    text += fmt::format(", fused column partials in {} chunks{}", rows.column_chunks,
                        rows.prefetches ? ", next row prefetched" : "");
  if (rows.is_split) text += rows.chunks > 1 ? fmt::format(", {} chunks", rows.chunks) : ", chunks";
  return text + (rows.is_split ? " combined by a second launch\n" : "\n");
}

std::string_view text_of(SplitReason split_reason) {
  switch (split_reason) {
    case SplitReason::Gathered:
      return "it is read by a gather";
    case SplitReason::OtherRows:
      return "its reader has other rows";
    case SplitReason::OtherReduction:
      return "its reader is reduced over other rows";
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
                     access.is_loaded_ahead ? ", ahead of all phases" : "");
}

std::string print(const Schedule& schedule, const KernelOutline& outline) {
  const std::string vectors = schedule.simd == 0 ? "" : fmt::format(", vectors of {}", schedule.simd);
  std::string text =
      fmt::format("{}: {} thread{} of {} element{}{}{}, {}-bit indices\n", outline.name, schedule.threads,
                  schedule.threads == 1 ? "" : "s", schedule.lanes, schedule.lanes == 1 ? "" : "s",
                  schedule.has_partial_vectors ? ", ragged" : "", vectors, schedule.index_bits);
  for (const LoopMap& loop_map : schedule.loop_maps) text += "  " + text_of(loop_map) + "\n";
  text += fmt::format("  coordinates: {}\n", text_of(schedule.coordinates));
  if (schedule.rows.accumulators != 0) text += text_of(schedule.rows);
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
