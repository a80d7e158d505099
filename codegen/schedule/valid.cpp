#include "codegen/schedule/valid.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/schedule/cost.h"
#include "codegen/schedule/row_policy.h"

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;
using Broken = std::optional<std::string>;

constexpr uint32_t kWarp = 32;
constexpr uint32_t kMostThreads = 1024;            // of a CUDA block
constexpr uint32_t kStaticSharedBytes = 48 << 10;  // of a CUDA block
constexpr uint32_t kExchangeBytes = 8 << 10;       // of shared memory, for results that threads exchange
constexpr uint64_t kStackBytes = 1 << 20;          // of a CPU thread, for all buffers
constexpr uint32_t kMostCpuLanes = 64;

struct Rule {
  bool holds;
  std::string_view text;
};

Broken first_broken(std::initializer_list<Rule> rules) {
  const auto* broken = std::ranges::find(rules, false, &Rule::holds);
  return broken == rules.end() ? Broken{} : std::string(broken->text);
}

bool implies(bool condition, bool conclusion) { return !condition || conclusion; }

// CUDA: the mapping

Broken broken_bits_rule(const RowSchedule& rows, const KernelFacts& facts, const KernelLayout& layout,
                        const Target& target) {
  const uint32_t length_bits = layout.length_bits;
  const bool reduces_rows = facts.result_bytes > 0;
  const uint32_t accumulators =
      target.cuda() ? cuda_accumulators(length_bits, facts.loads) : cpu_accumulators(length_bits);
  return first_broken({
      {implies(reduces_rows, rows.accumulators == accumulators),
       "the number of accumulators follows from the row's length"},
      {rows.chunk_length == (target.cuda() ? 0 : cpu_chunk_length(length_bits)),
       "the chunk length follows from the row's length"},
  });
}

Broken broken_number_rule(const Schedule& schedule, const KernelLayout& layout) {
  const RowSchedule& rows = schedule.rows;
  const auto is_power = [](uint32_t number) { return std::has_single_bit(number); };
  return first_broken({
      {is_power(rows.accumulators) && is_power(rows.threads) && is_power(rows.cluster) && is_power(rows.chunks) &&
           is_power(schedule.lanes) && (rows.group_accumulators == 0 || is_power(rows.group_accumulators)),
       "accumulators, threads, blocks of a cluster, chunks and lanes are powers of two"},
      {rows.is_split == (rows.chunks > 1), "a split row has several chunks, and any other row has one"},
      {schedule.threads % kWarp == 0 && schedule.threads <= kMostThreads,
       "a block has whole warps, whose threads exchange values, and at most 1024 threads"},
      {(schedule.index_bits == 32 || schedule.index_bits == 64) && schedule.index_bits >= layout.index_bits,
       "an index has 32 or 64 bits, at least as many as the layout requires"},
  });
}

/// Whether the schedule uses a feature that only rows along which adjacent threads have adjacent elements have.
bool uses_rows_along(const RowSchedule& rows) {
  return rows.cluster > 1 || rows.batch > 0 || rows.steps > 0 || rows.unguarded_steps > 0 || rows.shared_steps > 0 ||
         rows.speculative_phase > 0 || rows.column_chunks > 0 || rows.prefetches || rows.has_blocked_accumulators;
}

Broken broken_across_rule(const Schedule& schedule, const KernelFacts& facts, const KernelLayout& layout) {
  const RowSchedule& rows = schedule.rows;
  const uint64_t shared = uint64_t{kWarp} * rows.threads * schedule.lanes * facts.result_bytes;
  return first_broken({
      {!uses_rows_along(rows), "rows that are adjacent in a vector are loaded again in each phase, by one block"},
      {layout.rank > layout.reduced_axes, "adjacent rows differ along an axis that is not reduced"},
      {schedule.threads == kWarp * rows.threads, "each warp has one thread for each of 32 adjacent vectors of rows"},
      {rows.threads <= rows.accumulators / rows.chunks, "a thread has at least one accumulator"},
      {rows.group_accumulators > 0, "a thread has a group of accumulators at a time"},
      {schedule.lanes <= layout.row_axis_multiple || schedule.lanes == 1,
       "the number of adjacent rows is a multiple of the vector's width"},
      {shared <= kStaticSharedBytes, "the results of a block's threads fit into shared memory"},
      {!schedule.has_partial_vectors, "no vector of adjacent rows is partial"},
  });
}

Broken broken_along_rule(const Schedule& schedule, const KernelLayout& layout) {
  const RowSchedule& rows = schedule.rows;
  const uint64_t step = elements_of_step(rows, schedule.lanes);
  const Lengths lengths = lengths_of(layout);
  const bool has_one_row = schedule.threads == rows.threads;
  return first_broken({
      {rows.group_accumulators == 0, "groups of accumulators are for rows that are adjacent in a vector"},
      {schedule.threads % rows.threads == 0, "a block has whole rows"},
      {uint64_t{rows.threads} * rows.cluster * schedule.lanes <= rows.accumulators / rows.chunks,
       "each element of a thread's vector has an accumulator of its own"},
      {implies(rows.steps > 0, rows.steps * step >= lengths.most), "the steps cover the longest row of the layout"},
      {implies(rows.unguarded_steps > 0,
               rows.unguarded_steps <= rows.steps && rows.unguarded_steps * step <= lengths.least),
       "in a step without guard, every row of the layout has elements for all threads"},
      {implies(schedule.lanes > 1 && !schedule.has_partial_vectors, layout.inner_multiple >= schedule.lanes),
       "unless vectors are partial, a row consists of whole vectors"},
      {implies(rows.cluster > 1, has_one_row), "the blocks of a cluster have one row together"},
      {implies(rows.prefetches, rows.column_chunks > 0), "only a kernel with fused column partials prefetches rows"},
  });
}

Broken broken_phase_rule(const Schedule& schedule, const KernelFacts& facts, const Target& target) {
  const RowSchedule& rows = schedule.rows;
  return first_broken({
      {implies(rows.is_split && !facts.finalizes_partials, facts.phases == 1 && rows.steps == 0 && rows.cluster == 1 &&
                                                               rows.batch == 0 && rows.speculative_phase == 0 &&
                                                               !rows.has_blocked_accumulators),
       "a split row has one phase, which loads its elements once"},
      {rows.cluster <= cuda_cluster_blocks(static_cast<uint32_t>(target.architecture)),
       "the target has clusters of so many blocks"},
      {rows.speculative_phase == 0 || rows.speculative_phase == facts.speculative_phase,
       "the sums of the speculative phase can be computed one phase early"},
  });
}

Broken broken_residency_rule(const Schedule& schedule, const KernelFacts& facts) {
  const RowSchedule& rows = schedule.rows;
  const bool has_one_row = schedule.threads == rows.threads;
  const uint32_t runs = rows.accumulators / rows.chunks / (rows.threads * rows.cluster * schedule.lanes);
  const uint64_t run_bytes = uint64_t{rows.accumulators} / schedule.lanes * facts.ordered_bytes;
  return first_broken({
      {implies(rows.shared_steps > 0, rows.shared_steps < rows.steps),
       "the first step of a row is cached in registers, even if later ones are in shared memory"},
      {implies(rows.shared_steps > 0,
               has_one_row && rows.batch == 0 && rows.column_chunks == 0 && !rows.has_blocked_accumulators),
       "shared memory holds the steps of one row"},
      {implies(rows.has_blocked_accumulators, schedule.lanes > 1 && runs > 1 && rows.steps > 0),
       "blocked accumulators are vectors, of several runs, whose elements are loaded in steps"},
      {implies(rows.has_blocked_accumulators,
               has_one_row && rows.cluster == 1 && rows.batch == 0 && rows.column_chunks == 0),
       "a block with blocked accumulators has one row"},
      {implies(rows.has_blocked_accumulators && rows.speculative_phase > 0, rows.speculative_phase + 1 == facts.phases),
       "blocked accumulators need the speculative phase to be the last one"},
      {implies(rows.has_blocked_accumulators, run_bytes <= kStaticSharedBytes - kExchangeBytes),
       "the results of blocked accumulators fit into shared memory"},
  });
}

Broken broken_batch_rule(const Schedule& schedule, const KernelFacts& facts, const KernelLayout& layout) {
  const RowSchedule& rows = schedule.rows;
  const bool gathers = std::ranges::any_of(
      facts.accesses, [](const AccessFacts& access) { return access.kind == Kind::Gather || access.is_grouped; });
  return first_broken({
      {rows.batch * rows.threads == kWarp, "a batch has the rows of one warp"},
      {schedule.lanes == 1 && rows.steps > 0 && rows.cluster == 1 && rows.column_chunks == 0,
       "the rows of a batch are register-cached, element by element"},
      {!layout.has_empty_rows && layout.rank > layout.reduced_axes, "the rows of a batch have elements"},
      {!gathers, "nothing may be gathered for a row of a batch that does not exist"},
      {rows.speculative_phase == 0, "a batch has no speculative phase"},
  });
}

Broken broken_columns_rule(const Schedule& schedule, const KernelFacts& facts, const KernelLayout& layout) {
  const RowSchedule& rows = schedule.rows;
  const bool is_writer = facts.column_partial_bytes > 0;
  if (!is_writer) return first_broken({{rows.column_chunks == 0, "the kernel computes no fused column partials"}});
  const uint32_t rows_of_block = schedule.threads / rows.threads;
  return first_broken({
      {rows.column_chunks == layout.column_chunks, "the layout has the number of chunks of a column"},
      {rows.steps > 0 && !rows.is_split && rows.cluster == 1 && rows.speculative_phase == 0,
       "with fused column partials, a thread has its columns in all rows of a chunk"},
      {rows.column_chunks % rows_of_block == 0, "a block computes whole chunks of rows"},
      {implies(facts.result_bytes > 0, rows.threads >= kWarp && (rows.threads == kWarp || rows_of_block == 1)),
       "threads that exchange values compute equally many rows"},
  });
}

Broken broken_finalize_rule(const RowSchedule& rows, const KernelFacts& facts, const KernelLayout& layout) {
  return first_broken({
      {implies(facts.finalizes_partials, rows.across && rows.chunks == layout.column_chunks),
       "column partials are combined across columns, as many as the layout has chunks"},
  });
}

Broken broken_cuda_mapping_rule(const Schedule& schedule, const KernelFacts& facts, const KernelLayout& layout,
                                const Target& target) {
  const RowSchedule& rows = schedule.rows;
  if (Broken broken = broken_number_rule(schedule, layout)) return broken;
  if (Broken broken = broken_finalize_rule(rows, facts, layout)) return broken;
  if (facts.finalizes_partials) return {};
  if (Broken broken = broken_phase_rule(schedule, facts, target)) return broken;
  if (rows.across && facts.column_partial_bytes == 0) return broken_across_rule(schedule, facts, layout);
  if (Broken broken = broken_along_rule(schedule, layout)) return broken;
  if (Broken broken = broken_residency_rule(schedule, facts)) return broken;
  if (Broken broken = rows.batch > 0 ? broken_batch_rule(schedule, facts, layout) : Broken{}) return broken;
  return broken_columns_rule(schedule, facts, layout);
}

// CUDA: accesses

/// Whether the unaligned vectors of a row can be shifted out of the aligned vectors around them.
bool can_be_shifted(const Schedule& schedule, const AccessFacts& access, const KernelFacts& facts,
                    const KernelLayout& layout) {
  const uint32_t bytes = schedule.lanes * access.bytes;
  return !schedule.rows.across && schedule.rows.column_chunks == 0 && layout.reduced_axes == 1 &&
         !facts.never_reads_past_end && access.varies_in_row && access.kind == Kind::Load && !access.is_masked &&
         access.inner == StrideClass::One && bytes >= kWordBytes && bytes <= kVectorBytes;
}

/// Whether an access can be made in this way.
bool can_be_made(How how, const Schedule& schedule, const AccessFacts& access, const KernelFacts& facts,
                 const KernelLayout& layout) {
  const bool across = schedule.rows.across;
  switch (how) {
    case How::Fixed:
      return !access.varies_in_row;
    case How::Single:
      return true;
    case How::Vector:
      return schedule.lanes > 1 && !schedule.has_partial_vectors &&
             (across ? is_vector_across_rows(access, layout, schedule.lanes)
                     : access.varies_in_row && is_vector_in_row(access, facts, schedule.lanes));
    case How::Shifted:
      return schedule.lanes > 1 && can_be_shifted(schedule, access, facts, layout);
    case How::Grouped:
      return !across && (schedule.lanes == 1 || access.inner == StrideClass::Zero) && access.is_grouped &&
             is_element_wise(access);
    case How::Batched:
      return schedule.rows.batch > 0 && can_be_batched(access, schedule.rows.batch);
    default:
      return false;
  }
}

/// Whether an access reads nothing past the end of a row, and writes nothing there, if vectors are partial.
bool suits_partial_vectors(const AccessSchedule& access, const AccessFacts& facts) {
  if (facts.kind == Kind::Gather) return facts.row_shares_index;
  return !facts.varies_in_row || facts.kind == Kind::Index || access.how == How::Shifted;
}

/// The number of arrays that cache loads.
uint32_t cached_arrays(const Schedule& schedule, const KernelFacts& facts) {
  uint32_t arrays = 0;
  for (size_t a = 0; a < facts.accesses.size(); ++a) {
    const AccessFacts& access = facts.accesses[a];
    const AccessSchedule& how = schedule.accesses[a];
    const bool is_element = how.how != How::Fixed && how.how != How::Grouped && !access.is_masked;
    arrays += access.kind == Kind::Load && is_element && (access.phase == 0 || how.is_loaded_ahead);
  }
  return arrays;
}

/// The bytes of an element of the loads and stores that satisfy the condition, in sum.
template <typename Holds>
uint64_t bytes_of(const Schedule& schedule, const KernelFacts& facts, Holds holds) {
  uint64_t bytes = 0;
  for (size_t a = 0; a < facts.accesses.size(); ++a)
    if (holds(schedule.accesses[a], facts.accesses[a])) bytes += facts.accesses[a].bytes;
  return bytes;
}

Broken broken_shared_rule(const Schedule& schedule, const KernelFacts& facts) {
  const RowSchedule& rows = schedule.rows;
  const uint64_t cached = bytes_of(schedule, facts, [](const AccessSchedule& how, const AccessFacts& access) {
    return access.kind == Kind::Load && how.how != How::Fixed && how.how != How::Grouped && !access.is_masked;
  });
  const uint64_t batched =
      bytes_of(schedule, facts, [](const AccessSchedule& how, const AccessFacts&) { return how.how == How::Batched; });
  const uint64_t dynamic_bytes = uint64_t{rows.shared_steps} * rows.threads * schedule.lanes * cached;
  const uint64_t batch_bytes = uint64_t{schedule.threads} * rows.steps * batched;
  return first_broken({
      {implies(rows.shared_steps > 0, cached_arrays(schedule, facts) <= 1),
       "two arrays of a kernel would share their place in shared memory"},
      {implies(rows.shared_steps > 0, dynamic_bytes + kExchangeBytes <= facts.shared_bytes),
       "the steps in shared memory fit there"},
      {implies(rows.batch > 0, batch_bytes <= kStaticSharedBytes), "the batches of a block fit into shared memory"},
  });
}

Broken broken_cached_rule(const Schedule& schedule, const KernelFacts& facts) {
  const RowSchedule& rows = schedule.rows;
  const bool loads_ahead = std::ranges::any_of(schedule.accesses, &AccessSchedule::is_loaded_ahead);
  return first_broken({
      {implies(!rows.cached.empty(), rows.steps > 0 && !rows.has_blocked_accumulators),
       "computed values are cached in register-cached rows"},
      {implies(!rows.cached.empty(), !facts.has_regions), "a value that some elements do not need is not cached"},
      {implies(loads_ahead, rows.steps > 0 && !rows.has_blocked_accumulators),
       "loads ahead of all phases are cached in registers"},
  });
}

Broken broken_cuda_access_rule(const Schedule& schedule, const KernelFacts& facts, const KernelLayout& layout) {
  const RowSchedule& rows = schedule.rows;
  for (size_t a = 0; a < facts.accesses.size(); ++a) {
    const AccessFacts& access = facts.accesses[a];
    const AccessSchedule& how = schedule.accesses[a];
    const bool is_load = access.kind == Kind::Load && access.varies_in_row && !access.is_masked;
    if (Broken broken = first_broken({
            {can_be_made(how.how, schedule, access, facts, layout), "its layout allows the access to be made this way"},
            {implies(schedule.has_partial_vectors, suits_partial_vectors(how, access)),
             "a partial vector accesses nothing past the end of its row"},
            {implies(rows.batch > 0 && access.kind == Kind::Store && access.varies_in_row, how.how == How::Batched),
             "a batch stores all elements of its rows together, and none of rows that do not exist"},
            {implies(how.is_loaded_ahead, is_load && how.how != How::Grouped),
             "a load ahead of all phases is of one element for each element of the row"},
        }))
      return fmt::format("access {}: {}", a, *broken);
  }
  if (Broken broken = broken_shared_rule(schedule, facts)) return broken;
  return broken_cached_rule(schedule, facts);
}

// The CPU

Broken broken_cpu_mapping_rule(const Schedule& schedule, const KernelFacts& facts, const KernelLayout& layout) {
  const RowSchedule& rows = schedule.rows;
  const uint64_t accumulator_bytes = uint64_t{rows.accumulators} * schedule.lanes * facts.result_bytes;
  return first_broken({
      {!uses_rows_along(rows) && rows.chunks == 1 && rows.threads == 1 && rows.group_accumulators == 0,
       "threads, clusters, batches and steps are for CUDA"},
      {implies(rows.is_split, rows.chunk_length > 0 && facts.phases == 1), "a split row has chunks, and one phase"},
      {std::has_single_bit(schedule.lanes) && schedule.lanes <= kMostCpuLanes,
       "a unit has a power of two of adjacent rows, at most 64"},
      {rows.across == (schedule.lanes > 1), "adjacent rows in a vector are several rows"},
      {implies(rows.across, layout.rank > layout.reduced_axes),
       "adjacent rows differ along an axis that is not reduced"},
      {implies(rows.across, !facts.depends_on_vector_width), "the bits of a row do not depend on its neighbours"},
      {accumulator_bytes <= kStackBytes, "the accumulators fit on the stack"},
  });
}

bool can_be_transposed(const AccessFacts& access, const Schedule& schedule, const KernelFacts& facts,
                       const KernelLayout& layout) {
  return schedule.rows.across && layout.reduced_axes == 1 && !facts.results_alias && !facts.has_regions &&
         access.varies_in_row && is_element_wise(access) && access.inner == StrideClass::One;
}

Broken broken_cpu_access_rule(const Schedule& schedule, const KernelFacts& facts, const KernelLayout& layout) {
  for (size_t a = 0; a < facts.accesses.size(); ++a) {
    const AccessFacts& access = facts.accesses[a];
    const How how = schedule.accesses[a].how;
    const bool is_possible = how == How::Single || (how == How::Fixed && !access.varies_in_row) ||
                             (how == How::Staged && can_be_transposed(access, schedule, facts, layout));
    if (!is_possible) return fmt::format("access {}: its layout allows the access to be made this way", a);
  }
  const uint64_t staged =
      bytes_of(schedule, facts, [](const AccessSchedule& how, const AccessFacts&) { return how.how == How::Staged; });
  return first_broken({
      {(staged * schedule.lanes << layout.length_bits) <= kStackBytes / 2, "transposed rows fit on the stack"},
      {implies(!schedule.rows.cached.empty(), !facts.has_regions),
       "a value that some elements do not need is not cached"},
  });
}

/// The properties of a kernel with the lazy `where`s and the masked accesses of a schedule.
KernelFacts facts_with(KernelFacts facts, const Schedule& schedule) {
  facts.has_regions = !schedule.lazy.empty();
  if (facts.has_regions) facts.speculative_phase = 0;
  for (size_t a = 0; a < facts.accesses.size(); ++a) facts.accesses[a].is_masked = schedule.accesses[a].is_masked;
  return facts;
}

/// Whether the schedule caches only values that several phases need.
Broken broken_shared_value_rule(const Schedule& schedule, const ir::Graph& graph, const KernelOutline& outline,
                                const KernelLayout& layout) {
  if (schedule.rows.cached.empty()) return {};
  const std::vector<ir::NodeId> shared = shared_by_phases(graph, outline, layout, schedule.rows.speculative_phase);
  uint64_t bytes = 0;
  for (const ir::NodeId id : schedule.rows.cached) bytes += static_cast<uint64_t>(ir::size_of(graph[id].dtype));
  const bool are_shared = std::ranges::all_of(
      schedule.rows.cached, [&](ir::NodeId id) { return std::ranges::find(shared, id) != shared.end(); });
  return first_broken({
      {are_shared, "a cached value is needed by several phases"},
      {schedule.rows.steps > 0 || (bytes * schedule.lanes << layout.length_bits) <= kStackBytes,
       "cached values fit on the stack"},
  });
}

}  // namespace

std::optional<std::string> broken_mapping_rule(const Schedule& schedule, const KernelFacts& facts,
                                               const KernelLayout& layout, const Target& target) {
  if (Broken broken = broken_bits_rule(schedule.rows, facts, layout, target)) return broken;
  return target.cuda() ? broken_cuda_mapping_rule(schedule, facts, layout, target)
                       : broken_cpu_mapping_rule(schedule, facts, layout);
}

std::optional<std::string> broken_rule(const Schedule& schedule, const KernelFacts& facts, const KernelLayout& layout,
                                       const Target& target) {
  if (schedule.accesses.size() != facts.accesses.size()) return "each access has a schedule";
  if (Broken broken = broken_mapping_rule(schedule, facts, layout, target)) return broken;
  return target.cuda() ? broken_cuda_access_rule(schedule, facts, layout)
                       : broken_cpu_access_rule(schedule, facts, layout);
}

std::optional<std::string> broken_rule(const Schedule& schedule, const ir::Graph& graph, const KernelOutline& outline,
                                       const KernelLayout& layout, const Target& target) {
  if (!outline.reduces()) return {};
  if (schedule.accesses.size() != outline.accesses.size()) return "each access has a schedule";
  const KernelFacts facts = facts_with(facts_of(graph, outline, layout, target), schedule);
  if (Broken broken = broken_rule(schedule, facts, layout, target)) return broken;
  return broken_shared_value_rule(schedule, graph, outline, layout);
}

}  // namespace ingot::codegen
