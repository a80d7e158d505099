#include "codegen/kernel/cuda/rows.h"

// The position of a thread and its elements, and values computed once per row.

namespace ingot::codegen {

namespace {

using How = AccessSchedule::How;

}  // namespace

ValueId Rows::coordinate(uint32_t axis, Level level) {
  if (axis < row_axes_) return places_.coordinate(axis);
  const bool is_inner = axis + 1 == context_.rank();
  ValueId at = element_index_;
  if (context_.layout.reduced_axes > 1)
    at = memory_.coordinate_of(
        element_index_, row_axes_, context_.rank(), axis,
        has_short_indices() ? Memory::Division::ShortReciprocal : Memory::Division::SharedReciprocal);
  return is_inner ? index_of_lane(at, level) : at;
}

ValueId Rows::base(uint32_t access) {
  if (loading_ != nullptr) return loading_->base(access);
  if (how(access).how != How::Batched) return CudaReduce::base(access);
  return batch_.pointer_to_row(access, [&](uint32_t load) { return arrays_.contains(load); });
}

void Rows::find_row() {
  if (residency_.batch > 0) return find_row_of_batch();
  if (column_chunks_ > 0) return find_first_row_of_chunk();
  Body& indices = assembly_.kernel.indices;
  const uint32_t rows = kept_map(maps_).count(Scope::Block);
  launch(rows);
  ValueId block = block_number(context_, assembly_);
  if (part_ == RowPart::Chunks) {
    chunk_ = let(indices, assembly_.index(IndexOp::Rem, block, integer(chunks_)), "chunk");
    block = assembly_.index(IndexOp::Div, block, integer(chunks_));
  }
  const ValueId self = thread_number(assembly_, Level::Row);
  thread_ = self;
  if (cluster_ > 1) {
    const auto part = [&](IndexOp op) { return assembly_.index(op, block, integer(cluster_)); };
    thread_ = let(indices, plus(times(part(IndexOp::Rem), threads_ / cluster_), self), "thread");
    block = part(IndexOp::Div);
  }
  row_number_ = block;
  if (rows > 1) {
    const auto part = [&](IndexOp op) { return assembly_.index(op, self, integer(threads_)); };
    thread_ = threads_ == 1 ? integer(0) : let(indices, part(IndexOp::Rem), "thread");
    row_number_ = plus(times(block, rows), threads_ > 1 ? part(IndexOp::Div) : self);
  }
  row_number_ = let(indices, row_number_, "row");
  if (rows > 1) indices.push_back({Return{row_number_, places_.elements(0, row_axes_)}});
  places_.set_row(row_number_);
}

void Rows::find_row_of_batch() {
  constexpr uint32_t kWarp = 32;
  Body& indices = assembly_.kernel.indices;
  const uint32_t rows = kept_map(maps_).count(Scope::Block);
  launch(rows);
  const ValueId self = thread_number(assembly_, Level::Row), all = places_.elements(0, row_axes_),
                length = places_.length();
  const auto of_self = [&](IndexOp op, uint32_t number) { return assembly_.index(op, self, integer(number)); };
  const auto least = [&](ValueId a, ValueId b) { return assembly_.index(IndexOp::Min, a, b); };
  const ValueId warp = of_self(IndexOp::Div, kWarp);
  const ValueId first =
      let(indices, plus(times(block_number(context_, assembly_), rows), times(warp, residency_.batch)), "first");
  indices.push_back({Return{first, all}});
  thread_ = threads_ == 1 ? integer(0) : let(indices, of_self(IndexOp::Rem, threads_), "thread");
  const ValueId in_warp = of_self(IndexOp::Rem, kWarp);
  ValueId own = threads_ == 1 ? in_warp : assembly_.index(IndexOp::Div, in_warp, integer(threads_));
  own = let(indices, own, "own");
  const ValueId last = let(indices, assembly_.index(IndexOp::Sub, all, integer(1)), "last");
  row_number_ = let(indices, least(plus(first, own), last), "row");
  places_.set_row(row_number_);
  const ValueId behind = plus(least(plus(first, integer(residency_.batch - 1)), last), integer(1));
  const ValueId count = assembly_.index(IndexOp::Mul, assembly_.index(IndexOp::Sub, behind, first), length);
  batch_.set_position(warp, assembly_.index(IndexOp::Mul, first, length), let(indices, count, "count"),
                      assembly_.index(IndexOp::Mul, own, length));
  is_row_ = assembly_.index(IndexOp::Equal, row_number_, plus(first, own));
}

ValueId Rows::store_condition() {
  const ValueId is_first = CudaReduce::store_condition();
  if (!is_row_) return is_first;
  return is_first ? assembly_.index(IndexOp::And, is_first, is_row_) : is_row_;
}

void Rows::find_element() {
  element_name_ = assembly_.claim("i");
  ValueId first = times(thread_, lanes_);
  if (part_ == RowPart::Chunks) first = plus(times(chunk_, threads_ * lanes_ * runs()), first);
  first_ = first;
  const ValueId step =
      times(assembly_.read(step_number_), residency_.has_blocked_accumulators ? accumulators_ : threads_ * lanes_);
  if (residency_.has_blocked_accumulators) first_ = plus(first, times(assembly_.read(run_number_), threads_ * lanes_));
  if (part_ == RowPart::Finalize) {  // no elements are read
    element_index_ = integer(0);
    return;
  }
  if (is_register_cached()) {
    element_index_ = named(plus(first_, step), element_name_);
    if (const ValueId is_element = is_in_row(element_index_); is_element && residency_.computes_past_end)
      is_element_ = named(is_element, assembly_.claim("is_element"), ir::DType::Bool);
    return;
  }
  from_ = assembly_.variable_called(runs() == 1 ? element_name_ : assembly_.claim("from"), Level::Thread,
                                    {context_.index_dtype()});
  element_index_ = runs() == 1 ? assembly_.read(from_) : named(plus(assembly_.read(from_), step), element_name_);
  if (!loads_groups_ahead()) return;
  const ValueId last =
      let(assembly_.kernel.indices, assembly_.index(IndexOp::Sub, places_.length(), integer(1)), "last");
  loaded_index_ = named(assembly_.index(IndexOp::Min, plus(assembly_.read(from_), step), last), assembly_.claim("at"));
}

void Rows::store_partials() {
  const ValueId at = plus(times(row_number_, chunks_), chunk_);
  for (const RowReduction& reduction : reductions_.all())
    for (uint32_t v = 0; v < reduction.results.size(); ++v)
      row_stores_.push_back(
          {Assign{reductions_.partial(reduction.first_partial + v, at, true), assembly_.read(reduction.results[v])}});
}

void Rows::combine_chunks() {
  flush_row();
  const uint32_t each = runs();
  for (RowReduction& reduction : reductions_.all()) {
    reductions_.declare(body_, reduction, each, Loop::Kind::Unrolled);
    Body loads;
    const ValueId number = plus(times(assembly_.read(step_number_), threads_), thread_);
    const ValueId at = plus(times(row_number_, chunks_), number);
    for (uint32_t v = 0; v < reduction.types.size(); ++v) {
      const ValueId place = assembly_.item(assembly_.read(reduction.accumulators[v]), assembly_.read(step_number_));
      loads.push_back({Assign{place, reductions_.partial(reduction.first_partial + v, at, false)}});
    }
    body_.push_back({Loop{Loop::Kind::Unrolled, step_number_, integer(0), integer(each), std::move(loads)}});
  }
  for (RowReduction& reduction : reductions_.all()) reductions_.combine(body_, reduction, 1, threads_);
}

void Rows::store_rows() {
  const RowWork work = reductions_.work_of_rows();
  assembly_.set_block({Level::Thread, Level::Fetch, Level::Element}, row_);
  const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, work.job);
  flush_row();
  for (size_t s = 0; s < values.size(); ++s)
    row_stores_.push_back({Assign{memory_.element_lvalue(work.stores[s], Level::Row), values[s]}});
  for (const auto& [access, value] : reductions_.values_for_later_kernels())
    row_stores_.push_back({Assign{memory_.element_lvalue(access, Level::Row), value}});
  flush_row();
}

std::vector<Kernel> build_cuda_rows(const KernelContext& context) {
  if (!context.schedule.is_split()) return {Rows(context, RowPart::Whole).build()};
  return {Rows(context, RowPart::Chunks).build(), Rows(context, RowPart::Finalize).build()};
}

}  // namespace ingot::codegen
