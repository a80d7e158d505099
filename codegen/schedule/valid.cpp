#include "codegen/schedule/valid.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/schedule/cost.h"
#include "codegen/schedule/policy.h"
#include "codegen/schedule/row_policy.h"

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

constexpr uint32_t kWarp = 32;
constexpr uint32_t kMostThreads = 1024;            // of a CUDA block
constexpr uint32_t kStaticSharedBytes = 48 << 10;  // of a CUDA block
constexpr uint32_t kExchangeBytes = 8 << 10;       // of shared memory, for results that threads exchange
constexpr uint64_t kStackBytes = 1 << 20;          // of a CPU thread, for all buffers
constexpr uint32_t kMostCpuLanes = 64;

/// A rule that is broken; empty if none is.
using BrokenRule = std::string_view;

/// A schedule to check, and the kernel that it is for.
struct Candidate {
  const Schedule& schedule;
  const KernelFacts& facts;
  const KernelLayout& layout;
  const Target& target;

  uint32_t kept(Scope scope) const { return schedule.kept().count(scope); }
  uint32_t reduced(Scope scope) const { return schedule.reduced().count(scope); }
  bool block_has_one_row() const { return kept(Scope::Block) == 1; }
  /// The bytes of an element of the loads and stores that satisfy the condition, in sum.
  template <typename Holds>
  uint64_t bytes_of(Holds holds) const {
    uint64_t bytes = 0;
    for (size_t a = 0; a < facts.accesses.size(); ++a)
      if (holds(schedule.accesses[a], facts.accesses[a])) bytes += facts.accesses[a].bytes;
    return bytes;
  }
};

// CUDA: the loop maps

BrokenRule broken_bits_rule(const Candidate& candidate) {
  const auto& [schedule, facts, layout, target] = candidate;
  const uint32_t accumulators =
      target.cuda() ? cuda_accumulators(layout.length_bits, facts.loads) : cpu_accumulators(layout.length_bits);
  if (facts.ordered_bytes > 0 && schedule.reduced().accumulators() != accumulators)
    return "the number of accumulators follows from the row's length if the order of additions matters";
  if (schedule.chunk_length() != (target.cuda() ? 0 : cpu_chunk_length(layout.length_bits)))
    return "the chunk length follows from the row's length";
  return {};
}

BrokenRule broken_number_rule(const Schedule& schedule, const KernelLayout& layout) {
  for (const LoopMap& loop_map : schedule.loop_maps)
    for (const MappedLoop& loop : loop_map.loops)
      if (loop.count != 0 && !std::has_single_bit(loop.count)) return "the counts of loops are powers of two";
  if (schedule.threads() % kWarp != 0 || schedule.threads() > kMostThreads)
    return "a block has whole warps, whose threads exchange values, and at most 1024 threads";
  if ((schedule.index_bits != 32 && schedule.index_bits != 64) || schedule.index_bits < layout.index_bits)
    return "an index has 32 or 64 bits, at least as many as the layout requires";
  return {};
}

/// Whether the schedule uses a feature that exists only if adjacent threads have adjacent elements of a row.
bool uses_rows_along(const Schedule& schedule) {
  const Residency& residency = schedule.residency;
  return residency.unguarded_steps > 0 || residency.shared_steps > 0 || residency.batch > 0 || residency.prefetches ||
         residency.computes_past_end || schedule.speculative_phase > 0 || schedule.column_chunks() > 0;
}

BrokenRule broken_across_rule(const Candidate& candidate) {
  const auto& [schedule, facts, layout, target] = candidate;
  const uint64_t shared = exchanged_bytes_across(schedule, facts);
  if (uses_rows_along(schedule) || schedule.residency.has_blocked_accumulators)
    return "rows across have no batches, prefetches, chunks of columns, speculative phase, or steps of other kinds";
  if (schedule.residency.steps % schedule.reduced().count(Scope::Serial) != 0 ||
      (schedule.residency.steps > 0 && schedule.residency.steps * elements_of_step(schedule) < lengths_of(layout).most))
    return "the steps cover the longest row of the layout, with equally many for each accumulator";
  if (layout.rank == layout.reduced_axes) return "adjacent rows differ along an axis that is not reduced";
  if (candidate.kept(Scope::Block) == 1 ||
      (candidate.kept(Scope::Block) > kWarp && candidate.reduced(Scope::Block) > 1))
    return "2 to 32 adjacent threads have adjacent vectors of rows, or more if each thread has rows of its own";
  if (schedule.lanes() > layout.row_axis_multiple && schedule.lanes() > 1)
    return "the number of adjacent rows is a multiple of the vector's width";
  if (shared > kStaticSharedBytes) return "the results of a block's warps fit into shared memory";
  if (schedule.has_partial_vectors) return "no vector of adjacent rows is partial";
  return {};
}

BrokenRule broken_along_rule(const Candidate& candidate) {
  const auto& [schedule, facts, layout, target] = candidate;
  const Residency& residency = schedule.residency;
  const uint64_t step = elements_of_step(schedule);
  const Lengths lengths = lengths_of(layout);
  if (residency.steps > 0 && residency.steps * step < lengths.most)
    return "the steps cover the longest row of the layout";
  if (residency.unguarded_steps > residency.steps || residency.unguarded_steps * step > lengths.least)
    return "in a step without guard, every row of the layout has elements for all threads";
  if (schedule.lanes() > 1 && !schedule.has_partial_vectors && layout.inner_multiple < schedule.lanes())
    return "unless vectors are partial, a row consists of whole vectors";
  if (candidate.reduced(Scope::Cluster) > 1 && !candidate.block_has_one_row())
    return "the blocks of a cluster have one row together";
  if (residency.prefetches && schedule.column_chunks() == 0)
    return "only a kernel with fused column partials prefetches rows";
  return {};
}

BrokenRule broken_phase_rule(const Candidate& candidate) {
  const auto& [schedule, facts, layout, target] = candidate;
  if (schedule.is_split() && (facts.phases > 1 || uses_rows_along(schedule) || schedule.residency.steps > 0 ||
                              schedule.residency.has_blocked_accumulators || candidate.reduced(Scope::Cluster) > 1))
    return "a split row has one phase, which loads its elements once";
  if (schedule.is_split() != !schedule.finalize_maps.empty()) return "a second launch combines the chunks of a row";
  if (candidate.reduced(Scope::Cluster) > cuda_cluster_blocks(static_cast<uint32_t>(target.architecture)))
    return "the target has clusters of so many blocks";
  if (schedule.speculative_phase != 0 && schedule.speculative_phase != facts.speculative_phase)
    return "the sums of the speculative phase can be computed one phase early";
  return {};
}

BrokenRule broken_residency_rule(const Candidate& candidate) {
  const auto& [schedule, facts, layout, target] = candidate;
  const Residency& residency = schedule.residency;
  if (residency.shared_steps > 0 && residency.shared_steps >= residency.steps)
    return "the first step of a row is cached in registers, even if later ones are in shared memory";
  if (residency.shared_steps > 0 && (!candidate.block_has_one_row() || residency.batch > 0 ||
                                     schedule.column_chunks() > 0 || residency.has_blocked_accumulators))
    return "shared memory holds the steps of one row";
  if (!residency.has_blocked_accumulators) return {};
  if (schedule.lanes() == 1 || candidate.reduced(Scope::Serial) == 1 || residency.steps == 0)
    return "blocked accumulators are vectors, of several runs, whose elements are loaded in steps";
  if (!candidate.block_has_one_row() || candidate.reduced(Scope::Cluster) > 1 || residency.batch > 0 ||
      schedule.column_chunks() > 0)
    return "a block with blocked accumulators has one row";
  if (schedule.speculative_phase > 0 && schedule.speculative_phase + 1 != facts.phases)
    return "blocked accumulators need the speculative phase to be the last one";
  if (schedule.reduced().accumulators() / schedule.lanes() * uint64_t{facts.ordered_bytes} >
      kStaticSharedBytes - kExchangeBytes)
    return "the results of blocked accumulators fit into shared memory";
  return {};
}

BrokenRule broken_batch_rule(const Candidate& candidate) {
  const auto& [schedule, facts, layout, target] = candidate;
  const Residency& residency = schedule.residency;
  if (residency.batch == 0) return {};
  if (residency.batch * candidate.reduced(Scope::Block) != kWarp) return "a batch has the rows of one warp";
  if (schedule.lanes() > 1 || residency.steps == 0 || candidate.reduced(Scope::Cluster) > 1 ||
      schedule.column_chunks() > 0)
    return "the rows of a batch are register-cached, element by element";
  if (layout.has_empty_rows || layout.rank == layout.reduced_axes) return "the rows of a batch have elements";
  if (std::ranges::any_of(facts.accesses, [](const AccessFacts& a) { return a.kind == Kind::Gather || a.is_grouped; }))
    return "nothing may be gathered for a row of a batch that does not exist";
  if (schedule.speculative_phase > 0) return "a batch has no speculative phase";
  return {};
}

BrokenRule broken_columns_rule(const Candidate& candidate) {
  const auto& [schedule, facts, layout, target] = candidate;
  const uint32_t rows_of_block = candidate.kept(Scope::Block), threads = candidate.reduced(Scope::Block);
  if (facts.column_partial_bytes == 0)
    return schedule.column_chunks() == 0 ? BrokenRule{} : "the kernel computes no fused column partials";
  if (schedule.column_chunks() != layout.column_chunks) return "the layout has the number of chunks of a column";
  if (schedule.residency.steps == 0 || schedule.is_split() || candidate.reduced(Scope::Cluster) > 1 ||
      schedule.speculative_phase > 0)
    return "with fused column partials, a thread has its columns in all rows of a chunk";
  if (facts.result_bytes > 0 && (threads < kWarp || (threads > kWarp && rows_of_block > 1)))
    return "threads that exchange values compute equally many rows";
  return {};
}

BrokenRule broken_cuda_mapping_rule(const Candidate& candidate) {
  const auto& [schedule, facts, layout, target] = candidate;
  if (const BrokenRule broken = broken_number_rule(schedule, layout); !broken.empty()) return broken;
  if (facts.finalizes_partials)
    return schedule.is_across() && schedule.reduced().accumulators() == layout.column_chunks
               ? BrokenRule{}
               : "column partials are combined across columns, as many as the layout has chunks";
  if (const BrokenRule broken = broken_bits_rule(candidate); !broken.empty()) return broken;
  if (const BrokenRule broken = broken_phase_rule(candidate); !broken.empty()) return broken;
  if (schedule.is_across() && facts.column_partial_bytes == 0) return broken_across_rule(candidate);
  for (const auto rule : {broken_along_rule, broken_residency_rule, broken_batch_rule, broken_columns_rule})
    if (const BrokenRule broken = rule(candidate); !broken.empty()) return broken;
  return {};
}

// CUDA: accesses

/// Whether the unaligned vectors of a row can be shifted out of the aligned vectors around them.
bool can_be_shifted(const AccessFacts& access, const Candidate& candidate) {
  const auto& [schedule, facts, layout, target] = candidate;
  const uint32_t bytes = schedule.lanes() * access.bytes;
  return !schedule.is_across() && schedule.column_chunks() == 0 && layout.reduced_axes == 1 &&
         !facts.never_reads_past_end && access.varies_in_row && access.kind == Kind::Load && !access.is_masked &&
         access.inner == StrideClass::One && bytes >= kWordBytes && bytes <= kVectorBytes;
}

/// Whether an access can be made in this way.
bool can_be_made(How how, const AccessFacts& access, const Candidate& candidate) {
  const auto& [schedule, facts, layout, target] = candidate;
  const bool is_across = schedule.is_across();
  switch (how) {
    case How::Fixed:
      return !access.varies_in_row;
    case How::Single:
      return true;
    case How::Vector:
      return schedule.lanes() > 1 && !schedule.has_partial_vectors &&
             (is_across ? is_vector_across_rows(access, layout, schedule.lanes())
                        : access.varies_in_row && is_vector_in_row(access, facts, schedule.lanes()));
    case How::Shifted:
      return schedule.lanes() > 1 && can_be_shifted(access, candidate);
    case How::Grouped:
      return !is_across && (schedule.lanes() == 1 || access.inner == StrideClass::Zero) && access.is_grouped &&
             is_element_wise(access);
    case How::Batched:
      return schedule.residency.batch > 0 && can_be_batched(access, schedule.residency.batch);
    default:
      return false;
  }
}

/// Whether an access reads nothing past the end of a row, and writes nothing there, if vectors are partial.
bool suits_partial_vectors(const AccessSchedule& access, const AccessFacts& facts) {
  if (facts.kind == Kind::Gather) return facts.row_shares_index;
  return !facts.varies_in_row || facts.kind == Kind::Index || access.how == How::Shifted;
}

BrokenRule broken_cuda_access_rule(const AccessSchedule& how, const AccessFacts& access, const Candidate& candidate) {
  const Schedule& schedule = candidate.schedule;
  if (!can_be_made(how.how, access, candidate)) return "its layout allows the access to be made this way";
  if (schedule.has_partial_vectors && !suits_partial_vectors(how, access))
    return "a partial vector accesses nothing past the end of its row";
  if (schedule.residency.batch > 0 && access.kind == Kind::Store && access.varies_in_row && how.how != How::Batched)
    return "a batch stores all elements of its rows together, and none of rows that do not exist";
  if (how.is_loaded_ahead &&
      (access.kind != Kind::Load || !access.varies_in_row || access.is_masked || how.how == How::Grouped))
    return "a load ahead of all phases is of one element for each element of the row";
  return {};
}

bool may_be_cached(const AccessSchedule& how, const AccessFacts& access) {
  return access.kind == Kind::Load && how.how != How::Fixed && how.how != How::Grouped && !access.is_masked;
}

/// The number of arrays that cache loads.
uint32_t cached_arrays(const Candidate& candidate) {
  uint32_t arrays = 0;
  for (size_t a = 0; a < candidate.facts.accesses.size(); ++a) {
    const AccessFacts& access = candidate.facts.accesses[a];
    const AccessSchedule& how = candidate.schedule.accesses[a];
    arrays += may_be_cached(how, access) && (access.phase == 0 || how.is_loaded_ahead);
  }
  return arrays;
}

BrokenRule broken_memory_rule(const Candidate& candidate) {
  const auto& [schedule, facts, layout, target] = candidate;
  const Residency& residency = schedule.residency;
  const uint64_t shared_elements =
      uint64_t{residency.shared_steps} * candidate.reduced(Scope::Block) * schedule.lanes();
  const uint64_t batched = candidate.bytes_of([](const auto& how, const auto&) { return how.how == How::Batched; });
  const bool has_cached_vectors = residency.steps > 0 && !residency.has_blocked_accumulators && !schedule.is_across();
  if (residency.shared_steps > 0 && cached_arrays(candidate) > 1)
    return "two arrays of a kernel would share their place in shared memory";
  if (residency.shared_steps > 0 &&
      shared_elements * candidate.bytes_of(may_be_cached) + kExchangeBytes > facts.shared_bytes)
    return "the steps in shared memory fit there";
  if (residency.batch > 0 && uint64_t{schedule.threads()} * residency.steps * batched > kStaticSharedBytes)
    return "the batches of a block fit into shared memory";
  if (!residency.cached.empty() && !has_cached_vectors) return "computed values are cached in register-cached rows";
  if (residency.computes_past_end && !can_compute_past_end(facts, schedule))
    return "threads compute past a row's end only in whole vectors that registers cache, without gathers of elements, "
           "integer divisions and lazy `where`s";
  if (std::ranges::any_of(schedule.accesses, &AccessSchedule::is_loaded_ahead) && !has_cached_vectors)
    return "loads ahead of all phases are cached in registers";
  return {};
}

// The CPU

BrokenRule broken_cpu_mapping_rule(const Candidate& candidate) {
  const auto& [schedule, facts, layout, target] = candidate;
  const uint32_t lanes = candidate.kept(Scope::Vector);
  if (uses_rows_along(schedule) || schedule.residency.steps > 0 || schedule.threads() > 1)
    return "threads, clusters, batches and steps are for CUDA";
  if (const BrokenRule broken = broken_bits_rule(candidate); !broken.empty()) return broken;
  if (schedule.is_split() && facts.phases > 1) return "a split row has one phase";
  if (!std::has_single_bit(lanes) || lanes > kMostCpuLanes)
    return "a unit has a power of two of adjacent rows, at most 64";
  if (schedule.is_across() != (lanes > 1)) return "adjacent rows in a vector are several rows";
  if (schedule.residency.has_blocked_accumulators && (!schedule.is_across() || schedule.chunk_length() > 0))
    return "blocked accumulators on the CPU are those of adjacent rows of one chunk";
  if (!schedule.is_across()) return {};
  if (layout.rank == layout.reduced_axes) return "adjacent rows differ along an axis that is not reduced";
  if (facts.depends_on_vector_width) return "the bits of a row do not depend on its neighbours";
  if (uint64_t{schedule.reduced().accumulators()} * lanes * facts.result_bytes > kStackBytes)
    return "the accumulators fit on the stack";
  return {};
}

BrokenRule broken_cpu_access_rule(const AccessSchedule& how, const AccessFacts& access, const Candidate& candidate) {
  const auto& [schedule, facts, layout, target] = candidate;
  const bool can_be_transposed = schedule.is_across() && layout.reduced_axes == 1 && !facts.results_alias &&
                                 !facts.has_regions && access.varies_in_row && is_element_wise(access) &&
                                 access.inner == StrideClass::One;
  if (how.how == How::Single || (how.how == How::Fixed && !access.varies_in_row) ||
      (how.how == How::Staged && can_be_transposed))
    return {};
  return "its layout allows the access to be made this way";
}

BrokenRule broken_stack_rule(const Candidate& candidate) {
  const uint64_t staged = candidate.bytes_of([](const auto& how, const auto&) { return how.how == How::Staged; });
  if ((staged * candidate.kept(Scope::Vector) << candidate.layout.length_bits) > kStackBytes / 2)
    return "transposed rows fit on the stack";
  return {};
}

/// The properties of a kernel with the lazy `where`s and the masked accesses of a schedule.
KernelFacts facts_with(KernelFacts facts, const Schedule& schedule) {
  facts.has_regions = !schedule.lazy.empty();
  if (facts.has_regions) facts.speculative_phase = 0;
  for (size_t a = 0; a < facts.accesses.size(); ++a) facts.accesses[a].is_masked = schedule.accesses[a].is_masked;
  return facts;
}

/// Whether the schedule caches only values that several phases need.
BrokenRule broken_shared_value_rule(const Schedule& schedule, const ir::Graph& graph, const KernelOutline& outline,
                                    const KernelLayout& layout) {
  if (schedule.residency.cached.empty()) return {};
  const std::vector<ir::NodeId> shared = shared_by_phases(graph, outline, layout, schedule.speculative_phase);
  uint64_t bytes = 0;
  for (const ir::NodeId id : schedule.residency.cached) {
    if (std::ranges::find(shared, id) == shared.end()) return "a cached value is needed by several phases";
    bytes += static_cast<uint64_t>(ir::size_of(graph[id].dtype));
  }
  if (schedule.residency.steps == 0 &&
      (bytes * schedule.kept().count(Scope::Vector) << layout.length_bits) > kStackBytes)
    return "cached values fit on the stack";
  return {};
}

std::optional<std::string> text_of(BrokenRule rule) {
  return rule.empty() ? std::nullopt : std::optional(std::string(rule));
}

}  // namespace

std::optional<std::string> broken_mapping_rule(const Schedule& schedule, const KernelFacts& facts,
                                               const KernelLayout& layout, const Target& target) {
  const Candidate candidate{schedule, facts, layout, target};
  return text_of(target.cuda() ? broken_cuda_mapping_rule(candidate) : broken_cpu_mapping_rule(candidate));
}

std::optional<std::string> broken_rule(const Schedule& schedule, const KernelFacts& facts, const KernelLayout& layout,
                                       const Target& target) {
  const Candidate candidate{schedule, facts, layout, target};
  if (schedule.accesses.size() != facts.accesses.size()) return "each access has a schedule";
  if (auto broken = broken_mapping_rule(schedule, facts, layout, target)) return broken;
  const auto access_rule = target.cuda() ? broken_cuda_access_rule : broken_cpu_access_rule;
  for (size_t a = 0; a < facts.accesses.size(); ++a)
    if (const BrokenRule broken = access_rule(schedule.accesses[a], facts.accesses[a], candidate); !broken.empty())
      return fmt::format("access {}: {}", a, broken);
  if (!schedule.residency.cached.empty() && facts.has_regions)
    return "a value that some elements do not need is not cached";
  return text_of(target.cuda() ? broken_memory_rule(candidate) : broken_stack_rule(candidate));
}

std::optional<std::string> broken_rule(const Schedule& schedule, const ir::Graph& graph, const KernelOutline& outline,
                                       const KernelLayout& layout, const Target& target) {
  if (!outline.reduces()) return {};
  if (schedule.accesses.size() != outline.accesses.size()) return "each access has a schedule";
  const KernelFacts facts = facts_with(facts_of(graph, outline, layout, target), schedule);
  if (auto broken = broken_rule(schedule, facts, layout, target)) return broken;
  return text_of(broken_shared_value_rule(schedule, graph, outline, layout));
}

}  // namespace ingot::codegen
