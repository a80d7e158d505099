#include <algorithm>
#include <bit>

#include "codegen/kernel/cuda/reduce.h"

// Corresponding elements of adjacent rows are adjacent in memory. A thread computes a vector of adjacent rows, and a
// warp the rows of 32 adjacent vectors. The threads of one row are in different warps. Each thread has adjacent
// accumulators of its rows. It computes one group of these at a time (not an access group), so that few are live at
// once. The results of the groups are merged as a binary counter carries.

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;

constexpr uint32_t kWarp = 32;

class Columns : public CudaReduce {
 public:
  Columns(const KernelContext& context, RowPart part)
      : CudaReduce(context, part),
        thread_accumulators_(reduced_map(maps_).count(Scope::Serial) * reduced_map(maps_).count(Scope::Vector)),
        group_accumulators_(reduced_map(maps_).count(Scope::Vector)) {}

  // Space

  uint32_t first_inner_axis() const override { return row_axes_ - 1; }
  ValueId coordinate(uint32_t axis, Level level) override {
    if (axis >= row_axes_)
      return context_.layout.reduced_axes > 1 ? memory_.coordinate_of(element_index_, row_axes_, context_.rank(), axis)
                                              : element_index_;
    const ValueId first = places_.coordinate(axis);
    return axis + 1 < row_axes_ || level <= Level::Thread || lanes_ == 1 ? first : plus(first, assembly_.read(lane_));
  }

  // AccessEmitter

  ValueId load(uint32_t access) override {
    const bool is_vector = lanes_ > 1 && how(access).how == How::Vector;
    if (how(access).is_masked || (lanes_ > 1 && !is_vector)) return memory_.load(access, Level::Element);
    if (places_.varies_in_row(access)) return lane_of(group_element(loaded_group(access)));
    if (!is_vector) return memory_.load(access, Level::Element);
    SymbolId& vector = row_vectors_[access];
    if (!vector) {
      vector = vector_of(access);
      row_.push_back({Declare{vector, vector_at(access)}});
    }
    return lane_of(assembly_.read(vector));
  }

 private:
  ValueId lane_of(ValueId vector) { return lanes_ > 1 ? assembly_.lane(vector, assembly_.read(lane_)) : vector; }

  /// The array for the elements of an access that belong to one group of accumulators. Emits their loads, ahead of all
  /// computations. Past the row's last element, the last one is loaded again.
  SymbolId loaded_group(uint32_t access) {
    SymbolId& array = vectors_[access];
    if (array) return array;
    array = vector_of(access);
    assembly_[array].extents = {group_accumulators_};
    const ValueId index = element_index_;
    if (group_accumulators_ > 1) element_index_ = loaded_index_;
    const ValueId from = lanes_ > 1 ? vector_at(access) : memory_.element_lvalue(access, Level::Thread);
    element_index_ = index;
    loads_.declared.push_back({Declare{array}});
    if (group_accumulators_ > 1 && loads_.step.empty()) loads_.step.push_back({Let{loaded_index_}});
    loads_.step.push_back({Assign{group_element(array), from}});
    return array;
  }
  /// The current element of such an array.
  ValueId group_element(SymbolId array) {
    return assembly_.item(assembly_.read(array), accumulator_of_element().number);
  }

  // The position of a thread

  void find_row() override {
    Body& indices = assembly_.kernel.indices;
    const uint32_t rows = kWarp * lanes_;
    launch(rows);
    const ValueId all = places_.elements(0, row_axes_), self = thread_number(assembly_, Level::Row);
    ValueId block = block_number(context_, assembly_);
    if (part_ == RowPart::Chunks) {
      // Blocks are numbered by rows first, then by chunk: those that run at the same time should read adjacent memory.
      const ValueId padded = assembly_.index(IndexOp::Add, all, integer(rows - 1));
      const ValueId blocks = let(indices, assembly_.index(IndexOp::Div, padded, integer(rows)), "blocks");
      chunk_ = let(indices, assembly_.index(IndexOp::Div, block, blocks), "chunk");
      block = assembly_.index(IndexOp::Rem, block, blocks);
    }
    thread_ = threads_ == 1 ? integer(0) : let(indices, assembly_.index(IndexOp::Div, self, integer(kWarp)), "thread");
    const ValueId in_block = threads_ == 1 ? self : assembly_.index(IndexOp::Rem, self, integer(kWarp));
    row_number_ = let(indices, plus(times(block, rows), times(in_block, lanes_)), "row");
    indices.push_back({Return{row_number_, all}});
    places_.set_row(row_number_);
  }

  void find_element() override {
    const Type type{context_.index_dtype()};
    first_ = times(part_ == RowPart::Chunks ? plus(times(chunk_, threads_), thread_) : thread_, thread_accumulators_);
    if (groups() > 1) {
      first_ = let(assembly_.kernel.indices, first_, "first");
      group_begin_ = assembly_.variable("g", type, Level::Thread);
      first_ = plus(first_, assembly_.read(group_begin_));
    }
    from_ = assembly_.variable(group_accumulators_ == 1 ? "i" : "from", type, Level::Thread);
    element_index_ = assembly_.read(from_);
    if (group_accumulators_ == 1 || part_ == RowPart::Finalize) return;
    element_index_ = named(plus(element_index_, assembly_.read(step_number_)), assembly_.claim("i"));
    const ValueId last =
        let(assembly_.kernel.indices, assembly_.index(IndexOp::Sub, places_.length(), integer(1)), "last");
    loaded_index_ =
        named(assembly_.index(IndexOp::Min, plus(assembly_.read(from_), assembly_.read(step_number_)), last),
              assembly_.claim("at"));
  }

  uint32_t groups() const { return thread_accumulators_ / group_accumulators_; }

  // Phases

  /// Runs `step` for each of a thread's elements, one group of accumulators at a time, with `before` and `after` around
  /// each group.
  void loop_over_groups(Body before, Body step, Body after) {
    Body both = std::move(loads_.declared);
    append(both, each_of_group(std::move(loads_.step)));
    loads_ = {};
    if (group_accumulators_ > 1)
      step = {{If{assembly_.index(IndexOp::Less, element_index_, places_.length()), std::move(step)}}};
    append(both, each_of_group(std::move(step)));
    Loop elements{Loop::Kind::Strided, from_, first_, places_.length(), std::move(both)};
    elements.step = accumulators_;
    before.push_back({std::move(elements)});
    in_groups(std::move(before), std::move(after));
  }

  /// Emits `step` for each element of a group.
  Body each_of_group(Body step) {
    if (group_accumulators_ == 1 || step.empty()) return step;
    Body body = {{Let{element_index_}}};
    append(body, std::move(step));
    return {{Loop{Loop::Kind::Unrolled, step_number_, integer(0), integer(group_accumulators_), std::move(body)}}};
  }

  /// Emits the loop over groups of accumulators; `group` and then `after` compute one group.
  void in_groups(Body group, Body after) {
    append(group, std::move(after));
    if (groups() == 1) return append(body_, std::move(group));
    Loop loop{Loop::Kind::Strided, group_begin_, integer(0), integer(thread_accumulators_), std::move(group)};
    loop.step = group_accumulators_;
    if (part_ == RowPart::Finalize)
      loop.kind = Loop::Kind::Unrolled;  // few loads, all issued at once
    else
      loop.unroll = 1;
    body_.push_back({std::move(loop)});
  }

  /// Declares the accumulators of a reduction. If the result depends on the order of accumulation, the accumulators of
  /// one group are combined before the next group starts; otherwise all groups share their accumulators.
  void declare(RowReduction& reduction, Body& before, Body& after) {
    const bool carries = reduction.has_order() && groups() > 1;
    reductions_.declare(carries ? before : body_, reduction, group_accumulators_, Loop::Kind::Unrolled);
    if (!carries) return;
    reductions_.declare_levels(body_, reduction, groups());
    reductions_.merge_group(after, reduction,
                            assembly_.index(IndexOp::Div, assembly_.read(group_begin_), integer(group_accumulators_)));
  }

  void combine(RowReduction& reduction) { reductions_.combine(body_, reduction, lanes_, threads_, kWarp); }

  AccumulatorPlace accumulator_of_element() {
    return {group_accumulators_ == 1 ? integer(0) : assembly_.read(step_number_),
            lanes_ > 1 ? assembly_.read(lane_) : ValueId{}};
  }

  void emit_phase(uint32_t phase) override {
    const RowWork work = reductions_.work_of_phase(phase);
    if (work.job.roots.empty()) return;
    if (context_.layout.has_empty_rows) return set_empty_results(work);
    vectors_.clear();
    const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, work.job);
    flush_row();
    Body before, behind_step, after;
    auto value = values.begin();
    for (RowReduction* reduction : work.reductions) {
      declare(*reduction, before, after);
      std::vector<ValueId> operands = {*value++};
      if (reductions_.takes_factors(*reduction)) operands.push_back(*value++);
      if (reduction->types.size() > 1) operands.push_back(wide(element_index_));
      reductions_.fold(element(), *reduction, accumulator_of_element(), operands);
    }
    for (const uint32_t access : work.stores) store(access, *value++, behind_step);
    flush_row();
    loop_over_groups(std::move(before), take_step(std::move(behind_step)), std::move(after));
    for (RowReduction* reduction : work.reductions) combine(*reduction);
  }

  void set_empty_results(const RowWork& work) {
    for (RowReduction* reduction : work.reductions) {
      reductions_.declare(body_, *reduction, group_accumulators_, Loop::Kind::Unrolled);
      combine(*reduction);
    }
  }

  // Split rows

  /// The partial results of one chunk are adjacent for adjacent rows.
  ValueId index_of_partial(ValueId chunk) {
    return plus(assembly_.index(IndexOp::Mul, chunk, places_.elements(0, row_axes_)), row_number_);
  }

  void store_partials() override {
    const ValueId at = index_of_partial(chunk_);
    for (const RowReduction& reduction : reductions_.all())
      for (uint32_t v = 0; v < reduction.results.size(); ++v) {
        const uint32_t partial = reduction.first_partial + v;
        const ValueId result = assembly_.read(reduction.results[v]);
        row_stores_.push_back(
            lanes_ == 1
                ? Statement{Assign{reductions_.partial(partial, at, true), result}}
                : Statement{StoreVector{assembly_.read(reductions_.partials_pointer(partial, true)), at, result}});
      }
  }

  void combine_chunks() override {
    flush_row();
    Body before, after, loads;
    const ValueId chunk = group_accumulators_ == 1 ? first_ : plus(first_, assembly_.read(step_number_));
    for (RowReduction& reduction : reductions_.all()) {
      declare(reduction, before, after);
      std::vector<ValueId> operands;
      for (uint32_t v = 0; v < reduction.types.size(); ++v)
        operands.push_back(reductions_.partial(reduction.first_partial + v, index_of_partial(chunk), false));
      reductions_.fold(loads, reduction, accumulator_of_element(), operands);
    }
    if (group_accumulators_ > 1)
      loads = {{Loop{Loop::Kind::Unrolled, step_number_, integer(0), integer(group_accumulators_), std::move(loads)}}};
    append(before, std::move(loads));
    in_groups(std::move(before), std::move(after));
    for (RowReduction& reduction : reductions_.all()) combine(reduction);
  }

  // Values computed once per row

  void store_rows() override {
    const RowWork work = reductions_.work_of_rows();
    vectors_.clear();
    const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, work.job);
    Body after;
    for (size_t s = 0; s < values.size(); ++s) store(work.stores[s], values[s], after);
    for (const auto& [access, value] : reductions_.values_for_later_kernels()) store(access, value, after);
    flush_row();
    row_stores_ = take_step(std::move(after));
  }

  uint32_t thread_accumulators_, group_accumulators_;  ///< accumulators of a thread, and of a group; powers of two
  SymbolId group_begin_;  ///< the first accumulator of the group, counted from the thread's first accumulator
  SymbolId from_;         ///< the element, in the row, that belongs to the first accumulator of the group
  ValueId first_;         ///< the first accumulator of the group, which is also the index of its first element
  ValueId loaded_index_;  ///< the index of the element to load: see loaded_group
  struct {
    Body declared, step;
  } loads_;                                   ///< declarations of the arrays of a group, and the loads of one element
  std::map<uint32_t, SymbolId> row_vectors_;  ///< vectors that do not vary along a row
};

}  // namespace

std::vector<Kernel> build_cuda_columns(const KernelContext& context) {
  if (context.outline.partials_writer) return {Columns(context, RowPart::Finalize).build()};
  if (!context.schedule.is_split()) return {Columns(context, RowPart::Whole).build()};
  return {Columns(context, RowPart::Chunks).build(), Columns(context, RowPart::Finalize).build()};
}

}  // namespace ingot::codegen
