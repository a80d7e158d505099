#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "codegen/kernel/cuda/batch.h"
#include "codegen/kernel/cuda/reduce.h"

// The threads of a row are neighbours: a thread takes `lanes` neighbours at a time, those of the next thread follow.
// Where a row has few elements for its threads they are read once, before all phases, and stay in registers, those of a
// longer row in shared memory too; so does what one phase has computed of them at some cost and a later one needs.

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;

constexpr uint32_t kRunsAhead = 4;  ///< of groups: more vectors at once had better not be held

class Rows : public CudaReduce {
 public:
  Rows(const KernelContext& context, RowPart part)
      : CudaReduce(context, part, part == RowPart::Rest ? 1 : context.schedule.lanes,
                   part == RowPart::Rest ? std::min(context.schedule.rows.pieces, 1024u)
                                         : context.schedule.rows.threads * context.schedule.rows.cluster,
                   0),
        run_number_(assembly_.variable("r", {}, Level::Thread)),
        batch_(context, assembly_, memory_),
        first_places_(context, assembly_, memory_, first_row_),
        next_places_(context, assembly_, memory_, next_row_) {}

  // Space

  /// What is linear has an element of a row behind the other, whatever axes it has.
  bool has_linear() const override { return context_.layout.reduced_axes > 0; }
  ValueId linear(Level level) override { return of_lane(element_index_, level); }
  uint32_t first_inner_axis() const override { return kept_; }
  ValueId coordinate(uint32_t axis, Level level) override {
    if (axis < kept_) return places_.coordinate(axis);
    const bool is_inner = axis + 1 == context_.rank();
    ValueId at = element_index_;
    if (context_.layout.reduced_axes > 1)
      at = memory_.quotient(element_index_, kept_, context_.rank(), axis, has_short_indices());
    return is_inner ? of_lane(at, level) : at;
  }

  ValueId base(uint32_t access) override {
    if (loading_ != nullptr) return loading_->base(access);
    if (how(access).how != How::Batched) return CudaReduce::base(access);
    return batch_.row(access, [&](uint32_t load) { return arrays_.contains(load); });
  }

  // Access

  ValueId load(uint32_t access) override {
    if (how(access).how == How::Grouped)
      if (const Chunk* chunk = memory_.chunk_of(access)) return of_chunk(access, *chunk);
    if (how(access).how == How::Fixed || how(access).masked) return memory_.load(access, Level::Element);
    if (stays(access)) return resident(access);
    if (!is_vector(access)) return memory_.load(access, Level::Element);
    SymbolId& vector = vectors_[access];
    if (!vector) {
      vector = vector_of(access);
      step_.push_back({Declare{vector, vector_at(access)}});
    }
    return assembly_.lane(assembly_.read(vector), assembly_.read(lane_));
  }

  /// A vector that is kept, by a number that its row shares, is divided at once.
  std::optional<ValueId> quotient(ValueId value, ValueId divisor) override {
    const Value& lane = assembly_[value];
    if (assembly_[divisor].level > Level::Row) return CudaReduce::quotient(value, divisor);
    if (context_.options.fast_math || lanes_ == 1 || lane.kind != Value::Kind::Lane) return std::nullopt;
    const ValueId vector = lane.operands[0];
    const Type type = assembly_[vector].type;
    if (type != Type{ir::DType::F32, lanes_}) return std::nullopt;
    SymbolId& quotients = quotients_[{vector, divisor}];
    if (!quotients) {
      quotients = assembly_.variable("quotient" + std::to_string(lanes_), type, Level::Thread);
      const ValueId all = assembly_.add({.kind = Value::Kind::Quotient,
                                         .type = type,
                                         .operands = {vector, divisor},
                                         .naming = Value::Naming::Inline});
      step_.push_back({Declare{quotients, all}});
    }
    return assembly_.lane(assembly_.read(quotients), assembly_.read(lane_));
  }

 private:
  /// Whether a thread that has several elements of a row divides their indices by one reciprocal.
  bool has_short_indices() const {
    constexpr uint32_t kBits = 15;
    return is_resident() && context_.layout.length_bits <= kBits && context_.schedule.index_bits == 32;
  }
  bool is_vector(uint32_t access) const { return how(access).how == How::Vector || how(access).how == How::Shifted; }
  bool is_resident() const { return rows_.steps > 0 && !is_read_again_; }
  /// Whether an access is read once, and kept. Where rows follow one another, what they share is not.
  bool stays(uint32_t access) const {
    if (rows_.passing > 0) return how(access).ahead;
    return is_resident() && (phase_ == 0 || rows_.by_runs || arrays_.contains(access));
  }
  /// The index of a lane's element, if that of the first is `first`.
  ValueId of_lane(ValueId first, Level level) {
    return level <= Level::Thread || lanes_ == 1 ? first : plus(first, assembly_.read(lane_));
  }
  /// Runs of neighbours, one a thread, that together are all classes.
  uint32_t runs() const { return std::max(1u, rows_.classes / rows_.pieces / (threads_ * lanes_)); }

  // Where a thread is

  void find_row() override {
    if (rows_.batch > 0) return find_row_of_batch();
    if (rows_.passing > 0) return find_piece_of_rows();
    Body& indices = assembly_.kernel.indices;
    const uint32_t threads = part_ == RowPart::Rest ? std::max(threads_, 128u) : context_.schedule.threads;
    const uint32_t rows = std::max(1u, threads / threads_);
    launch(threads, rows);
    ValueId block = block_number();
    if (part_ == RowPart::Pieces) {
      piece_ = let(indices, assembly_.index(IndexOp::Rem, block, whole(rows_.pieces)), "piece");
      block = assembly_.index(IndexOp::Div, block, whole(rows_.pieces));
    }
    const ValueId self = thread_number();
    thread_ = self;
    if (rows_.cluster > 1) {
      const auto part = [&](IndexOp op) { return assembly_.index(op, block, whole(rows_.cluster)); };
      thread_ = let(indices, plus(times(part(IndexOp::Rem), threads), self), "thread");
      block = part(IndexOp::Div);
    }
    row_number_ = block;
    if (rows > 1) {
      const auto part = [&](IndexOp op) { return assembly_.index(op, self, whole(threads_)); };
      thread_ = threads_ == 1 ? whole(0) : let(indices, part(IndexOp::Rem), "thread");
      row_number_ = plus(times(block, rows), threads_ > 1 ? part(IndexOp::Div) : self);
    }
    row_number_ = let(indices, row_number_, "row");
    if (rows > 1) indices.push_back({Return{row_number_, places_.elements(0, kept_)}});
    places_.set_row(row_number_);
  }

  /// The first of a thread's rows, of which each piece has one in turn.
  void find_piece_of_rows() {
    Body& indices = assembly_.kernel.indices;
    const uint32_t threads = context_.schedule.threads, rows = threads / threads_;
    launch(threads, rows);
    LaunchInfo& launch = assembly_.kernel.launch;
    launch.grid = {{.axes = 0, .times = rows_.passing / rows}};
    launch.states = reductions_.states();
    launch.state_count = {{kept_, context_.layout.reduced_axes, 1, rows_.passing}};
    const ValueId self = thread_number();
    const auto part = [&](IndexOp op) { return assembly_.index(op, self, whole(threads_)); };
    thread_ = rows == 1 ? self : let(indices, part(IndexOp::Rem), "thread");
    const ValueId block = block_number();
    piece_ = let(indices, rows == 1 ? block : plus(times(block, rows), part(IndexOp::Div)), "piece");
    row_of_piece_ = assembly_.variable("row", {context_.index_dtype()}, Level::Row);
    row_number_ = assembly_.read(row_of_piece_);
    places_.set_row(row_number_);
    first_places_.set_row(piece_);
    next_number_ = named(plus(row_number_, whole(rows_.passing)), assembly_.claim("next"));
    next_places_.set_row(next_number_);
  }

  Body of_all_rows(Body of_row) override {
    if (rows_.passing == 0) return of_row;
    Body all = std::move(columns_declared_);
    append(all, std::move(of_first_.declared));
    if (rows_.prefetches) all.push_back(load_row(piece_, std::move(first_row_), of_first_));
    if (threads_ > 32) of_row.push_back({Barrier{Barrier::Kind::Block}});  // what threads told one another is read
    Loop loop{Loop::Kind::Strided, row_of_piece_, piece_, places_.elements(0, kept_), std::move(of_row)};
    loop.step = rows_.passing, loop.unroll = 1;
    all.push_back({std::move(loop)});
    all.push_back(loop_over(leave_columns()));
    return all;
  }

  /// What a piece's rows come to, of the columns of one step.
  Body leave_columns() {
    const ValueId at = plus(assembly_.index(IndexOp::Mul, piece_, places_.length()), element_index_);
    Body stores;
    for (const RowReduction& reduction : reductions_.passed()) {
      const ValueId found = assembly_.item(assembly_.read(reduction.classes[0]), assembly_.read(step_number_));
      stores.push_back(
          lanes_ == 1
              ? Statement{Assign{reductions_.state(reduction.first_state, at, true), found}}
              : Statement{StoreVector{assembly_.read(reductions_.states_pointer(reduction.first_state, true)), at, found}});
    }
    return stores;
  }

  /// A row of a warp's batch, or else the domain's last one.
  void find_row_of_batch() {
    constexpr uint32_t kWarp = 32;
    Body& indices = assembly_.kernel.indices;
    const uint32_t threads = context_.schedule.threads, rows = threads / threads_;
    launch(threads, rows);
    const ValueId self = thread_number(), all = places_.elements(0, kept_), length = places_.length();
    const auto of_self = [&](IndexOp op, uint32_t number) { return assembly_.index(op, self, whole(number)); };
    const auto least = [&](ValueId a, ValueId b) { return assembly_.index(IndexOp::Min, a, b); };
    const ValueId warp = of_self(IndexOp::Div, kWarp);
    const ValueId first = let(indices, plus(times(block_number(), rows), times(warp, rows_.batch)), "first");
    indices.push_back({Return{first, all}});
    thread_ = threads_ == 1 ? whole(0) : let(indices, of_self(IndexOp::Rem, threads_), "thread");
    const ValueId in_warp = of_self(IndexOp::Rem, kWarp);
    ValueId own = threads_ == 1 ? in_warp : assembly_.index(IndexOp::Div, in_warp, whole(threads_));
    own = let(indices, own, "own");
    const ValueId last = let(indices, assembly_.index(IndexOp::Sub, all, whole(1)), "last");
    row_number_ = let(indices, least(plus(first, own), last), "row");
    places_.set_row(row_number_);
    const ValueId behind = plus(least(plus(first, whole(rows_.batch - 1)), last), whole(1));
    const ValueId count = assembly_.index(IndexOp::Mul, assembly_.index(IndexOp::Sub, behind, first), length);
    batch_.set_place(warp, assembly_.index(IndexOp::Mul, first, length), let(indices, count, "count"),
                     assembly_.index(IndexOp::Mul, own, length));
    is_row_ = assembly_.index(IndexOp::Equal, row_number_, plus(first, own));
  }

  ValueId stores_row() override {
    const ValueId is_first = CudaReduce::stores_row();
    if (!is_row_) return is_first;
    return is_first ? assembly_.index(IndexOp::And, is_first, is_row_) : is_row_;
  }

  Body ahead() override { return batch_.take(); }
  Body behind() override { return batch_.leave(); }

  /// The first of a thread's elements in one step of its loop.
  void find_element() override {
    element_name_ = assembly_.claim("i");
    ValueId first = times(thread_, lanes_);
    if (part_ == RowPart::Pieces) first = plus(times(piece_, threads_ * lanes_ * runs()), first);
    first_ = first;
    const ValueId step = times(assembly_.read(step_number_), rows_.by_runs ? rows_.classes : threads_ * lanes_);
    if (rows_.by_runs) first_ = plus(first, times(assembly_.read(run_number_), threads_ * lanes_));
    if (part_ == RowPart::Rest) {  // it has none
      element_index_ = whole(0);
      return;
    }
    if (is_resident()) {
      element_index_ = named(plus(first_, step), element_name_);
      return;
    }
    from_ = assembly_.variable_called(runs() == 1 ? element_name_ : assembly_.claim("from"), Level::Thread,
                                      {context_.index_dtype()});
    element_index_ = runs() == 1 ? assembly_.read(from_) : named(plus(assembly_.read(from_), step), element_name_);
    if (!loads_groups_ahead()) return;
    const ValueId last =
        let(assembly_.kernel.indices, assembly_.index(IndexOp::Sub, places_.length(), whole(1)), "last");
    loaded_index_ =
        named(assembly_.index(IndexOp::Min, plus(assembly_.read(from_), step), last), assembly_.claim("at"));
  }

  /// Whether the groups of all runs are loaded before anything is computed of them: behind the last element stands the
  /// last again.
  bool loads_groups_ahead() const {
    return !is_resident() && runs() > 1 && runs() <= kRunsAhead &&
           std::ranges::count(context_.schedule.accesses, How::Grouped, &AccessSchedule::how) > 0;
  }

  // Elements

  /// Of an array that has a vector, or an element, for each step: the one of this step and lane.
  ValueId element_of(SymbolId array) {
    const ValueId mine = assembly_.item(assembly_.read(array), assembly_.read(step_number_));
    return lanes_ > 1 ? assembly_.lane(mine, assembly_.read(lane_)) : mine;
  }

  /// Makes an array of a variable: one for each step.
  SymbolId array_of_steps(SymbolId variable) {
    Symbol& symbol = assembly_[variable];
    symbol.extents = {rows_.steps};
    if (rows_.shared == 0) return variable;
    symbol.in_registers = rows_.steps - rows_.shared;
    const auto bytes = static_cast<uint32_t>(ir::size_of(symbol.type.dtype)) * lanes_ * rows_.threads;
    assembly_.kernel.launch.shared = {
        {{kept_, context_.layout.reduced_axes, threads_ * lanes_}}, symbol.in_registers, rows_.steps, bytes};
    return variable;
  }

  /// What fills arrays: of each step, and of each lane of one.
  struct Loads {
    Body declared, step, lane;
  };

  /// What is read once, before the first phase, and kept.
  ValueId resident(uint32_t access) {
    SymbolId& array = arrays_[access];
    if (!array) {
      array = array_of_steps(vector_of(access));
      loads_.declared.push_back({Declare{array}});
      if (rows_.prefetches)
        loads_.step.push_back({Assign{of_step(array), of_step(prefetched(access, array))}});
      else
        load(access, array, loads_);
    }
    return element_of(array);
  }

  ValueId of_step(SymbolId array) { return assembly_.item(assembly_.read(array), assembly_.read(step_number_)); }

  void load(uint32_t access, SymbolId array, Loads& loads) {
    const ValueId place = of_step(array);
    if (lanes_ == 1)
      loads.step.push_back({Assign{place, memory_.target(access, Level::Thread)}});
    else if (is_vector(access))
      loads.step.push_back({Assign{place, vector_at(access)}});
    else
      loads.lane.push_back(
          {Assign{assembly_.lane(place, assembly_.read(lane_)), memory_.target(access, Level::Element)}});
  }

  /// An array like this one, that has the next row by the time that its turn comes.
  SymbolId prefetched(uint32_t access, SymbolId array) {
    const SymbolId next = assembly_.variable("next_" + assembly_[array].name, assembly_[array].type, Level::Thread);
    assembly_[next].extents = assembly_[array].extents;
    assembly_[next].of = assembly_[array].of;
    of_first_.declared.push_back({Declare{next}});
    loading_ = &first_places_;
    load(access, next, of_first_);
    loading_ = &next_places_;
    load(access, next, of_next_);
    loading_ = nullptr;
    return next;
  }

  /// A row's elements, if there is that row; `places` stands ahead of them.
  Statement load_row(ValueId row, Body places, Loads& loads) {
    places.push_back(loop_of(loads));
    return {If{assembly_.index(IndexOp::Less, row, places_.elements(0, kept_)), std::move(places)}};
  }

  Statement loop_of(Loads& loads) {
    if (!loads.lane.empty()) loads.step.push_back({over_lanes(std::move(loads.lane))});
    return loop_over(std::move(loads.step));
  }

  /// What a later phase is the first to need.
  void read_ahead() {
    for (uint32_t access = 0; access < context_.outline.accesses.size(); ++access)
      if (how(access).ahead) resident(access);
  }

  /// An element of a vector of neighbours: of all steps, or runs, before anything is computed, or where a masked one is
  /// needed.
  ValueId of_chunk(uint32_t access, const Chunk& chunk) {
    const AccessLayout& layout = context_.layout.accesses[access];
    SymbolId& vector = chunks_[{layout.leader, chunk.first}];
    if (!vector) vector = load_chunk(layout.leader, chunk);
    ValueId mine = assembly_.read(vector);
    if (!assembly_[vector].extents.empty()) mine = assembly_.item(mine, assembly_.read(step_number_));
    return assembly_.lane(mine, whole(layout.neighbour - chunk.first));
  }

  /// What neighbours are set to, by accesses: as vectors, where all of a group are.
  void store_groups(const std::map<uint32_t, ValueId>& values) {
    for (const auto& [access, value] : values) {
      const uint32_t leader = context_.layout.accesses[access].leader;
      const std::optional<std::map<uint32_t, ValueId>> group = whole_group(leader, values);
      if (!group)
        element().push_back({Assign{memory_.target(access, Level::Element), value}});
      else if (access == leader)
        for (const Chunk& chunk : how(leader).chunks) store_chunk(leader, chunk, *group);
    }
  }

  /// By distances from the leader; none where some of the group are another phase's.
  std::optional<std::map<uint32_t, ValueId>> whole_group(uint32_t leader, const std::map<uint32_t, ValueId>& values) {
    std::map<uint32_t, ValueId> group;
    for (uint32_t a = 0; a < context_.layout.accesses.size(); ++a) {
      if (context_.layout.accesses[a].leader != leader) continue;
      const auto value = values.find(a);
      if (value == values.end()) return std::nullopt;
      group[context_.layout.accesses[a].neighbour] = value->second;
    }
    return group;
  }

  void store_chunk(uint32_t leader, const Chunk& chunk, const std::map<uint32_t, ValueId>& group) {
    const Type type{memory_.type_in_memory(leader), chunk.width};
    const ValueId index = memory_.index(leader, Level::Element, chunk.first);
    std::vector<ValueId> members;
    for (uint32_t k = 0; k < chunk.width; ++k) members.push_back(group.at(chunk.first + k));
    const auto inline_value = [&](Value::Kind kind, std::vector<ValueId> operands) {
      return assembly_.add(
          {.kind = kind, .type = type, .operands = std::move(operands), .naming = Value::Naming::Inline});
    };
    if (chunk.width == 1)
      element().push_back({Assign{inline_value(Value::Kind::Load, {base(leader), index}), members[0]}});
    else
      element().push_back({StoreVector{base(leader), index, inline_value(Value::Kind::Pack, members)}});
  }

  /// Whether a group's vectors are there in later phases.
  bool is_kept(SymbolId vector) const { return is_resident() && !assembly_[vector].extents.empty(); }

  SymbolId load_chunk(uint32_t leader, const Chunk& chunk) {
    const Type type{memory_.type_in_memory(leader), chunk.width};
    const bool is_masked = how(leader).masked;
    const bool is_ahead = !is_masked && (is_resident() ? phase_ == 0 : loads_groups_ahead());
    const Level level = is_masked ? Level::Element : Level::Thread;
    const SymbolId vector = assembly_.variable(memory_.chunk_name(leader, chunk), type, level);
    const ValueId index = element_index_;
    if (is_ahead && !is_resident()) element_index_ = loaded_index_;
    const ValueId value = assembly_.add({.kind = Value::Kind::Vector,
                                         .type = type,
                                         .operands = {base(leader), memory_.index(leader, level, chunk.first)},
                                         .naming = Value::Naming::Inline});
    element_index_ = index;
    if (is_ahead) {
      assembly_[vector].extents = {is_resident() ? rows_.steps : runs()};
      loads_.declared.push_back({Declare{vector}});
      loads_.step.push_back({Assign{assembly_.item(assembly_.read(vector), assembly_.read(step_number_)), value}});
    } else {
      assembly_.block(level).push_back({Declare{vector, value}});
    }
    return vector;
  }

  /// What is done if there is an element: the first steps need no guard.
  Body guarded(ValueId is_element, Body body) {
    const uint32_t full = is_read_again_ ? 0 : rows_.full;
    if (full > 0 && full == rows_.steps) return body;
    if (full > 0) {
      const ValueId is_full = assembly_.index(IndexOp::Less, assembly_.read(step_number_), whole(full));
      is_element = assembly_.index(IndexOp::Or, is_full, is_element);
    }
    return {{If{is_element, std::move(body)}}};
  }

  /// Whether a thread goes through a run's elements before the next one's, so that it need not hold the classes of all
  /// runs.
  bool goes_by_runs(const RowWork& work) const {
    const auto has_order = [](const RowReduction* reduction) { return reduction->has_order(); };
    if (lanes_ == 1 || runs() == 1) return false;
    return rows_.by_runs || (is_resident() && std::ranges::any_of(work.reductions, has_order));
  }

  /// The loop over a thread's elements.
  Statement loop_over(Body step, ValueId run = {}) {
    const ValueId length = places_.length();
    if (is_read_again_) {
      Loop loop{Loop::Kind::Strided, from_, first_, length, std::move(step)};
      loop.step = rows_.classes, loop.unroll = 1;
      return {std::move(loop)};
    }
    const ValueId is_element = assembly_.index(IndexOp::Less, element_index_, length);
    if (is_resident()) {
      Body steps = {{Let{element_index_}}};
      append(steps, guarded(is_element, std::move(step)));
      const bool leaps = run && !rows_.by_runs;  // a run's steps are as many apart as there are runs
      Loop loop{Loop::Kind::Unrolled, step_number_, leaps ? run : whole(0), whole(rows_.steps), std::move(steps)};
      if (leaps) loop.step = runs();
      return {std::move(loop)};
    }
    const uint32_t stride = rows_.classes;
    Loop loop{Loop::Kind::Strided, from_, first_, length, std::move(step)};
    loop.step = stride;
    if (runs() == 1) loop.unroll = 4;
    if (runs() > 1) {
      const auto kind = runs() <= 8 ? Loop::Kind::Unrolled : Loop::Kind::Serial;
      Body guarded = {{Let{element_index_}}, {If{is_element, std::move(loop.body)}}};
      loop.body = loads_ahead();
      loop.body.push_back({Loop{kind, step_number_, whole(0), whole(runs()), std::move(guarded)}});
    }
    return {std::move(loop)};
  }

  Body loads_ahead() {
    Body ahead = std::move(loads_.declared), step = std::move(loads_.step);
    loads_ = {};
    if (step.empty()) return ahead;
    Body body = {{Let{element_index_}}, {Let{loaded_index_}}};
    append(body, std::move(step));
    ahead.push_back({Loop{Loop::Kind::Unrolled, step_number_, whole(0), whole(runs()), std::move(body)}});
    return ahead;
  }

  /// How many classes a thread has of its lanes: by runs, where registers are scarce, one if no order changes it.
  uint32_t lanes_of(const RowReduction& reduction) const {
    return rows_.by_runs && !reduction.has_order() ? 1 : lanes_;
  }

  /// Of the element in a thread's arrays. What no order changes has no more of them than lanes.
  ValueId class_number(const RowReduction& reduction) {
    ValueId run;
    if (runs() > 1 && reduction.has_order() && !reduction.runs) {
      run = assembly_.read(step_number_);
      if (is_resident() && runs() < rows_.steps) run = assembly_.index(IndexOp::Rem, run, whole(runs()));
      run = times(run, lanes_);
    }
    const ValueId lane = lanes_of(reduction) > 1 ? assembly_.read(lane_) : ValueId{};
    if (run && lane) return plus(run, lane);
    return run ? run : lane ? lane : whole(0);
  }

  /// Takes what was found of an element, `value` on, into the classes of its column.
  void fold_into_columns(const RowWork& work, std::vector<ValueId>::const_iterator& value) {
    for (RowReduction* reduction : work.passed) {
      reductions_.declare_columns(columns_declared_, *reduction, rows_.steps, lanes_);
      std::vector<ValueId> taken = {*value++};
      if (reductions_.takes_factors(*reduction)) taken.push_back(*value++);
      const ClassPlace place{assembly_.read(step_number_), lanes_ > 1 ? assembly_.read(lane_) : ValueId{}};
      reductions_.fold(element(), *reduction, place, taken);
    }
  }

  ValueId position_in_row() { return of_lane(element_index_, Level::Element); }

  // Phases

  /// What the job shares with other phases: known from an earlier one, or else added to its roots, to be kept. Gives
  /// the nodes that are added.
  std::vector<ir::NodeId> keep(Job& job) {
    const std::vector<ir::NodeId> nodes = nodes_of(context_.graph, roots_of(job));
    std::vector<ir::NodeId> added;
    for (const ir::NodeId node : rows_.kept) {
      if (computed_.contains(node))
        job.known[node] = element_of(computed_.at(node));
      else if (!in_other_arms_ && std::ranges::binary_search(nodes, node))
        added.push_back(node);  // what not all rows go through leaves nothing behind
    }
    // In shared memory there is room for what was read, and for nothing beside it.
    if (rows_.shared > 0 && (added.size() != 1 || !place_of_input(added[0]))) added.clear();
    for (const ir::NodeId node : added) job.roots.push_back({node, context_.graph[node].dtype});
    return added;
  }

  /// Where the values of a node are kept: in the place of what was read, if no other node of this phase is kept, that
  /// may read it still; or else in an array of their own.
  SymbolId place_of_values(ir::NodeId node, bool is_alone, Body& declared) {
    if (const SymbolId array = is_alone ? place_of_input(node) : SymbolId{}) return array;
    const Type type{context_.graph[node].dtype, lanes_};
    const std::string name = memory_.author_name(node);
    const SymbolId array =
        array_of_steps(assembly_.variable((name.empty() ? "value" : name) + "_of", type, Level::Thread));
    declared.push_back({Declare{array}});
    return array;
  }

  /// What was read of the same type, and is not needed once a node's values are kept; none where there is nothing.
  SymbolId place_of_input(ir::NodeId node) {
    const Type type{context_.graph[node].dtype, lanes_};
    for (const auto& [access, array] : arrays_)
      if (assembly_[array].type == type && !is_taken(array) && !is_read_later(access, node)) return array;
    return {};
  }

  bool is_taken(SymbolId array) const {
    return std::ranges::any_of(computed_, [&](const auto& computed) { return computed.second == array; });
  }

  /// Whether a phase behind this one needs an access for more than what is kept by then, the values of `kept` among it.
  bool is_read_later(uint32_t access, ir::NodeId kept) {
    std::vector<ir::NodeId> open;
    for (uint32_t phase = phase_ + 1; phase <= reductions_.phases(); ++phase)
      std::ranges::copy(roots_of(reductions_.of_phase(phase).job), std::back_inserter(open));
    if (phase_ < rows_.early) std::ranges::copy(reductions_.other_arms(), std::back_inserter(open));
    std::set<ir::NodeId> seen;
    while (!open.empty()) {
      const ir::NodeId node = open.back();
      open.pop_back();
      if (node == kept || computed_.contains(node) || !seen.insert(node).second) continue;
      for (const ir::NodeId arg : context_.graph[node].args)
        if (context_.graph[arg].op != ir::Op::Reduce) open.push_back(arg);
    }
    std::vector<ir::NodeId> accesses = nodes_of(context_.graph, context_.outline);
    std::erase_if(accesses, [&](ir::NodeId id) { return !is_access(context_.graph, context_.outline, id); });
    return seen.contains(accesses.at(access));
  }

  void go_through(uint32_t phase) override {
    phase_ = phase;
    if (phase > 0 && phase == rows_.early) return go_through_other_arms();
    go_through(reductions_.of_phase(phase), body_);
  }

  /// What the row's elements share stands in `ahead`.
  void go_through(RowWork work, Body& ahead) {
    if (work.job.roots.empty()) return;
    if (context_.layout.has_empty_rows) return find_nothing(work);
    if (rows_.by_runs) arrays_.clear();
    vectors_.clear();
    quotients_.clear();
    std::erase_if(chunks_, [&](const auto& chunk) { return !is_kept(chunk.second); });
    if (phase_ == 0) read_ahead();
    const std::vector<ir::NodeId> added = keep(work.job);
    const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, work.job);
    const ValueId run = goes_by_runs(work) ? assembly_.read(run_number_) : ValueId{};
    Around around;
    Body after;
    auto value = values.begin();
    append(element(), fold(work, value, run, around));
    fold_into_columns(work, value);
    std::map<uint32_t, ValueId> groups;
    for (const uint32_t access : work.stores) {
      if (how(access).how == How::Grouped)
        groups[access] = *value++;
      else
        store(access, *value++, after);
    }
    store_groups(groups);
    for (const ir::NodeId node : added) {
      computed_[node] = place_of_values(node, added.size() == 1, around.ahead);
      element().push_back({Assign{element_of(computed_.at(node)), *value++}});
    }
    append(ahead, std::move(row_));
    row_.clear();
    Body loads = load_resident();
    if (rows_.by_runs) {
      append(loads, std::move(around.of_run));
      around.of_run = std::move(loads);
    } else {
      append(body_, std::move(loads));
    }
    append(body_, std::move(around.ahead));
    around.of_run.push_back(loop_over(take_step(std::move(after)), run));
    append(around.of_run, std::move(around.behind_run));
    if (run)
      body_.push_back({loop_over_runs(std::move(around.of_run))});
    else
      append(body_, std::move(around.of_run));
    combine(work);
  }

  Loop loop_over_runs(Body body) {
    Loop loop{Loop::Kind::Unrolled, run_number_, whole(0), whole(runs()), std::move(body)};
    if (rows_.by_runs) loop.kind = Loop::Kind::Strided, loop.unroll = 1;
    return loop;
  }

  /// Sums that were taken early are right where the row takes that arm; else they are taken once more, of the other.
  void go_through_other_arms() {
    if (context_.layout.has_empty_rows) return;
    std::vector<RowReduction> others;
    RowWork work = reductions_.of_other_arms(others);
    std::vector<ValueId> asks = compute(context_, assembly_, memory_, *this, reductions_.early_conditions());
    settle();
    for (ValueId& ask : asks) ask = logical(ir::Op::LogicalNot, {ask});
    ValueId any = asks[0];
    for (size_t r = 1; r < asks.size(); ++r) any = logical(ir::Op::LogicalOr, {any, asks[r]});
    const bool has_several_rows = context_.schedule.threads > threads_;
    if (has_several_rows)
      any = assembly_.add({.kind = Value::Kind::AnyRow,
                           .type = {ir::DType::Bool},
                           .number = ir::HostValue::of(static_cast<int64_t>(threads_)),
                           .operands = {any},
                           .naming = Value::Naming::Inline});
    Body around = std::exchange(body_, {});
    in_other_arms_ = true;
    if (rows_.by_runs) read_again();
    go_through(std::move(work), around);
    in_other_arms_ = false;
    const std::vector<RowReduction*> early = reductions_.early();
    const bool is_known = !has_several_rows && asks.size() == 1;  // to be asked for
    for (size_t r = 0; r < early.size(); ++r) {
      const Assign taken{assembly_.read(early[r]->results[0]), assembly_.read(others[r].results[0])};
      body_.push_back(is_known ? Statement{taken} : Statement{If{asks[r], {{taken}}}});
    }
    around.push_back({If{any, std::exchange(body_, {})}});
    body_ = std::move(around);
  }

  /// A run's elements one vector after another, in few instructions: they stand beside those that most rows take.
  void read_again() {
    is_read_again_ = true;
    from_ = assembly_.variable_called(element_name_, Level::Thread, {context_.index_dtype()});
    element_index_ = assembly_.read(from_);
  }

  ValueId logical(ir::Op op, std::vector<ValueId> operands) {
    return assembly_.add({.kind = Value::Kind::Primitive,
                          .type = {ir::DType::Bool},
                          .op = op,
                          .work = ir::DType::Bool,
                          .operands = std::move(operands),
                          .naming = Value::Naming::Inline});
  }

  /// What stands around a phase's steps: ahead of them all, and ahead of those of each run and behind them.
  struct Around {
    Body ahead, of_run, behind_run;
  };

  /// Takes what was found of an element, `value` on, into its classes.
  Body fold(const RowWork& work, std::vector<ValueId>::const_iterator& value, ValueId run, Around& around) {
    Body folds;
    for (RowReduction* reduction : work.reductions) {
      const bool joins = run && reduction->has_order();
      const uint32_t held = reduction->has_order() && !joins ? runs() * lanes_ : lanes_of(*reduction);
      const SymbolId earlier_runs = reduction->runs;  // each thread had its own of them, and needs them no more
      reductions_.declare(joins ? around.of_run : around.ahead, *reduction, held, Loop::Kind::Unrolled);
      if (joins) {
        if (earlier_runs)
          reduction->runs = earlier_runs;
        else if (rows_.by_runs)
          reductions_.declare_shared_runs(around.ahead, *reduction, runs(), threads_);
        else
          reductions_.declare_runs(around.ahead, *reduction, runs());
        reductions_.join(around.behind_run, *reduction, run);
      }
      std::vector<ValueId> taken = {*value++};
      if (reductions_.takes_factors(*reduction)) taken.push_back(*value++);
      if (reduction->types.size() > 1) taken.push_back(wide(position_in_row()));
      reductions_.fold(folds, *reduction, {class_number(*reduction)}, taken);
    }
    if (!context_.schedule.ragged) return folds;
    // The last vector of a ragged row has lanes past its end.
    const ValueId is_element = assembly_.index(IndexOp::Less, position_in_row(), places_.length());
    return guarded(is_element, std::move(folds));
  }

  /// The loop that reads what is kept: before the first phase, or before each run is gone through.
  Body load_resident() {
    if (!is_resident() || loads_.declared.empty()) return {};
    Body loads = std::move(loads_.declared);
    loads.push_back(loop_of(loads_));
    loads_ = {};
    if (!rows_.prefetches) return loads;
    loads.push_back({Let{next_number_}});
    loads.push_back(load_row(next_number_, std::move(next_row_), of_next_));
    return loads;
  }

  void combine(const RowWork& work) {
    for (RowReduction* reduction : work.reductions)
      reductions_.combine(body_, *reduction, lanes_of(*reduction), threads_ / rows_.cluster, 1, rows_.cluster);
  }

  void find_nothing(const RowWork& work) {
    for (RowReduction* reduction : work.reductions) {
      reductions_.declare(body_, *reduction, lanes_, Loop::Kind::Unrolled);
    }
    combine(work);
  }

  // Split rows

  void leave_states() override {
    const ValueId at = plus(times(row_number_, rows_.pieces), piece_);
    for (const RowReduction& reduction : reductions_.all())
      for (uint32_t v = 0; v < reduction.results.size(); ++v)
        row_stores_.push_back(
            {Assign{reductions_.state(reduction.first_state + v, at, true), assembly_.read(reduction.results[v])}});
  }

  void combine_pieces() override {
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
    for (RowReduction& reduction : reductions_.all()) reductions_.combine(body_, reduction, 1, threads_);
  }

  // What there is one of a row

  void store_rows() override {
    const RowWork work = reductions_.of_rows();
    assembly_.place({Level::Thread, Level::Fetch, Level::Element}, row_);
    const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, work.job);
    settle();
    for (size_t s = 0; s < values.size(); ++s)
      row_stores_.push_back({Assign{memory_.target(work.stores[s], Level::Row), values[s]}});
    for (const auto& [access, value] : reductions_.kept_values())
      row_stores_.push_back({Assign{memory_.target(access, Level::Row), value}});
    settle();
  }

  std::string element_name_;
  SymbolId from_, run_number_;
  ValueId first_, loaded_index_;
  Batch batch_;
  SymbolId row_of_piece_;
  Body columns_declared_;  ///< what is found of columns in passing
  Body first_row_, next_row_;
  RowPlaces first_places_, next_places_;  ///< of a piece's first row, and of the one behind the row that is computed
  RowPlaces* loading_ = nullptr;          ///< the one of these that is loaded
  ValueId next_number_;
  ValueId is_row_;  ///< whether a batch's row is one of the domain
  uint32_t phase_ = 0;
  bool in_other_arms_ = false;
  bool is_read_again_ = false;           ///< what is gone through by runs, once more; no phase follows
  std::map<uint32_t, SymbolId> arrays_;  ///< of what is read once
  std::map<std::pair<uint32_t, uint32_t>, SymbolId> chunks_;   ///< of groups, by the leader and the first element
  std::map<std::pair<ValueId, ValueId>, SymbolId> quotients_;  ///< of a step
  std::map<ir::NodeId, SymbolId> computed_;                    ///< of what is computed once
  Loads loads_, of_first_, of_next_;
};

}  // namespace

std::vector<Kernel> build_cuda_rows(const KernelContext& context) {
  if (!context.schedule.rows.splits) return {Rows(context, RowPart::Whole).build()};
  return {Rows(context, RowPart::Pieces).build(), Rows(context, RowPart::Rest).build()};
}

}  // namespace ingot::codegen
