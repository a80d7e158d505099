#include <algorithm>
#include <iterator>

#include "codegen/kernel/computation.h"
#include "codegen/kernel/reduction.h"
#include "codegen/kernel/targets.h"

// The threads of a row, neighbours or, where neighbours work on neighbouring rows, a warp apart, go through its
// elements together, phase by phase: a thread takes `lanes` neighbours at a time, those of the next thread follow. What
// it finds of its classes stands in arrays; all threads of the row make these one, and know the row's value in the next
// phase. Where a row has few elements for its threads they are read once, before all phases, and stay in registers.

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;

class Reduce : public Space, public Access {
 public:
  Reduce(const KernelContext& context, RowPart part)
      : context_(context),
        part_(part),
        rows_(context.schedule.rows),
        assembly_(context),
        memory_(context, assembly_),
        reductions_(context, assembly_, memory_),
        places_(context, assembly_, memory_, row_),
        kept_(places_.kept()),
        lanes_(part == RowPart::Rest ? 1 : context.schedule.lanes),
        threads_(part == RowPart::Rest ? std::min(rows_.pieces, 1024u) : rows_.threads) {
    memory_.set_space(*this);
    lane_ = assembly_.variable("k", {}, Level::Element);
    step_number_ = assembly_.variable("v", {}, Level::Thread);
    assembly_.place({Level::Kernel, Level::Row}, row_);
    assembly_.place({Level::Thread}, step_);
    assembly_.place({Level::Fetch, Level::Element}, lanes_ > 1 ? element_ : step_);
  }

  Kernel build() {
    find_row();
    find_element();
    const uint32_t phases = reductions_.phases();
    if (part_ == RowPart::Rest) {
      combine_pieces();
    } else {
      for (uint32_t phase = 0; phase < phases; ++phase) go_through(phase);
    }
    if (part_ == RowPart::Pieces) {
      leave_states();
    } else {
      go_through(phases);
      store_rows();
    }
    assemble();
    memory_.describe_pointers();
    return assembly_.finish(context_);
  }

  // Space

  ValueId linear(Level) override { return row_number_; }
  bool has_linear() const override { return false; }
  ValueId coordinate(uint32_t axis, Level level) override {
    if (axis < kept_) return places_.coordinate(axis);
    const bool is_inner = axis + 1 == context_.rank();
    ValueId at = element_index_;
    if (context_.layout.reduced_axes > 1) at = memory_.quotient(element_index_, kept_, context_.rank(), axis);
    if (!is_inner || level <= Level::Thread || lanes_ == 1) return at;
    return assembly_.index(IndexOp::Add, at, assembly_.read(lane_));
  }
  ValueId base(uint32_t access) override { return places_.base(access); }
  uint32_t first_axis(uint32_t access) const override { return places_.moves_in_row(access) ? kept_ : 0; }
  uint32_t first_inner_axis() const override { return kept_; }
  Level level_of_names() const override { return Level::Thread; }
  std::string suffix() override { return lanes_ > 1 ? "_" + assembly_[lane_].name : "_i"; }

  // Access

  ValueId load(uint32_t access) override {
    if (how(access).how == How::Fixed || how(access).masked) return memory_.load(access, Level::Element);
    if (is_resident() && (phase_ == 0 || arrays_.contains(access))) return resident(access);
    if (how(access).how != How::Vector) return memory_.load(access, Level::Element);
    SymbolId& vector = vectors_[access];
    if (!vector) {
      vector = vector_of(access);
      step_.push_back({Declare{vector, vector_at(access)}});
    }
    return assembly_.lane(assembly_.read(vector), assembly_.read(lane_));
  }

  std::vector<ValueId> wrap(uint32_t access, const std::vector<ValueId>& indices, ValueId guard) override {
    std::vector<ValueId> wrapped;
    const ValueId bad = context_.options.check_indices ? assembly_.read(memory_.status()) : ValueId{};
    for (uint32_t l = 0; l < indices.size(); ++l) wrapped.push_back(memory_.wrap(access, l, indices[l], bad, guard));
    return wrapped;
  }
  ValueId gather(uint32_t access, const std::vector<ValueId>& wrapped) override {
    return memory_.load(access, Level::Element, wrapped);
  }
  std::optional<ValueId> position(uint32_t access) override { return memory_.position(access, Level::Element); }
  ValueId divisor(ValueId value, uint32_t) override { return value; }

 private:
  const AccessSchedule& how(uint32_t access) const { return context_.schedule.accesses[access]; }
  bool is_resident() const { return rows_.steps > 0; }
  /// Runs of neighbours, one a thread, that together are all classes.
  uint32_t runs() const { return std::max(1u, rows_.classes / rows_.pieces / (threads_ * lanes_)); }

  ValueId whole(int64_t number) { return assembly_.whole(number); }
  ValueId times(ValueId a, int64_t b) { return b == 1 ? a : assembly_.index(IndexOp::Mul, a, whole(b)); }
  ValueId plus(ValueId a, ValueId b) { return assembly_.index(IndexOp::Add, a, b); }
  ValueId let(Body& block, ValueId value, std::string_view wanted) {
    const ValueId named = assembly_.let(block, value, assembly_.claim(wanted));
    if (assembly_[named].type.dtype == ir::DType::U32) assembly_[named].type = {context_.index_dtype()};
    return named;
  }

  // Where a thread is

  /// Rows of a block.
  uint32_t rows_of_block() const { return context_.schedule.threads / threads_; }

  void find_row() {
    Body& indices = assembly_.kernel.indices;
    LaunchInfo& launch = assembly_.kernel.launch;
    const uint32_t threads = part_ == RowPart::Rest ? std::max(threads_, 128u) : context_.schedule.threads;
    launch.block_threads = threads;
    const uint32_t rows = threads / threads_;
    if (part_ == RowPart::Rest) launch.entry += "_rest";
    if (rows_.splits) {
      launch.states = reductions_.states();
      launch.state_count = {{0, kept_, 1, rows_.pieces}};
    }
    launch.grid = {{0, kept_, rows, part_ == RowPart::Pieces ? rows_.pieces : 1}};
    ValueId block =
        assembly_.add({.kind = Value::Kind::Block, .type = {ir::DType::U32}, .naming = Value::Naming::Inline});
    const ValueId self = assembly_.add(
        {.kind = Value::Kind::Thread, .type = {ir::DType::U32}, .level = Level::Row, .naming = Value::Naming::Inline});
    if (part_ == RowPart::Pieces) {
      piece_ = let(indices, assembly_.index(IndexOp::Rem, block, whole(rows_.pieces)), "piece");
      block = assembly_.index(IndexOp::Div, block, whole(rows_.pieces));
    }
    const bool across = rows_.across && part_ != RowPart::Rest;
    if (context_.index_dtype() == ir::DType::I64)
      block = assembly_.add({.kind = Value::Kind::Cast,
                             .type = {ir::DType::I64},
                             .work = ir::DType::U32,
                             .operands = {block},
                             .naming = Value::Naming::Inline});
    thread_ = self;
    row_number_ = block;
    if (rows > 1) {
      const auto part = [&](IndexOp op, uint32_t by) { return assembly_.index(op, self, whole(by)); };
      thread_ = threads_ == 1
                    ? whole(0)
                    : let(indices, across ? part(IndexOp::Div, rows) : part(IndexOp::Rem, threads_), "thread");
      row_number_ = plus(times(block, rows), across         ? part(IndexOp::Rem, rows)
                                             : threads_ > 1 ? part(IndexOp::Div, threads_)
                                                            : self);
    }
    row_number_ = let(indices, row_number_, "row");
    if (rows > 1) indices.push_back({Return{row_number_, places_.elements(0, kept_)}});
    places_.set_row(row_number_);
  }

  /// The first of a thread's elements in one step of its loop.
  void find_element() {
    element_name_ = assembly_.claim("i");
    ValueId first = times(thread_, lanes_);
    if (part_ == RowPart::Pieces) first = plus(times(piece_, threads_ * lanes_ * runs()), first);
    first_ = first;
    const ValueId step = times(assembly_.read(step_number_), threads_ * lanes_);
    if (part_ == RowPart::Rest) {  // it has none
      element_index_ = whole(0);
      return;
    }
    if (is_resident()) {
      element_index_ = named(plus(first, step));
      return;
    }
    from_ = assembly_.variable_called(runs() == 1 ? element_name_ : assembly_.claim("from"), Level::Thread,
                                      {context_.index_dtype()});
    element_index_ = runs() == 1 ? assembly_.read(from_) : named(plus(assembly_.read(from_), step));
  }

  /// Called by the name of an element, wherever its Let stands.
  ValueId named(ValueId value) {
    assembly_[value].naming = Value::Naming::Always;
    assembly_[value].name = element_name_;
    assembly_[value].type = {context_.index_dtype()};
    return value;
  }

  // Elements

  SymbolId vector_of(uint32_t access) {
    const SymbolId pointer = memory_.pointer(access);
    const std::string name = lanes_ > 1 ? memory_.vector_name(access, lanes_) : assembly_[pointer].name + "_of";
    const SymbolId vector = assembly_.variable(name, {memory_.type_in_memory(access), lanes_}, Level::Thread);
    assembly_[vector].of = assembly_[pointer].name;
    return vector;
  }

  ValueId vector_at(uint32_t access) {
    return assembly_.add({.kind = Value::Kind::Vector,
                          .type = {memory_.type_in_memory(access), lanes_},
                          .operands = {base(access), memory_.index(access, Level::Thread, 0)},
                          .naming = Value::Naming::Inline});
  }

  /// What is read once, before the first phase, and kept.
  ValueId resident(uint32_t access) {
    SymbolId& array = arrays_[access];
    if (!array) {
      array = vector_of(access);
      assembly_[array].extents = {rows_.steps};
      loads_.declared.push_back({Declare{array}});
      const ValueId place = assembly_.item(assembly_.read(array), assembly_.read(step_number_));
      if (lanes_ == 1)
        loads_.step.push_back({Assign{place, memory_.target(access, Level::Thread)}});
      else if (how(access).how == How::Vector)
        loads_.step.push_back({Assign{place, vector_at(access)}});
      else
        loads_.lane.push_back(
            {Assign{assembly_.lane(place, assembly_.read(lane_)), memory_.target(access, Level::Element)}});
    }
    const ValueId mine = assembly_.item(assembly_.read(array), assembly_.read(step_number_));
    return lanes_ > 1 ? assembly_.lane(mine, assembly_.read(lane_)) : mine;
  }

  /// The loop over a thread's elements.
  Statement loop_over(Body step) {
    const ValueId length = places_.length();
    const ValueId is_element = assembly_.index(IndexOp::Less, element_index_, length);
    if (is_resident()) {
      Body guarded = {{Let{element_index_}}, {If{is_element, std::move(step)}}};
      return {Loop{Loop::Kind::Unrolled, step_number_, whole(0), whole(rows_.steps), std::move(guarded)}};
    }
    const uint32_t stride = rows_.classes;
    Loop loop{Loop::Kind::Strided, from_, first_, length, std::move(step)};
    loop.step = stride;
    loop.unroll = runs() == 1 ? 4 : 1;
    if (runs() > 1) {
      const auto kind = runs() <= 8 ? Loop::Kind::Unrolled : Loop::Kind::Serial;
      Body guarded = {{Let{element_index_}}, {If{is_element, std::move(loop.body)}}};
      loop.body = {{Loop{kind, step_number_, whole(0), whole(runs()), std::move(guarded)}}};
    }
    return {std::move(loop)};
  }

  Loop lanes(Body body) { return {Loop::Kind::Unrolled, lane_, whole(0), whole(lanes_), std::move(body)}; }

  /// Of the element in a thread's arrays.
  ValueId class_number() {
    ValueId run;
    if (runs() > 1) {
      run = assembly_.read(step_number_);
      if (is_resident() && runs() < rows_.steps) run = assembly_.index(IndexOp::Rem, run, whole(runs()));
      run = times(run, lanes_);
    }
    const ValueId lane = lanes_ > 1 ? assembly_.read(lane_) : ValueId{};
    if (run && lane) return plus(run, lane);
    return run ? run : lane ? lane : whole(0);
  }

  ValueId position_in_row() { return lanes_ > 1 ? plus(element_index_, assembly_.read(lane_)) : element_index_; }

  // Phases

  void go_through(uint32_t phase) {
    Job job{.roots = {}, .reduced = &reductions_.known(), .phase = phase};
    std::vector<RowReduction*> mine;
    for (RowReduction& reduction : reductions_.all()) {
      if (reduction.phase != phase) continue;
      mine.push_back(&reduction);
      job.roots.push_back({context_.graph[reduction.node].args[0], reduction.types[0]});
    }
    const RowReductions::Stores stores = reductions_.stores_of(phase);
    job.roots.insert(job.roots.end(), stores.roots.begin(), stores.roots.end());
    if (job.roots.empty()) return;
    phase_ = phase;
    vectors_.clear();
    const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, job);
    Body& element = lanes_ > 1 ? element_ : step_;
    Body declared;
    for (size_t r = 0; r < mine.size(); ++r) {
      reductions_.declare(declared, *mine[r], runs() * lanes_, Loop::Kind::Unrolled);
      std::vector<ValueId> found = {values[r]};
      if (mine[r]->types.size() > 1) found.push_back(wide(position_in_row()));
      reductions_.fold(element, *mine[r], class_number(), found);
    }
    Body after;
    for (size_t s = 0; s < stores.accesses.size(); ++s) store(stores.accesses[s], values[mine.size() + s], after);
    settle();
    if (phase == 0 && !arrays_.empty()) {
      append(body_, std::move(loads_.declared));
      if (!loads_.lane.empty()) loads_.step.push_back({lanes(std::move(loads_.lane))});
      body_.push_back(loop_over(std::move(loads_.step)));
    }
    append(body_, std::move(declared));
    Body step = std::move(step_), inner = std::move(element_);
    step_.clear(), element_.clear();
    if (!inner.empty()) step.push_back({lanes(std::move(inner))});
    append(step, std::move(after));
    body_.push_back(loop_over(std::move(step)));
    for (RowReduction* reduction : mine)
      reductions_.combine(body_, *reduction, lanes_, threads_, rows_.across ? rows_of_block() : 1);
  }

  ValueId wide(ValueId index) {
    if (context_.index_dtype() == ir::DType::I64) return index;
    return assembly_.add({.kind = Value::Kind::Cast,
                          .type = {ir::DType::I64},
                          .work = context_.index_dtype(),
                          .operands = {index},
                          .naming = Value::Naming::Inline});
  }

  void store(uint32_t access, ValueId value, Body& after) {
    if (how(access).how != How::Vector || lanes_ == 1) {
      (lanes_ > 1 ? element_ : step_).push_back({Assign{memory_.target(access, Level::Element), value}});
      return;
    }
    const SymbolId vector = vector_of(access);
    step_.push_back({Declare{vector}});
    element_.push_back({Assign{assembly_.lane(assembly_.read(vector), assembly_.read(lane_)), value}});
    after.push_back({StoreVector{base(access), memory_.index(access, Level::Thread, 0), assembly_.read(vector)}});
  }

  // Split rows

  void leave_states() {
    const ValueId at = plus(times(row_number_, rows_.pieces), piece_);
    for (const RowReduction& reduction : reductions_.all())
      for (uint32_t v = 0; v < reduction.results.size(); ++v)
        row_stores_.push_back(
            {Assign{reductions_.state(reduction.first_state + v, at, true), assembly_.read(reduction.results[v])}});
  }

  void combine_pieces() {
    settle();
    const uint32_t each = rows_.pieces / threads_;
    for (RowReduction& reduction : reductions_.all()) {
      reductions_.declare(body_, reduction, each, Loop::Kind::Unrolled);
      Body loads;
      const ValueId number = plus(times(assembly_.read(step_number_), threads_), thread_);
      const ValueId at = plus(times(row_number_, rows_.pieces), number);
      for (uint32_t v = 0; v < reduction.types.size(); ++v) {
        const ValueId place = assembly_.item(assembly_.read(reduction.classes[v]), assembly_.read(step_number_));
        loads.push_back({Assign{place, reductions_.state(reduction.first_state + v, at, false)}});
      }
      body_.push_back({Loop{Loop::Kind::Unrolled, step_number_, whole(0), whole(each), std::move(loads)}});
    }
    for (RowReduction& reduction : reductions_.all()) reductions_.combine(body_, reduction, 1, threads_, 1);
  }

  // What there is one of a row

  void store_rows() {
    const RowReductions::Stores stores = reductions_.stores_of_rows();
    const Job job{stores.roots, &reductions_.known(), reductions_.phases() + 1};
    assembly_.place({Level::Thread, Level::Fetch, Level::Element}, row_);
    const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, job);
    settle();
    for (size_t s = 0; s < values.size(); ++s)
      row_stores_.push_back({Assign{memory_.target(stores.accesses[s], Level::Row), values[s]}});
    for (const auto& [access, value] : reductions_.kept_values())
      row_stores_.push_back({Assign{memory_.target(access, Level::Row), value}});
    settle();
  }

  void settle() {
    append(body_, std::move(row_));
    row_.clear();
  }

  static void append(Body& body, Body more) { std::ranges::move(more, std::back_inserter(body)); }

  void assemble() {
    settle();
    Kernel& kernel = assembly_.kernel;
    append(kernel.body, std::move(body_));
    if (row_stores_.empty()) return;
    if (threads_ == 1)
      append(kernel.body, std::move(row_stores_));
    else
      kernel.body.push_back({If{assembly_.index(IndexOp::Equal, thread_, whole(0)), std::move(row_stores_)}});
  }

  const KernelContext& context_;
  RowPart part_;
  const RowSchedule& rows_;
  Assembly assembly_;
  Memory memory_;
  RowReductions reductions_;
  Body row_;
  RowPlaces places_;
  uint32_t kept_, lanes_, threads_;
  SymbolId lane_, step_number_, from_;
  std::string element_name_;
  ValueId thread_, piece_, row_number_, first_, element_index_;
  uint32_t phase_ = 0;
  std::map<uint32_t, SymbolId> vectors_, arrays_;  ///< of a step; kept
  struct {
    Body declared, step, lane;
  } loads_;
  Body step_, element_, body_, row_stores_;
};

}  // namespace

std::vector<Kernel> build_cuda_reduce(const KernelContext& context) {
  std::vector<Kernel> kernels;
  if (!context.schedule.rows.splits) {
    kernels.push_back(Reduce(context, RowPart::Whole).build());
  } else {
    kernels.push_back(Reduce(context, RowPart::Pieces).build());
    kernels.push_back(Reduce(context, RowPart::Rest).build());
  }
  return kernels;
}

}  // namespace ingot::codegen
