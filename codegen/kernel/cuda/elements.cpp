#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "codegen/kernel/computation.h"
#include "codegen/kernel/memory.h"
#include "codegen/kernel/targets.h"

// A thread takes some elements, its lanes. It finds where they are, loads what it can at once, then what each lane
// loads for itself, computes, and stores in the same way; where it takes several steps through a row, in each of them.

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

class Cuda : public Space, public Access {
 public:
  explicit Cuda(const KernelContext& context)
      : context_(context), schedule_(context.schedule), assembly_(context), memory_(context, assembly_) {
    memory_.set_space(*this);
    lane_ = assembly_.variable("k", {}, Level::Element);
    steps_ = schedule_.walks.empty() ? 1 : count_of(schedule_.walks.back(), Scope::Serial);
    assembly_.place({Level::Kernel, Level::Row}, steps_ > 1 ? row_values_ : thread_);
    assembly_.place({Level::Thread}, thread_);
    assembly_.place({Level::Fetch}, fetch_);
    assembly_.place({Level::Element}, has_lanes() ? element_ : thread_);
  }

  Kernel build() {
    find_thread();
    load_vectors();
    const std::vector<ValueId> results =
        compute(context_, assembly_, memory_, *this, job_of_parts(context_.graph, context_.outline));
    store(results);
    assemble();
    memory_.describe_pointers();
    return assembly_.finish(context_);
  }

  // Space

  ValueId linear(Level level) override { return level <= Level::Thread || !has_lanes() ? first_ : element(level); }
  bool counts_domain() const override { return true; }

  ValueId coordinate(uint32_t axis, Level level) override {
    if (context_.rank() <= 1) return linear(level);
    switch (schedule_.coordinates) {
      case Coordinates::Carry:
        return carried(axis, level);
      case Coordinates::Row:
        return in_row(axis, level);
      case Coordinates::Lane:
        if (has_lanes() && level > Level::Thread) return divided(axis, element(level), level);
        break;
      default:
        break;
    }
    const ValueId first = divided(axis, first_, Level::Thread);
    const bool is_inner = axis + 1 == context_.rank();
    if (!is_inner || level <= Level::Thread || !has_lanes()) return first;
    return assembly_.index(IndexOp::Add, first, lane_offset(level));
  }

  ValueId base(uint32_t access) override { return assembly_.read(memory_.pointer(access)); }
  uint32_t first_axis(uint32_t) const override { return 0; }
  uint32_t first_inner_axis() const override {
    const bool shares_row = schedule_.coordinates == Coordinates::Thread || schedule_.coordinates == Coordinates::Row;
    return shares_row && context_.rank() > 0 ? context_.rank() - 1 : 0;
  }
  Level level_of_names() const override {
    const bool each_lane = schedule_.coordinates == Coordinates::Lane || schedule_.coordinates == Coordinates::Carry;
    return each_lane && has_lanes() ? Level::Fetch : Level::Thread;
  }
  std::string suffix() override {
    if (has_lanes()) return "_" + assembly_[lane_].name;
    const uint32_t rank = context_.rank();
    return "_" + name_of(rank > 1 ? fmt::format("i{}", rank - 1) : "i");
  }

  // Access

  ValueId load(uint32_t access) override {
    switch (schedule_.accesses[access].how) {
      case How::Vector:
      case How::Shifted:
        return assembly_.lane(assembly_.read(vectors_.at(access)), lane_number(Level::Element));
      case How::Grouped:
        if (const Chunk* chunk = memory_.chunk_of(access)) return of_chunk(access, *chunk);
        return single(access);
      case How::Single:
        return single(access);
      default:
        break;
    }
    return memory_.load(access, Level::Thread);
  }

  std::vector<ValueId> wrap(uint32_t access, const std::vector<ValueId>& indices, ValueId guard) override {
    std::vector<ValueId> wrapped;
    const ValueId bad = context_.options.check_indices ? assembly_.read(memory_.status()) : ValueId{};
    for (uint32_t l = 0; l < indices.size(); ++l) wrapped.push_back(memory_.wrap(access, l, indices[l], bad, guard));
    if (schedule_.accesses[access].how == How::Vector) fetch_row(access, wrapped, guard);
    return wrapped;
  }

  ValueId gather(uint32_t access, const std::vector<ValueId>& wrapped) override {
    if (schedule_.accesses[access].how != How::Vector) return memory_.load(access, Level::Element, wrapped);
    return assembly_.lane(assembly_.read(vectors_.at(access)), lane_number(Level::Element));
  }

  /// Where it is an element's number, and lanes are neighbours, those of a thread differ in their last bits alone. Said
  /// so, NVRTC sees which of them share a block of random words: 8 lanes of dropout are 2 blocks, of `i + k` they
  /// are 8. Past the end it may be any number where nothing is gathered there or divided.
  std::optional<ValueId> position(uint32_t access) override {
    const KernelOutline& outline = context_.outline;
    const bool may_be_any =
        outline.divisions.empty() && std::ranges::count(outline.accesses, Kind::Gather, &AccessUse::kind) == 0;
    const bool are_neighbours = has_lanes() && lane_step_ == 1;
    if (!may_be_any || !are_neighbours || !context_.layout.accesses[access].linear)
      return memory_.position(access, Level::Element);
    return assembly_.index(IndexOp::Join, first_, lane_number(Level::Element));
  }

  ValueId divisor(ValueId value, uint32_t) override { return value; }

 private:
  /// A thread's lanes of a row that is gathered, if the guard holds.
  void fetch_row(uint32_t access, const std::vector<ValueId>& wrapped, ValueId guard) {
    if (schedule_.accesses[access].masked && !guard) throw_internal("a row is fetched that a `where` may exclude");
    const SymbolId row = vector_of(access);
    const ValueId vector = vector_at(access, Value::Kind::Vector, wrapped);
    thread_.push_back({Declare{row, guard ? ValueId{} : vector}});
    if (guard) thread_.push_back({If{guard, {{Assign{assembly_.read(row), vector}}}, {}}});
  }

  bool has_lanes() const { return schedule_.lanes > 1; }

  static uint32_t count_of(const Walk& walk, Scope scope) {
    const auto step = std::ranges::find(walk.steps, scope, &Step::scope);
    return step == walk.steps.end() ? 1 : step->count;
  }

  // Where a thread is

  void find_thread() {
    if (schedule_.walks.empty()) {
      first_ = assembly_.whole(0);
      return;
    }
    if (schedule_.coordinates == Coordinates::Row) return find_row();
    const Walk& walk = schedule_.walks[0];
    Body& indices = assembly_.kernel.indices;
    first_ = assembly_.let(indices, first_of(walk), name_of("i"));
    numel_ = assembly_.read(memory_.numel());
    indices.push_back({Return{first_, numel_}});
    assembly_.kernel.launch.grid = {{walk.first, walk.axes, schedule_.threads * schedule_.lanes}};
    if (schedule_.coordinates == Coordinates::Carry) start_carrying();
  }

  /// Blocks have one row each, and threads vectors as they lie in memory: the first one of a row may begin before it.
  void find_row() {
    const uint32_t inner = context_.rank() - 1, lanes = schedule_.lanes, taken = steps_ * schedule_.threads * lanes;
    const uint32_t sure = taken - (lanes - 1);  // that a block takes of a row, wherever that begins
    assembly_.kernel.launch.grid = {{0, inner, 1}, {inner, 1, sure}};
    const auto whole = [&](int64_t number) { return assembly_.whole(number); };
    const auto of = [&](IndexOp op, ValueId a, ValueId b) { return assembly_.index(op, a, b); };
    const auto named = [&](ValueId value, const std::string& name) {
      const ValueId found = assembly_.let(assembly_.kernel.indices, value, name);
      assembly_[found].type = {context_.index_dtype()};
      return found;
    };
    const ValueId length = assembly_.read(memory_.extent(inner));
    const ValueId blocks = assembly_.let(assembly_.kernel.indices,
                                         of(IndexOp::Div, of(IndexOp::Add, length, whole(sure - 1)), whole(sure)),
                                         assembly_.claim("blocks"));
    row_ = named(of(IndexOp::Div, block_number(), blocks), inner == 1 ? name_of("i0") : assembly_.claim("row"));
    begin_ = named(of(IndexOp::Mul, row_, length), assembly_.claim("begin"));
    numel_ = named(of(IndexOp::Add, begin_, length), assembly_.claim("end"));
    const ValueId number = of(IndexOp::Rem, block_number(), blocks);
    const ValueId aligned = of(IndexOp::Mul, of(IndexOp::Div, begin_, whole(lanes)), whole(lanes));
    if (steps_ > 1) {
      first_of_block_ =
          named(of(IndexOp::Add, aligned, of(IndexOp::Mul, number, whole(taken))), assembly_.claim("first"));
      step_ = assembly_.variable_called(name_of("i"), Level::Thread, {context_.index_dtype()});
      first_ = assembly_.read(step_);
      return;
    }
    const ValueId before = of(IndexOp::Mul, number, whole(schedule_.threads));
    const ValueId vector = of(IndexOp::Mul, whole(lanes), of(IndexOp::Add, before, thread_number()));
    first_ = named(of(IndexOp::Add, aligned, vector), name_of("i"));
    assembly_.kernel.indices.push_back({Return{first_, numel_}});
  }

  /// The steps that a thread takes through its block's part of a row.
  Statement steps(Body body) {
    const uint32_t step = schedule_.threads * schedule_.lanes;
    const ValueId own = assembly_.index(IndexOp::Mul, assembly_.whole(schedule_.lanes), thread_number());
    const ValueId behind = assembly_.index(IndexOp::Add, first_of_block_, assembly_.whole(steps_ * step));
    Loop loop{Loop::Kind::Strided, step_, assembly_.index(IndexOp::Add, first_of_block_, own),
              assembly_.index(IndexOp::Min, behind, numel_), std::move(body)};
    loop.step = step, loop.unroll = 1;
    return {std::move(loop)};
  }

  /// Where a thread is, and in which step.
  Body& of_step() { return steps_ > 1 ? loads_ : assembly_.kernel.indices; }

  /// A coordinate where a block has a row; of an element outside of it, as if the row went on.
  ValueId in_row(uint32_t axis, Level level) {
    const uint32_t inner = context_.rank() - 1;
    if (inner == 1 && axis == 0) return row_;
    ValueId& known = coordinates_[{axis, Level::Thread}];
    if (!known) {
      const ValueId value =
          axis < inner ? memory_.quotient(row_, 0, inner, axis) : assembly_.index(IndexOp::Sub, first_, begin_);
      known = assembly_.let(coordinate_lets_[axis], value, name_of(fmt::format("i{}", axis)));
      assembly_[known].type = {context_.index_dtype()};
    }
    if (axis < inner || level <= Level::Thread) return known;
    return assembly_.index(IndexOp::Add, known, lane_offset(level));
  }

  ValueId block_number() {
    const ValueId block =
        assembly_.add({.kind = Value::Kind::Block, .type = {ir::DType::U32}, .naming = Value::Naming::Inline});
    if (schedule_.index_bits != 64) return block;
    return assembly_.add({.kind = Value::Kind::Cast,
                          .type = {ir::DType::I64},
                          .work = ir::DType::U32,
                          .operands = {block},
                          .naming = Value::Naming::Inline});
  }

  ValueId thread_number() {
    return assembly_.add({.kind = Value::Kind::Thread,
                          .type = {ir::DType::U32},
                          .level = Level::Thread,
                          .naming = Value::Naming::Inline});
  }

  /// The index of a thread's first element: the number of its block and its own, each times the steps within it.
  ValueId first_of(const Walk& walk) {
    const ValueId block = block_number(), thread = thread_number();
    uint32_t inner = 1, of_block = 1, of_thread = 1;
    for (auto step = walk.steps.rbegin(); step != walk.steps.rend(); ++step) {
      if (step->scope == Scope::Grid) of_block = inner;
      if (step->scope == Scope::Block) of_thread = inner;
      if (step->scope == Scope::Vector) lane_step_ = inner;
      inner *= std::max(1u, step->count);
    }
    const ValueId blocks = assembly_.index(IndexOp::Mul, block, assembly_.whole(of_block / of_thread));
    const ValueId sum = assembly_.index(IndexOp::Add, blocks, thread);
    assembly_[sum].type = {context_.index_dtype()};
    return of_thread == 1 ? sum : assembly_.index(IndexOp::Mul, assembly_.whole(of_thread), sum);
  }

  ValueId lane_number(Level level) { return assembly_.read(lane_, level); }

  ValueId lane_offset(Level level) {
    const ValueId number = lane_number(level);
    return lane_step_ == 1 ? number : assembly_.index(IndexOp::Mul, number, assembly_.whole(lane_step_));
  }

  /// The index of a lane's element; of one past the end, the last one's.
  ValueId element(Level level) {
    ValueId& known = elements_[level];
    if (known) return known;
    const ValueId at = assembly_.index(IndexOp::Add, first_, lane_offset(level));
    if (!schedule_.ragged) return at;
    const ValueId last = assembly_.index(IndexOp::Sub, numel_, assembly_.whole(1));
    known = assembly_.let(block_of(level), assembly_.index(IndexOp::Min, at, last), name_of("e"));
    return known;
  }

  Body& block_of(Level level) { return level == Level::Fetch ? fetch_ : has_lanes() ? element_ : thread_; }

  /// A coordinate of the element of this index.
  ValueId quotient(uint32_t axis, ValueId linear) { return memory_.quotient(linear, 0, context_.rank(), axis); }

  ValueId divided(uint32_t axis, ValueId linear, Level level) {
    ValueId& known = coordinates_[{axis, level}];
    if (known) return known;
    ValueId value = quotient(axis, linear);
    Body& block = level == Level::Thread ? coordinate_lets_[axis] : block_of(level);
    known = assembly_.let(block, value, name_of(fmt::format("i{}", axis)));
    assembly_[known].type = {context_.index_dtype()};
    return known;
  }

  /// One name for what both loops call alike.
  const std::string& name_of(const std::string& wanted) {
    std::string& name = names_[wanted];
    if (name.empty()) name = assembly_.claim(wanted);
    return name;
  }

  // Coordinates that are counted on from lane to lane

  void start_carrying() {
    for (uint32_t d = 0; d < context_.rank(); ++d) {
      const std::string wanted = fmt::format("i{}", d);
      carried_.push_back(assembly_.variable(wanted, {context_.index_dtype()}, Level::Fetch));
      names_[wanted] = assembly_[carried_[d]].name;
    }
    for (uint32_t d = context_.rank(); d-- > 0;)
      coordinate_lets_[d].push_back({Declare{carried_[d], quotient(d, first_)}});
  }

  ValueId carried(uint32_t axis, Level level) {
    const ValueId now = assembly_.read(carried_[axis], Level::Fetch);
    return level <= Level::Fetch ? now : kept(now, assembly_[carried_[axis]].name);
  }

  /// What the loop of loads knows of each lane, for the one behind it.
  ValueId kept(ValueId value, const std::string& name) {
    SymbolId& vector = kept_[value];
    if (!vector) {
      const Type type{assembly_[value].type.dtype, schedule_.lanes};
      vector = assembly_.variable(fmt::format("{}_{}", name, schedule_.lanes), type, Level::Thread);
      fetched_vectors_.push_back({Declare{vector}});
      fetch_.push_back({Assign{assembly_.lane(assembly_.read(vector), lane_number(Level::Fetch)), value}});
    }
    return assembly_.lane(assembly_.read(vector), lane_number(Level::Element));
  }

  /// On to the next element; behind the last, where nothing is stored, comes the first again.
  Body carry(uint32_t axis) {
    const ValueId now = assembly_.read(carried_[axis], Level::Fetch);
    Body wrapped = {{Assign{now, assembly_.whole(0)}}};
    if (axis > 0) std::ranges::move(carry(axis - 1), std::back_inserter(wrapped));
    const ValueId is_end = assembly_.index(IndexOp::Equal, now, assembly_.read(memory_.extent(axis)));
    return {{Advance{carried_[axis], assembly_.whole(1)}}, {If{is_end, std::move(wrapped)}}};
  }

  // Loads

  void load_vectors() {
    Body inside, rest;
    for (uint32_t a = 0; a < schedule_.accesses.size(); ++a) {
      const How how = schedule_.accesses[a].how;
      if (context_.outline.accesses[a].kind != Kind::Load) continue;
      if (how == How::Grouped && context_.layout.accesses[a].leader == a && !schedule_.accesses[a].masked)
        for (const Chunk& chunk : schedule_.accesses[a].chunks) load_chunk(a, chunk);
      if (how != How::Vector && how != How::Shifted) continue;
      const SymbolId vector = vector_of(a);
      const ValueId value = vector_at(a, how == How::Vector ? Value::Kind::Vector : Value::Kind::Shifted);
      if (!schedule_.ragged && how == How::Vector) {
        loads_.push_back({Declare{vector, value}});
        continue;
      }
      loads_.push_back({Declare{vector}});
      inside.push_back({Assign{assembly_.read(vector), value}});
      rest.push_back({Assign{assembly_.read(vector), vector_at(a, Value::Kind::VectorEnd)}});
    }
    if (!inside.empty())
      loads_.push_back({If{has_shifted() ? is_inside() : is_whole(), std::move(inside), std::move(rest)}});
  }

  bool has_shifted() const { return std::ranges::count(schedule_.accesses, How::Shifted, &AccessSchedule::how) > 0; }

  SymbolId vector_of(uint32_t access) {
    const Type type{memory_.type_in_memory(access), schedule_.lanes};
    const SymbolId vector = assembly_.variable(memory_.vector_name(access, schedule_.lanes), type, Level::Thread);
    assembly_[vector].of = assembly_[memory_.pointer(access)].name;
    vectors_[access] = vector;
    return vector;
  }

  ValueId vector_at(uint32_t access, Value::Kind kind, const std::vector<ValueId>& leads = {}) {
    std::vector<ValueId> operands = {base(access), memory_.index(access, Level::Thread, 0, leads)};
    if (kind == Value::Kind::VectorEnd) operands.push_back(numel_);
    return assembly_.add({.kind = kind,
                          .type = {memory_.type_in_memory(access), schedule_.lanes},
                          .operands = std::move(operands),
                          .naming = Value::Naming::Inline});
  }

  /// Whether all of a thread's lanes are elements.
  ValueId is_whole() {
    if (whole_) return whole_;
    const ValueId behind = assembly_.index(IndexOp::Add, first_, assembly_.whole(schedule_.lanes));
    ValueId is_whole = assembly_.index(IndexOp::LessEqual, behind, numel_);
    if (begin_) is_whole = assembly_.index(IndexOp::And, assembly_.index(IndexOp::LessEqual, begin_, first_), is_whole);
    whole_ = assembly_.let(of_step(), is_whole, assembly_.claim("whole"));
    return whole_;
  }

  /// Whether the aligned vectors around all of a thread's lanes are of the tensor.
  ValueId is_inside() {
    const ValueId behind = assembly_.index(IndexOp::Add, first_, assembly_.whole(2 * schedule_.lanes));
    const ValueId ends = assembly_.index(IndexOp::LessEqual, behind, numel_);
    const ValueId begins = assembly_.index(IndexOp::Less, assembly_.whole(0), first_);
    return assembly_.index(IndexOp::And, begins, ends);
  }

  /// A vector of neighbours: of all lanes before anything is computed, or where a masked one is needed.
  void load_chunk(uint32_t leader, const Chunk& chunk) {
    if (chunk.width == 1) return;
    const bool is_masked = schedule_.accesses[leader].masked, is_fetched = has_lanes() && !is_masked;
    const Level level = is_fetched ? Level::Fetch : is_masked ? Level::Element : Level::Thread;
    const Type type{memory_.type_in_memory(leader), chunk.width};
    const SymbolId vector =
        assembly_.variable(memory_.chunk_name(leader, chunk), type, is_masked ? Level::Element : Level::Thread);
    const ValueId value = assembly_.add({.kind = Value::Kind::Vector,
                                         .type = type,
                                         .operands = {base(leader), memory_.index(leader, level, chunk.first)},
                                         .naming = Value::Naming::Inline});
    if (is_fetched) {
      assembly_[vector].extents = {schedule_.lanes};
      fetched_vectors_.push_back({Declare{vector}});
      fetch_.push_back({Assign{assembly_.item(assembly_.read(vector), lane_number(Level::Fetch)), value}});
    } else {
      (is_masked ? assembly_.block(Level::Element) : loads_).push_back({Declare{vector, value}});
    }
    chunks_[{leader, chunk.first}] = vector;
  }

  /// An element of a vector of neighbours.
  ValueId of_chunk(uint32_t access, const Chunk& chunk) {
    const AccessLayout& layout = context_.layout.accesses[access];
    if (!chunks_.contains({layout.leader, chunk.first})) load_chunk(layout.leader, chunk);
    const SymbolId symbol = chunks_.at({layout.leader, chunk.first});
    ValueId vector = assembly_.read(symbol);
    if (!assembly_[symbol].extents.empty()) vector = assembly_.item(vector, lane_number(Level::Element));
    return assembly_.lane(vector, assembly_.whole(layout.neighbour - chunk.first));
  }

  /// An element that each lane loads for itself.
  ValueId single(uint32_t access) {
    if (schedule_.accesses[access].masked) return memory_.load(access, Level::Element);
    return has_lanes() ? fetched(access) : memory_.load(access, Level::Thread);
  }

  /// The same, with those of all lanes before anything is computed.
  ValueId fetched(uint32_t access) {
    const SymbolId vector = vector_of(access);
    fetched_vectors_.push_back({Declare{vector}});
    fetch_.push_back({Assign{assembly_.lane(assembly_.read(vector), lane_number(Level::Fetch)),
                             memory_.load(access, Level::Fetch)}});
    return assembly_.lane(assembly_.read(vector), lane_number(Level::Element));
  }

  // Stores

  void store(const std::vector<ValueId>& results) {
    const auto first_store = static_cast<uint32_t>(schedule_.accesses.size() - results.size());
    Body whole, rest;
    for (uint32_t a = first_store; a < schedule_.accesses.size(); ++a) {
      switch (schedule_.accesses[a].how) {
        case How::Grouped:
          if (context_.layout.accesses[a].leader == a) store_chunks(a, results);
          break;
        case How::Vector: {
          const SymbolId vector = vector_of(a);
          thread_.push_back({Declare{vector}});
          element_.push_back(
              {Assign{assembly_.lane(assembly_.read(vector), lane_number(Level::Element)), results[a - first_store]}});
          const StoreVector all{base(a), memory_.index(a, Level::Thread, 0), assembly_.read(vector)};
          (schedule_.ragged ? whole : stores_).push_back({all});
          if (schedule_.ragged) rest.push_back({StoreVector{all.pointer, all.index, all.vector, numel_, begin_}});
          break;
        }
        default:
          store_one(a, results[a - first_store]);
      }
    }
    if (!whole.empty()) stores_.push_back({If{is_whole(), std::move(whole), std::move(rest)}});
  }

  void store_one(uint32_t access, ValueId value) {
    Body& stores = stores_of_a_lane();
    stores.push_back({Assign{memory_.target(access, Level::Element), value}});
  }

  /// Within the guard, if there must be one, no lane is past the end.
  Body& stores_of_a_lane() {
    if (!has_lanes() || !schedule_.ragged) return block_of(Level::Element);
    ValueId& at = elements_[Level::Element];
    const ValueId own = assembly_.index(IndexOp::Add, first_, lane_offset(Level::Element));
    if (!at) at = assembly_.let(element_, own, name_of("e"));
    store_guard_ = assembly_.index(IndexOp::Less, own, numel_);
    return guarded_stores_;
  }

  void store_chunks(uint32_t leader, const std::vector<ValueId>& results) {
    const auto first_store = static_cast<uint32_t>(schedule_.accesses.size() - results.size());
    const auto value_at = [&](uint32_t neighbour) {
      for (uint32_t a = first_store;; ++a)
        if (context_.layout.accesses[a].leader == leader && context_.layout.accesses[a].neighbour == neighbour)
          return results[a - first_store];
    };
    Body& stores = stores_of_a_lane();
    for (const Chunk& chunk : schedule_.accesses[leader].chunks) {
      std::vector<ValueId> members;
      for (uint32_t k = 0; k < chunk.width; ++k) members.push_back(value_at(chunk.first + k));
      const ValueId index = memory_.index(leader, Level::Element, chunk.first);
      const Type type{memory_.type_in_memory(leader), chunk.width};
      if (chunk.width == 1) {
        const ValueId target = assembly_.add({.kind = Value::Kind::Load,
                                              .type = type,
                                              .operands = {base(leader), index},
                                              .naming = Value::Naming::Inline});
        stores.push_back({Assign{target, members[0]}});
        continue;
      }
      const ValueId vector = assembly_.add(
          {.kind = Value::Kind::Pack, .type = type, .operands = members, .naming = Value::Naming::Inline});
      stores.push_back({StoreVector{base(leader), index, vector}});
    }
  }

  // The whole

  void assemble() {
    Kernel& kernel = assembly_.kernel;
    const auto append = [](Body& block, Body& more) { std::ranges::move(more, std::back_inserter(block)); };
    Body body;
    for (uint32_t d = context_.rank(); d-- > 0;)
      append(steps_ > 1 && d + 1 == context_.rank() ? body : kernel.indices, coordinate_lets_[d]);
    append(body, loads_);
    append(body, fetched_vectors_);
    if (!fetch_.empty() && schedule_.coordinates == Coordinates::Carry)
      std::ranges::move(carry(context_.rank() - 1), std::back_inserter(fetch_));
    if (!fetch_.empty()) body.push_back({lanes(std::move(fetch_))});
    append(body, thread_);
    if (!guarded_stores_.empty()) element_.push_back({If{store_guard_, std::move(guarded_stores_)}});
    if (!element_.empty()) body.push_back({lanes(std::move(element_))});
    append(body, stores_);
    append(kernel.body, row_values_);
    if (steps_ > 1)
      kernel.body.push_back(steps(std::move(body)));
    else
      append(kernel.body, body);
  }

  Loop lanes(Body body) {
    return {Loop::Kind::Unrolled, lane_, assembly_.whole(0), assembly_.whole(schedule_.lanes), std::move(body)};
  }

  const KernelContext& context_;
  const Schedule& schedule_;
  Assembly assembly_;
  Memory memory_;
  SymbolId lane_;
  ValueId first_, numel_, whole_, store_guard_;
  ValueId row_, begin_;  ///< of a block that has one row; numel_ is its end
  uint32_t steps_ = 1;   ///< of a thread through it, from the block's first element on
  ValueId first_of_block_;
  SymbolId step_;
  uint32_t lane_step_ = 1;
  std::map<Level, ValueId> elements_;
  std::map<std::pair<uint32_t, Level>, ValueId> coordinates_;
  std::map<std::string, std::string> names_;
  std::map<ValueId, SymbolId> kept_;
  std::map<uint32_t, SymbolId> vectors_;
  std::map<std::pair<uint32_t, uint32_t>, SymbolId> chunks_;
  std::vector<SymbolId> carried_;
  std::map<uint32_t, Body> coordinate_lets_;
  Body row_values_, loads_, fetched_vectors_, fetch_, thread_, element_, guarded_stores_, stores_;
};

}  // namespace

Kernel build_cuda(const KernelContext& context) { return Cuda(context).build(); }

}  // namespace ingot::codegen
