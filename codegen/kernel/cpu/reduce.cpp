#include "codegen/kernel/cpu/reduce.h"

#include "codegen/kernel/targets.h"
#include "codegen/schedule/cost.h"

namespace ingot::codegen {
namespace {

/// The results of a row's chunks are accumulated, too: chunk k goes to accumulator k mod this number.
constexpr uint32_t kChunkAccumulators = 64;

/// The number of the job that computes the row values of phase 0: larger than that of any other job.
constexpr uint32_t kRowValueJobs = 1 << 10;

}  // namespace

CpuReduce::CpuReduce(const KernelContext& context, RowPart part, std::string_view lane)
    : CpuKernel(context),
      part_(part),
      lanes_(context.schedule.kept().count(Scope::Vector)),
      accumulators_(context.schedule.reduced().accumulators()),
      chunk_length_(context.schedule.chunk_length()),
      lane_(lane.empty() ? SymbolId{} : assembly_.variable(lane, {ir::DType::I64}, Level::Element)),
      reductions_(context, assembly_, memory_, lanes_, lane_),
      places_(context, assembly_, memory_, row_, lane.empty() ? 0 : 1),
      row_axes_(places_.row_axes()) {
  assembly_.set_block({Level::Kernel, Level::Row}, row_);
}

Kernel CpuReduce::build() {
  begin();
  LaunchInfo& launch = assembly_.kernel.launch;
  if (part_ != RowPart::Whole) {
    launch.partials = reductions_.partials();
    launch.partial_count = {{0, row_axes_, 1}, {row_axes_, context_.layout.reduced_axes, chunk_length_}};
  }
  if (part_ == RowPart::Finalize) launch.entry += "_rest";  // the kernel that combines the chunks
  find_row();
  const uint32_t phases = reductions_.phases();
  for (uint32_t phase = 0; phase < phases; ++phase) part_ == RowPart::Finalize ? combine_chunks() : emit_phase(phase);
  if (part_ == RowPart::Chunks) {
    store_partials();
  } else {
    emit_phase(phases);
    store_rows();
  }
  flush_row();
  append(assembly_.kernel.body, units(std::move(body_)));
  return finish();
}

ValueId CpuReduce::chunks() {
  const ValueId padded = assembly_.index(IndexOp::Add, places_.length(), integer(chunk_length_ - 1));
  return assembly_.index(IndexOp::Div, padded, integer(chunk_length_));
}

ValueId CpuReduce::end_of_chunk(ValueId from) {
  return assembly_.index(IndexOp::Min, assembly_.index(IndexOp::Add, from, integer(chunk_length_)), places_.length());
}

void CpuReduce::flush_row() { append(body_, take(row_)); }

ValueId CpuReduce::row_value(SymbolId result) {
  const ValueId value = assembly_.read(result);
  return lane_ ? assembly_.item(value, assembly_.read(lane_)) : value;
}

// Phases

ValueId CpuReduce::cached_element(SymbolId array) {
  const ValueId element = assembly_.item(assembly_.read(array), element_index());
  return lane_ ? assembly_.item(element, assembly_.read(lane_)) : element;
}

std::vector<ir::NodeId> CpuReduce::cache_shared_values(Job& job) {
  const std::vector<ir::NodeId> nodes = nodes_of(context_.graph, roots_of(job));
  std::vector<ir::NodeId> added;
  for (const ir::NodeId node : context_.schedule.residency.cached) {
    if (computed_.contains(node))
      job.known[node] = cached_element(computed_.at(node));
    else if (std::ranges::binary_search(nodes, node))
      added.push_back(node);
  }
  for (const ir::NodeId node : added) job.roots.push_back({node, context_.graph[node].dtype});
  return added;
}

void CpuReduce::compute_row_values(Job& job) {
  if (!lane_) return;
  Job row_job{.roots = {}, .reduced = job.reduced, .phase = kRowValueJobs + job.phase, .known = row_values_};
  for (const ir::NodeId node : codegen::row_values(context_.graph, context_.outline, context_.layout, roots_of(job)))
    if (!row_values_.contains(node)) row_job.roots.push_back({node, context_.graph[node].dtype});
  Body of_row;
  assembly_.set_block({Level::Fetch, Level::Element}, of_row);
  const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, row_job);
  assembly_.set_block({Level::Fetch, Level::Element}, element_);
  for (size_t v = 0; v < values.size(); ++v) {
    const auto& [node, dtype] = row_job.roots[v];
    row_values_[node] = values[v];
    if (assembly_[values[v]].level < Level::Element) continue;  // equal for all rows
    const std::string name = memory_.author_name(node);
    const SymbolId array = assembly_.variable((name.empty() ? "row_value" : name) + "_of", {dtype}, Level::Row);
    assembly_[array].extents = {lanes_};
    row_.push_back({Declare{array}});
    row_values_[node] = row_value(array);
    of_row.push_back({Assign{row_values_[node], values[v]}});
  }
  if (!of_row.empty()) for_each_row(row_, std::move(of_row));
  job.known.insert(row_values_.begin(), row_values_.end());
}

/// Builds the loop of a phase. For each element, the loop computes the operands of the phase's reductions, the stored
/// output blocks, and the values to be cached.
void CpuReduce::emit_phase(uint32_t phase) {
  RowWork work = reductions_.work_of_phase(phase);
  if (work.job.roots.empty()) return;
  if (context_.layout.has_empty_rows) return set_empty_results(work);
  const std::vector<ir::NodeId> added = cache_shared_values(work.job);
  compute_row_values(work.job);
  const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, work.job);
  const std::vector<RowReduction*>& reductions = work.reductions;
  const bool has_order = std::ranges::any_of(reductions, [](const RowReduction* r) { return r->has_order(); });
  const bool has_chunk_results = chunk_length_ != 0 && part_ == RowPart::Whole && has_order;
  std::vector<RowReduction> chunk_reductions;
  for (const RowReduction* reduction : reductions) chunk_reductions.push_back(*reduction);
  if (has_chunk_results)
    for (RowReduction& reduction : chunk_reductions)
      for (SymbolId& result : reduction.results)
        result = reductions_.result(assembly_[result].name + "_of_chunk", assembly_[result].type.dtype);
  auto value = values.begin();
  const ValueId number = reductions.empty() ? ValueId{} : accumulator_index();
  Body declared;
  for (RowReduction& reduction : chunk_reductions) {
    if (has_blocked_accumulators()) {
      reductions_.declare_arrays(declared, reduction, accumulators_);
      reductions_.clear_accumulator(accumulator_begin_, reduction, number, Loop::Kind::Serial);
    } else {
      reductions_.declare(declared, reduction, accumulators_, Loop::Kind::Serial);
    }
    std::vector<ValueId> operands = {*value++};
    if (reduction.types.size() > 1) operands.push_back(element_index());
    reductions_.fold(element_, reduction, accumulator_place(number), operands, valid());
  }
  for (const uint32_t access : work.stores) store(access, *value++);
  for (const ir::NodeId node : added) {
    const std::string name = memory_.author_name(node);
    SymbolId& array = computed_[node];
    array = assembly_.variable((name.empty() ? "value" : name) + "_of", {context_.graph[node].dtype}, Level::Row);
    assembly_[array].extents = {1u << context_.layout.length_bits};
    if (lane_) assembly_[array].extents.push_back(lanes_);
    body_.push_back({Declare{array}});
    assign(cached_element(array), *value++);
  }
  for (uint32_t access = 0; !added.empty() && access < context_.schedule.accesses.size(); ++access)
    if (how(access).is_prefetched) prefetch_access(access);
  flush_row();
  if (has_chunk_results) return reduce_chunks_in_turn(reductions, chunk_reductions, std::move(declared));
  append(body_, std::move(declared));
  ValueId from = integer(0), to = places_.length();
  if (part_ == RowPart::Chunks) {
    from = let(body_, assembly_.index(IndexOp::Mul, chunk_, integer(chunk_length_)), "from");
    to = let(body_, end_of_chunk(from), "to");
  }
  loop_over(body_, from, to);
  for (RowReduction& reduction : chunk_reductions) reductions_.combine(body_, reduction, accumulators_, 1);
}

void CpuReduce::store(uint32_t access, ValueId value) {
  Assign assign{memory_.element_lvalue(access, Level::Element), value};
  if (valid())
    element_.push_back({If{valid(), {{std::move(assign)}}}});
  else
    element_.push_back({std::move(assign)});
}

void CpuReduce::set_empty_results(const RowWork& work) {
  for (RowReduction* reduction : work.reductions) {
    reductions_.declare(body_, *reduction, accumulators_, Loop::Kind::Serial);
    reductions_.combine(body_, *reduction, accumulators_, 1);
  }
}

// Chunks

/// Reduces the chunks of a long row one after the other.
void CpuReduce::reduce_chunks_in_turn(const std::vector<RowReduction*>& reductions,
                                      std::vector<RowReduction>& chunk_reductions, Body declared) {
  const SymbolId chunk = assembly_.variable("chunk", {ir::DType::I64}, Level::Thread);
  const ValueId number = assembly_.read(chunk);
  for (RowReduction* reduction : reductions)
    reductions_.declare(body_, *reduction, kChunkAccumulators, Loop::Kind::Serial);
  Body inside;
  const ValueId from = let(inside, assembly_.index(IndexOp::Mul, number, integer(chunk_length_)), "from");
  const ValueId to = let(inside, end_of_chunk(from), "to");
  append(inside, std::move(declared));
  loop_over(inside, from, to);
  Body of_row;
  for (size_t r = 0; r < reductions.size(); ++r) {
    reductions_.combine(inside, chunk_reductions[r], accumulators_, 1);
    std::vector<ValueId> operands;
    for (const SymbolId result : chunk_reductions[r].results) operands.push_back(CpuReduce::row_value(result));
    reductions_.fold(of_row, *reductions[r], accumulator_of_chunk(number), operands);
  }
  for_each_row(inside, std::move(of_row));
  loop_over_chunks(chunk, std::move(inside));
  for (RowReduction* reduction : reductions) reductions_.combine(body_, *reduction, kChunkAccumulators, 1);
}

AccumulatorPlace CpuReduce::accumulator_of_chunk(ValueId chunk) {
  return accumulator_place(assembly_.index(IndexOp::Rem, chunk, integer(kChunkAccumulators)));
}

void CpuReduce::loop_over_chunks(SymbolId chunk, Body inside) {
  body_.push_back({Loop{Loop::Kind::Serial, chunk, integer(0), chunks(), std::move(inside)}});
}

void CpuReduce::store_partials() {
  Body of_row;
  for (const RowReduction& reduction : reductions_.all())
    for (uint32_t v = 0; v < reduction.results.size(); ++v)
      of_row.push_back({Assign{reductions_.partial(reduction.first_partial + v, index_of_partial(chunk_), true),
                               CpuReduce::row_value(reduction.results[v])}});
  for_each_row(row_, std::move(of_row));
}

void CpuReduce::combine_chunks() {
  const SymbolId chunk = assembly_.variable("chunk", {ir::DType::I64}, Level::Thread);
  const ValueId number = assembly_.read(chunk);
  Body of_row;
  flush_row();
  for (RowReduction& reduction : reductions_.all()) {
    reductions_.declare(body_, reduction, kChunkAccumulators, Loop::Kind::Serial);
    std::vector<ValueId> operands;
    for (uint32_t v = 0; v < reduction.types.size(); ++v)
      operands.push_back(reductions_.partial(reduction.first_partial + v, index_of_partial(number), false));
    reductions_.fold(of_row, reduction, accumulator_of_chunk(number), operands);
  }
  Body inside;
  for_each_row(inside, std::move(of_row));
  loop_over_chunks(chunk, std::move(inside));
  for (RowReduction& reduction : reductions_.all()) reductions_.combine(body_, reduction, kChunkAccumulators, 1);
}

// Values computed once per row

void CpuReduce::store_rows() {
  RowWork work = reductions_.work_of_rows();
  work.job.known = row_values_;
  Body of_row;
  assembly_.set_block({Level::Thread, Level::Fetch, Level::Element}, of_row);
  const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, work.job);
  for (size_t s = 0; s < values.size(); ++s)
    of_row.push_back({Assign{memory_.element_lvalue(work.stores[s], Level::Row), values[s]}});
  for (const auto& [access, value] : reductions_.values_for_later_kernels())
    of_row.push_back({Assign{memory_.element_lvalue(access, Level::Row), value}});
  for_each_row(row_, std::move(of_row));
}

std::vector<Kernel> build_cpu_reduce(const KernelContext& context) {
  const auto build = context.schedule.is_across() ? build_cpu_columns : build_cpu_rows;
  if (!context.schedule.is_split()) return {build(context, RowPart::Whole)};
  return {build(context, RowPart::Chunks), build(context, RowPart::Finalize)};
}

}  // namespace ingot::codegen
