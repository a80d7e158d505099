#include "codegen/kernel/cuda/reduce.h"

#include <algorithm>
#include <iterator>

#include "codegen/kernel/targets.h"

namespace ingot::codegen {

CudaReduce::CudaReduce(const KernelContext& context, RowPart part)
    : context_(context),
      part_(part),
      maps_(part == RowPart::Finalize && context.schedule.is_split() ? context.schedule.finalize_maps
                                                                     : context.schedule.loop_maps),
      residency_(context.schedule.residency),
      lanes_(lanes_of(maps_)),
      cluster_(reduced_map(maps_).count(Scope::Cluster)),
      threads_(reduced_map(maps_).count(Scope::Block) * cluster_),
      chunks_(part == RowPart::Finalize ? reduced_map(maps_).accumulators() : reduced_map(maps_).count(Scope::Grid)),
      accumulators_(reduced_map(maps_).accumulators()),
      column_chunks_(context.schedule.column_chunks()),
      assembly_(context),
      memory_(context, assembly_),
      lane_(assembly_.variable("k", {}, Level::Element)),
      step_number_(assembly_.variable("v", {}, Level::Thread)),
      reductions_(context, assembly_, memory_, are_across(maps_) ? lanes_ : 1, lane_),
      places_(context, assembly_, memory_, row_, are_across(maps_) ? 1 : 0),
      row_axes_(places_.row_axes()) {
  memory_.set_space(*this);
  assembly_.set_block({Level::Kernel, Level::Row}, row_);
  assembly_.set_block({Level::Thread}, step_);
  assembly_.set_block({Level::Fetch, Level::Element}, element());
}

Kernel CudaReduce::build() {
  find_row();
  find_element();
  const uint32_t phases = reductions_.phases();
  if (part_ == RowPart::Finalize) {
    combine_chunks();
  } else {
    for (uint32_t phase = 0; phase < phases; ++phase) emit_phase(phase);
  }
  if (part_ == RowPart::Chunks) {
    store_partials();
  } else {
    arrive();
    emit_phase(phases);
    store_rows();
  }
  flush_row();
  Body of_row = before_phases();
  append(of_row, std::move(body_));
  append(of_row, after_phases());
  if (const ValueId condition = store_condition(); !condition)
    append(of_row, std::move(row_stores_));
  else if (!row_stores_.empty())
    of_row.push_back({If{condition, std::move(row_stores_)}});
  Body& body = assembly_.kernel.body;
  append(body, in_row_loop(std::move(of_row)));
  if (cluster_ > 1) body.push_back({Barrier{Barrier::Kind::ClusterWaits}});
  memory_.describe_pointers();
  return assembly_.finish(context_);
}

ValueId CudaReduce::store_condition() {
  return threads_ == 1 ? ValueId{} : assembly_.index(IndexOp::Equal, thread_, integer(0));
}

/// A block of a cluster exits only after all others have read its results.
void CudaReduce::arrive() {
  if (cluster_ > 1) body_.push_back({Barrier{Barrier::Kind::ClusterArrives}});
}

std::vector<ValueId> CudaReduce::wrap_indices(uint32_t access, const std::vector<ValueId>& indices,
                                              ValueId entry_condition) {
  std::vector<ValueId> wrapped;
  const ValueId error = context_.options.check_indices ? assembly_.read(memory_.status()) : ValueId{};
  for (uint32_t l = 0; l < indices.size(); ++l)
    wrapped.push_back(memory_.wrap_index(access, l, indices[l], error, entry_condition));
  return wrapped;
}

/// A quotient with a fast path for zero numerators, which are common: masked elements, boxes that do not overlap. Rows
/// and Columns override it for a divisor that a whole row shares.
std::optional<ValueId> CudaReduce::quotient(ValueId value, ValueId divisor) {
  if (context_.options.fast_math || assembly_[divisor].level <= Level::Row) return std::nullopt;
  return assembly_.add({.kind = Value::Kind::Quotient, .type = {ir::DType::F32}, .operands = {value, divisor}});
}

ValueId CudaReduce::let(Body& block, ValueId value, std::string_view preferred) {
  const ValueId named = assembly_.let(block, value, assembly_.claim(preferred));
  const ir::DType dtype = assembly_[named].type.dtype;
  if (dtype == ir::DType::U32 || dtype == ir::DType::U64) assembly_[named].type = {context_.index_dtype()};
  return named;
}

ValueId CudaReduce::named(ValueId value, const std::string& name, ir::DType dtype) {
  assembly_[value].naming = Value::Naming::Exact;
  assembly_[value].name = name;
  assembly_[value].type = {dtype};
  return value;
}

void CudaReduce::launch(uint32_t rows) {
  LaunchInfo& launch = assembly_.kernel.launch;
  launch.block_threads = threads_of(maps_);
  if (part_ != RowPart::Finalize) assembly_.kernel.resident_blocks = context_.schedule.min_blocks;
  assembly_.kernel.cluster_blocks = cluster_;
  if (part_ == RowPart::Finalize) launch.entry += "_rest";  // the kernel that combines the chunks
  launch.grid = {{0, row_axes_, rows, part_ == RowPart::Chunks ? chunks_ : cluster_}};
  if (part_ == RowPart::Whole) return;
  launch.partials = reductions_.partials();
  launch.partial_count = {{0, row_axes_, 1, chunks_}};
}

SymbolId CudaReduce::vector_of(uint32_t access) {
  const SymbolId pointer = memory_.pointer(access);
  const std::string name =
      lanes_ > 1 ? memory_.vector_name(access, lanes_) : assembly_[pointer].name + "_of";  // x4, or x_of[…]
  const SymbolId vector = assembly_.variable(name, {memory_.type_in_memory(access), lanes_}, Level::Thread);
  assembly_[vector].meaning = assembly_[pointer].name;
  return vector;
}

ValueId CudaReduce::vector_at(uint32_t access) {
  const bool is_shifted = how(access).how == AccessSchedule::How::Shifted;
  Value value{.kind = is_shifted ? Value::Kind::ShiftedInRow : Value::Kind::Vector,
              .type = {memory_.type_in_memory(access), lanes_},
              .operands = {base(access), memory_.index(access, Level::Thread, 0)},
              .naming = Value::Naming::Inline};
  if (is_shifted)
    value.operands.push_back(places_.length());
  else if (is_element_)
    value.operands.push_back(is_element_);
  return assembly_.add(std::move(value));
}

void CudaReduce::store(uint32_t access, ValueId value, Body& after) {
  if (how(access).how != AccessSchedule::How::Vector || lanes_ == 1) {
    element().push_back({Assign{memory_.element_lvalue(access, Level::Element), value}});
    return;
  }
  const SymbolId vector = vector_of(access);
  step_.push_back({Declare{vector}});
  element_.push_back({Assign{assembly_.lane(assembly_.read(vector), assembly_.read(lane_)), value}});
  after.push_back({StoreVector{base(access), memory_.index(access, Level::Thread, 0), assembly_.read(vector)}});
}

Body CudaReduce::take_step(Body after) {
  Body step = take(step_), element = take(element_);
  if (!element.empty()) step.push_back({over_lanes(std::move(element))});
  if (is_element_ && !after.empty()) after = {{If{is_element_, std::move(after)}}};
  append(step, std::move(after));
  return step;
}

void CudaReduce::flush_row() { append(body_, take(row_)); }

std::vector<Kernel> build_cuda_reduce(const KernelContext& context) {
  return context.schedule.is_across() ? build_cuda_columns(context) : build_cuda_rows(context);
}

}  // namespace ingot::codegen
