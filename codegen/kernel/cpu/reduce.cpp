#include "codegen/kernel/cpu/reduce.h"

#include "codegen/kernel/targets.h"

namespace ingot::codegen {
namespace {

constexpr uint32_t kClassesOfPieces = 64;

}  // namespace

CpuReduce::CpuReduce(const KernelContext& context, RowPart part, uint32_t lanes, std::string_view lane)
    : CpuKernel(context),
      part_(part),
      rows_(context.schedule.rows),
      lanes_(lanes),
      lane_(lane.empty() ? SymbolId{} : assembly_.variable(lane, {ir::DType::I64}, Level::Element)),
      reductions_(context, assembly_, memory_, lanes, lane_),
      places_(context, assembly_, memory_, row_, lane.empty() ? 0 : 1),
      kept_(places_.kept()) {
  assembly_.place({Level::Kernel, Level::Row}, row_);
}

Kernel CpuReduce::build() {
  begin();
  LaunchInfo& launch = assembly_.kernel.launch;
  if (part_ != RowPart::Whole) {
    launch.states = reductions_.states();
    launch.state_count = {{0, kept_, 1}, {kept_, context_.layout.reduced_axes, rows_.piece}};
  }
  if (part_ == RowPart::Rest) launch.entry += "_rest";
  find_row();
  const uint32_t phases = reductions_.phases();
  for (uint32_t phase = 0; phase < phases; ++phase) part_ == RowPart::Rest ? combine_pieces() : go_through(phase);
  if (part_ == RowPart::Pieces) {
    store_states();
  } else {
    go_through(phases);
    store_rows();
  }
  settle();
  append(assembly_.kernel.body, units(std::move(body_)));
  return finish();
}

ValueId CpuReduce::pieces() {
  const ValueId padded = assembly_.index(IndexOp::Add, places_.length(), whole(rows_.piece - 1));
  return assembly_.index(IndexOp::Div, padded, whole(rows_.piece));
}

ValueId CpuReduce::end_of_piece(ValueId from) {
  return assembly_.index(IndexOp::Min, assembly_.index(IndexOp::Add, from, whole(rows_.piece)), places_.length());
}

// For short rows, one accumulator is finished before the next one starts. For longer rows the elements of an
// accumulator are too far apart in memory (docs/performance.md: cpu-columns-by-accumulator).
bool CpuReduce::goes_by_class() const {
  constexpr uint32_t kFewBits = 8;
  return lane_ && part_ == RowPart::Whole && rows_.classes > 1 && context_.layout.length_bits <= kFewBits;
}

void CpuReduce::settle() { append(body_, take(row_)); }

ValueId CpuReduce::of_row(SymbolId result) {
  const ValueId value = assembly_.read(result);
  return lane_ ? assembly_.item(value, assembly_.read(lane_)) : value;
}

// Phases

ValueId CpuReduce::kept_element(SymbolId array) {
  const ValueId element = assembly_.item(assembly_.read(array), element_index());
  return lane_ ? assembly_.item(element, assembly_.read(lane_)) : element;
}

/// Handles values that the job shares with other phases. Uses them if an earlier phase cached them; otherwise adds them
/// to the roots, so that they are cached. Returns the nodes that were added.
std::vector<ir::NodeId> CpuReduce::keep(Job& job) {
  const std::vector<ir::NodeId> nodes = nodes_of(context_.graph, roots_of(job));
  std::vector<ir::NodeId> added;
  for (const ir::NodeId node : rows_.kept) {
    if (computed_.contains(node))
      job.known[node] = kept_element(computed_.at(node));
    else if (std::ranges::binary_search(nodes, node))
      added.push_back(node);
  }
  for (const ir::NodeId node : added) job.roots.push_back({node, context_.graph[node].dtype});
  return added;
}

/// Builds the loop of a phase. For each element, the loop computes the operands of the phase's reductions, the stored
/// output blocks, and the values to be cached.
void CpuReduce::go_through(uint32_t phase) {
  RowWork work = reductions_.of_phase(phase);
  if (work.job.roots.empty()) return;
  if (context_.layout.has_empty_rows) return set_empty_results(work);
  const std::vector<ir::NodeId> added = keep(work.job);
  const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, work.job);
  const std::vector<RowReduction*>& reductions = work.reductions;
  const bool has_order = std::ranges::any_of(reductions, [](const RowReduction* r) { return r->has_order(); });
  const bool has_chunk_results = rows_.piece != 0 && part_ == RowPart::Whole && has_order;
  std::vector<RowReduction> of_piece;
  for (const RowReduction* reduction : reductions) of_piece.push_back(*reduction);
  if (has_chunk_results)
    for (RowReduction& reduction : of_piece)
      for (SymbolId& result : reduction.results)
        result = reductions_.result(assembly_[result].name + "_of_piece", assembly_[result].type.dtype);
  auto value = values.begin();
  const ValueId number = reductions.empty() ? ValueId{} : class_number();
  Body declared;
  for (RowReduction& reduction : of_piece) {
    if (goes_by_class()) {
      reductions_.declare_arrays(declared, reduction, rows_.classes);
      reductions_.clear_class(class_begin_, reduction, number, Loop::Kind::Serial);
    } else {
      reductions_.declare(declared, reduction, rows_.classes, Loop::Kind::Serial);
    }
    std::vector<ValueId> operands = {*value++};
    if (reduction.types.size() > 1) operands.push_back(element_index());
    reductions_.fold(element_, reduction, class_place(number), operands, valid());
  }
  for (const uint32_t access : work.stores) store(access, *value++);
  for (const ir::NodeId node : added) {
    const std::string name = memory_.author_name(node);
    SymbolId& array = computed_[node];
    array = assembly_.variable((name.empty() ? "value" : name) + "_of", {context_.graph[node].dtype}, Level::Row);
    assembly_[array].extents = {1u << context_.layout.length_bits};
    if (lane_) assembly_[array].extents.push_back(lanes_);
    body_.push_back({Declare{array}});
    assign(kept_element(array), *value++);
  }
  if (!added.empty()) prefetch_stores();
  settle();
  if (has_chunk_results) return nest(reductions, of_piece, std::move(declared));
  append(body_, std::move(declared));
  ValueId from = whole(0), to = places_.length();
  if (part_ == RowPart::Pieces) {
    from = let(body_, assembly_.index(IndexOp::Mul, piece_, whole(rows_.piece)), "from");
    to = let(body_, end_of_piece(from), "to");
  }
  loop_over(body_, from, to);
  for (RowReduction& reduction : of_piece) reductions_.combine(body_, reduction, rows_.classes, 1);
}

// Prefetches the memory of the results while an earlier phase computes (docs/performance.md: cpu-prefetch-results).
void CpuReduce::prefetch_stores() {
  constexpr uint32_t kMostBits = 16;
  if (context_.layout.length_bits > kMostBits) return;
  for (uint32_t access = 0; access < context_.outline.accesses.size(); ++access) {
    const bool is_store = context_.outline.accesses[access].kind == AccessUse::Kind::Store;
    const std::vector<StrideClass>& axes = context_.layout.accesses[access].axes;
    if (is_store && !axes.empty() && axes.back() == StrideClass::One && places_.moves_in_row(access))
      prefetch_access(access);
  }
}

void CpuReduce::store(uint32_t access, ValueId value) {
  Assign assign{memory_.target(access, Level::Element), value};
  if (valid())
    element_.push_back({If{valid(), {{std::move(assign)}}}});
  else
    element_.push_back({std::move(assign)});
}

void CpuReduce::set_empty_results(const RowWork& work) {
  for (RowReduction* reduction : work.reductions) {
    reductions_.declare(body_, *reduction, rows_.classes, Loop::Kind::Serial);
    reductions_.combine(body_, *reduction, rows_.classes, 1);
  }
}

// Chunks

/// Reduces the chunks of a long row one after the other.
void CpuReduce::nest(const std::vector<RowReduction*>& reductions, std::vector<RowReduction>& of_piece, Body declared) {
  const SymbolId piece = assembly_.variable("piece", {ir::DType::I64}, Level::Thread);
  const ValueId number = assembly_.read(piece);
  for (RowReduction* reduction : reductions)
    reductions_.declare(body_, *reduction, kClassesOfPieces, Loop::Kind::Serial);
  Body inside;
  const ValueId from = let(inside, assembly_.index(IndexOp::Mul, number, whole(rows_.piece)), "from");
  const ValueId to = let(inside, end_of_piece(from), "to");
  append(inside, std::move(declared));
  loop_over(inside, from, to);
  Body of_row;
  for (size_t r = 0; r < reductions.size(); ++r) {
    reductions_.combine(inside, of_piece[r], rows_.classes, 1);
    std::vector<ValueId> operands;
    for (const SymbolId result : of_piece[r].results) operands.push_back(CpuReduce::of_row(result));
    reductions_.fold(of_row, *reductions[r], class_of_piece(number), operands);
  }
  for_each_row(inside, std::move(of_row));
  over_pieces(piece, std::move(inside));
  for (RowReduction* reduction : reductions) reductions_.combine(body_, *reduction, kClassesOfPieces, 1);
}

ClassPlace CpuReduce::class_of_piece(ValueId piece) {
  return class_place(assembly_.index(IndexOp::Rem, piece, whole(kClassesOfPieces)));
}

void CpuReduce::over_pieces(SymbolId piece, Body inside) {
  body_.push_back({Loop{Loop::Kind::Serial, piece, whole(0), pieces(), std::move(inside)}});
}

void CpuReduce::store_states() {
  Body of_row;
  for (const RowReduction& reduction : reductions_.all())
    for (uint32_t v = 0; v < reduction.results.size(); ++v)
      of_row.push_back({Assign{reductions_.state(reduction.first_state + v, place_of_state(piece_), true),
                               CpuReduce::of_row(reduction.results[v])}});
  for_each_row(row_, std::move(of_row));
}

void CpuReduce::combine_pieces() {
  const SymbolId piece = assembly_.variable("piece", {ir::DType::I64}, Level::Thread);
  const ValueId number = assembly_.read(piece);
  Body of_row;
  settle();
  for (RowReduction& reduction : reductions_.all()) {
    reductions_.declare(body_, reduction, kClassesOfPieces, Loop::Kind::Serial);
    std::vector<ValueId> operands;
    for (uint32_t v = 0; v < reduction.types.size(); ++v)
      operands.push_back(reductions_.state(reduction.first_state + v, place_of_state(number), false));
    reductions_.fold(of_row, reduction, class_of_piece(number), operands);
  }
  Body inside;
  for_each_row(inside, std::move(of_row));
  over_pieces(piece, std::move(inside));
  for (RowReduction& reduction : reductions_.all()) reductions_.combine(body_, reduction, kClassesOfPieces, 1);
}

// Values computed once per row

void CpuReduce::store_rows() {
  const RowWork work = reductions_.of_rows();
  Body of_row;
  assembly_.place({Level::Thread, Level::Fetch, Level::Element}, of_row);
  const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, work.job);
  for (size_t s = 0; s < values.size(); ++s)
    of_row.push_back({Assign{memory_.target(work.stores[s], Level::Row), values[s]}});
  for (const auto& [access, value] : reductions_.kept_values())
    of_row.push_back({Assign{memory_.target(access, Level::Row), value}});
  for_each_row(row_, std::move(of_row));
}

std::vector<Kernel> build_cpu_reduce(const KernelContext& context) {
  const auto build = context.schedule.rows.across ? build_cpu_columns : build_cpu_rows;
  if (!context.schedule.rows.splits) return {build(context, RowPart::Whole)};
  return {build(context, RowPart::Pieces), build(context, RowPart::Rest)};
}

}  // namespace ingot::codegen
