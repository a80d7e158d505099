#include <algorithm>
#include <bit>

#include "codegen/kernel/cuda/reduce.h"

// Corresponding elements of adjacent rows are adjacent in memory. A thread computes a vector of adjacent rows, and some
// adjacent threads, at most a warp, compute adjacent vectors. The next threads have the same rows and the next
// accumulators. Each thread has adjacent accumulators of its rows. It computes one group of these at a time (not an
// access group), so that few are live at once. The results of the groups are merged as a binary counter carries. If a
// thread has few elements, those of the first phase stay in registers for the later ones.

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;

class Columns : public CudaReduce {
 public:
  Columns(const KernelContext& context, RowPart part)
      : CudaReduce(context, part),
        thread_accumulators_(reduced_map(maps_).count(Scope::Serial) * reduced_map(maps_).count(Scope::Vector)),
        group_accumulators_(reduced_map(maps_).count(Scope::Vector)),
        threads_across_(kept_map(maps_).count(Scope::Block)),
        elements_per_accumulator_(part == RowPart::Whole ? residency_.steps / groups() : 0) {}

  // Space

  uint32_t first_inner_axis() const override { return row_axes_ - 1; }
  ValueId coordinate(uint32_t axis, Level level) override {
    if (axis >= row_axes_)
      return context_.layout.reduced_axes > 1 ? memory_.coordinate_of(element_index_, row_axes_, context_.rank(), axis,
                                                                      Memory::Division::SharedReciprocal)
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

  /// A divisor that all elements of a row share has one reciprocal (docs/performance.md: row-reciprocal).
  std::optional<ValueId> quotient(ValueId value, ValueId divisor) override {
    const Value& value_of_divisor = assembly_[divisor];
    const bool is_element = lanes_ > 1 && value_of_divisor.kind == Value::Kind::Element;
    const ValueId row_divisor = is_element ? value_of_divisor.operands[0] : divisor;
    if (context_.options.fast_math || assembly_[row_divisor].level > Level::Row)
      return CudaReduce::quotient(value, divisor);
    SymbolId& reciprocal = reciprocals_[row_divisor];
    if (!reciprocal) {
      const Type type = assembly_[row_divisor].type;
      reciprocal = assembly_.variable("reciprocal", type, Level::Row);
      row_.push_back({Declare{reciprocal, assembly_.add({.kind = Value::Kind::Reciprocal,
                                                         .type = type,
                                                         .operands = {row_divisor},
                                                         .naming = Value::Naming::Inline})}});
    }
    const ValueId read = assembly_.read(reciprocal);
    return assembly_.add({.kind = Value::Kind::Quotient,
                          .type = {ir::DType::F32},
                          .operands = {value, divisor, is_element ? lane_of(read) : read}});
  }

 private:
  ValueId lane_of(ValueId vector) { return lanes_ > 1 ? assembly_.lane(vector, assembly_.read(lane_)) : vector; }

  bool is_register_cached() const { return elements_per_accumulator_ > 0; }

  /// The array for the elements of an access that belong to one group of accumulators; or, if the access is cached, for
  /// all elements. Emits their loads, ahead of all computations. Past the row's last element, the last one is loaded
  /// again.
  SymbolId loaded_group(uint32_t access) {
    if (const auto cached = cached_.find(access); cached != cached_.end()) return cached->second;
    SymbolId& array = vectors_[access];
    if (array) return array;
    array = vector_of(access);
    assembly_[array].extents = {group_accumulators_};
    const bool is_cached = is_register_cached() && phase_ == 0;
    if (is_cached) {
      assembly_[array].extents = {groups() * elements_per_accumulator_, group_accumulators_};
      cached_[access] = array;
    }
    const ValueId index = element_index_;
    if (group_accumulators_ > 1) element_index_ = loaded_index_;
    const ValueId from = lanes_ > 1 ? vector_at(access) : memory_.element_lvalue(access, Level::Thread);
    element_index_ = index;
    Loads& loads = is_cached ? cached_loads_ : loads_;
    loads.declared.push_back({Declare{array}});
    if (group_accumulators_ > 1 && loads.step.empty()) loads.step.push_back({Let{loaded_index_}});
    loads.step.push_back({Assign{group_element(array), from}});
    return array;
  }
  /// The current element of such an array.
  ValueId group_element(SymbolId array) {
    ValueId item = assembly_.read(array);
    if (assembly_[array].extents.size() > 1)
      item = assembly_.item(item, groups() == 1
                                      ? assembly_.read(fold_)
                                      : plus(times(group_number(), elements_per_accumulator_), assembly_.read(fold_)));
    return assembly_.item(item, accumulator_of_element().number);
  }
  /// The number of the current group.
  ValueId group_number() {
    return groups() == 1 ? integer(0)
                         : assembly_.index(IndexOp::Div, assembly_.read(group_begin_), integer(group_accumulators_));
  }

  // The position of a thread

  void find_row() override {
    Body& indices = assembly_.kernel.indices;
    const uint32_t rows = threads_across_ * lanes_;
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
    thread_ = threads_ == 1 ? integer(0)
                            : let(indices, assembly_.index(IndexOp::Div, self, integer(threads_across_)), "thread");
    const ValueId in_block = threads_ == 1 ? self : assembly_.index(IndexOp::Rem, self, integer(threads_across_));
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
    const std::string from = assembly_.claim(group_accumulators_ == 1 ? "i" : "from");
    if (is_register_cached()) {
      fold_ = assembly_.variable("f", {}, Level::Thread);
      element_index_ = named(plus(first_, times(assembly_.read(fold_), accumulators_)), from);
    } else {
      from_ = assembly_.variable_called(from, Level::Thread, type);
      element_index_ = assembly_.read(from_);
    }
    first_of_group_ = element_index_;
    if (group_accumulators_ == 1 || part_ == RowPart::Finalize) return;
    element_index_ = named(plus(element_index_, assembly_.read(step_number_)), assembly_.claim("i"));
    const ValueId last =
        let(assembly_.kernel.indices, assembly_.index(IndexOp::Sub, places_.length(), integer(1)), "last");
    loaded_index_ = named(assembly_.index(IndexOp::Min, plus(first_of_group_, assembly_.read(step_number_)), last),
                          assembly_.claim("at"));
  }

  uint32_t groups() const { return thread_accumulators_ / group_accumulators_; }

  // Phases

  /// Runs `step` for each of a thread's elements, one group of accumulators at a time, with `before` and `after` around
  /// each group.
  void loop_over_groups(Body before, Body step, Body after) {
    if (!cached_loads_.step.empty()) {
      append(body_, take(cached_loads_.declared));
      in_groups({over_elements(each_of_group(take(cached_loads_.step)))}, {});
    }
    Body both = take(loads_.declared);
    append(both, each_of_group(take(loads_.step)));
    if (group_accumulators_ > 1)
      step = {{If{assembly_.index(IndexOp::Less, element_index_, places_.length()), std::move(step)}}};
    append(both, each_of_group(std::move(step)));
    before.push_back(over_elements(std::move(both)));
    in_groups(std::move(before), std::move(after));
  }

  /// The loop over the elements that belong to the accumulators of one group; `group` computes one of each.
  Statement over_elements(Body group) {
    if (!is_register_cached()) {
      Loop elements{Loop::Kind::Strided, from_, first_, places_.length(), std::move(group)};
      elements.step = accumulators_;
      return {std::move(elements)};
    }
    Body guarded = {{Let{first_of_group_}}};
    guarded.push_back({If{assembly_.index(IndexOp::Less, first_of_group_, places_.length()), std::move(group)}});
    return {Loop{Loop::Kind::Unrolled, fold_, integer(0), integer(elements_per_accumulator_), std::move(guarded)}};
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
    if (part_ == RowPart::Finalize || is_register_cached())
      // Finalize: few loads, all issued at once. Register-cached: arrays stay in registers if indices are constants.
      loop.kind = Loop::Kind::Unrolled;
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
    reductions_.merge_group(after, reduction, group_number());
  }

  void combine(RowReduction& reduction) { reductions_.combine(body_, reduction, lanes_, threads_, threads_across_); }

  AccumulatorPlace accumulator_of_element() {
    return {group_accumulators_ == 1 ? integer(0) : assembly_.read(step_number_),
            lanes_ > 1 ? assembly_.read(lane_) : ValueId{}};
  }

  void emit_phase(uint32_t phase) override {
    const RowWork work = reductions_.work_of_phase(phase);
    if (work.job.roots.empty()) return;
    if (context_.layout.has_empty_rows) return set_empty_results(work);
    phase_ = phase;
    vectors_.clear();
    const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, work.job);
    flush_row();
    Body before, behind_step, after;
    auto value = values.begin();
    for (RowReduction* reduction : work.reductions) {
      declare(*reduction, before, after);
      std::vector<ValueId> operands = {*value++};
      if (reductions_.takes_factors(*reduction)) operands.push_back(*value++);
      if (reduction->types.size() > 1) operands.push_back(element_index_);
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
  uint32_t threads_across_;                            ///< adjacent threads with adjacent rows
  uint32_t elements_per_accumulator_;                  ///< at most; 0: elements are not register-cached
  SymbolId group_begin_;    ///< the first accumulator of the group, counted from the thread's first accumulator
  SymbolId from_;           ///< the element, in the row, that belongs to the first accumulator of the group
  SymbolId fold_;           ///< if elements are register-cached: how many elements of each accumulator come earlier
  ValueId first_of_group_;  ///< the index of the current element that belongs to the first accumulator of the group
  ValueId first_;           ///< the first accumulator of the group, which is also the index of its first element
  ValueId loaded_index_;    ///< the index of the element to load: see loaded_group
  /// Declarations of arrays, and the loads of one element.
  struct Loads {
    Body declared, step;
  } loads_, cached_loads_;                    ///< of a group's elements; of all elements of a thread
  std::map<uint32_t, SymbolId> cached_;       ///< the arrays of accesses whose elements are register-cached
  uint32_t phase_ = 0;                        ///< the current phase
  std::map<uint32_t, SymbolId> row_vectors_;  ///< vectors that do not vary along a row
  std::map<ValueId, SymbolId> reciprocals_;   ///< of divisors that a row's elements share
};

}  // namespace

std::vector<Kernel> build_cuda_columns(const KernelContext& context) {
  if (context.outline.partials_writer) return {Columns(context, RowPart::Finalize).build()};
  if (!context.schedule.is_split()) return {Columns(context, RowPart::Whole).build()};
  return {Columns(context, RowPart::Chunks).build(), Columns(context, RowPart::Finalize).build()};
}

}  // namespace ingot::codegen
