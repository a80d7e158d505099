#include "codegen/kernel/cuda/thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ingot::codegen {
ValueId block_number(const KernelContext& context, Assembly& assembly) {
  const ValueId block =
      assembly.add({.kind = Value::Kind::Block, .type = {ir::DType::U32}, .naming = Value::Naming::Inline});
  if (context.index_dtype() == ir::DType::I32) return block;
  return assembly.add({.kind = Value::Kind::Cast,
                       .type = {ir::DType::I64},
                       .operand_type = ir::DType::U32,
                       .operands = {block},
                       .naming = Value::Naming::Inline});
}

ValueId thread_number(Assembly& assembly, Level level) {
  return assembly.add(
      {.kind = Value::Kind::Thread, .type = {ir::DType::U32}, .level = level, .naming = Value::Naming::Inline});
}

ThreadElements::ThreadElements(const KernelContext& context, Assembly& assembly, Memory& memory, ThreadBody& body)
    : context_(context), schedule_(context.schedule), assembly_(assembly), memory_(memory), body_(body) {
  lane_ = assembly_.variable("k", {}, Level::Element);
  if (!schedule_.loop_maps.empty()) steps_ = schedule_.loop_maps.back().count(Scope::Serial);
  assembly_.set_block({Level::Kernel, Level::Row}, steps_ > 1 ? body_.of_row : body_.thread);
  assembly_.set_block({Level::Thread}, body_.thread);
  assembly_.set_block({Level::Fetch}, body_.fetch);
  assembly_.set_block({Level::Element}, has_lanes() ? body_.element : body_.thread);
}

// The position of a thread

void ThreadElements::find() {
  if (schedule_.loop_maps.empty()) {
    first_ = assembly_.integer(0);
    return;
  }
  if (schedule_.coordinates == Coordinates::Row) return find_row();
  const LoopMap& loop_map = schedule_.loop_maps[0];
  if (steps_ > 1) return find_steps(loop_map);
  Body& indices = assembly_.kernel.indices;
  first_ = assembly_.let(indices, first_element_of(loop_map), name_of("i"));
  end_ = assembly_.read(memory_.numel());
  indices.push_back({Return{first_, end_}});
  assembly_.kernel.launch.grid = {{loop_map.first, loop_map.axes, schedule_.threads() * schedule_.lanes()}};
  if (schedule_.coordinates == Coordinates::Carry) start_carrying();
}

/// The index of a thread's first element: the indices of its block and of the thread, each multiplied by the inner
/// counts of the loop map.
ValueId ThreadElements::first_element_of(const LoopMap& loop_map) {
  const ValueId block = block_number(context_, assembly_), thread = thread_number(assembly_, Level::Thread);
  uint32_t inner = 1, of_block = 1, of_thread = 1;
  for (auto loop = loop_map.loops.rbegin(); loop != loop_map.loops.rend(); ++loop) {
    if (loop->scope == Scope::Grid) of_block = inner;
    if (loop->scope == Scope::Block) of_thread = inner;
    if (loop->scope == Scope::Vector) lane_step_ = inner;
    inner *= std::max(1u, loop->count);
  }
  const ValueId blocks = assembly_.index(IndexOp::Mul, block, assembly_.integer(of_block / of_thread));
  const ValueId sum = assembly_.index(IndexOp::Add, blocks, thread);
  assembly_[sum].type = {context_.index_dtype()};
  return of_thread == 1 ? sum : assembly_.index(IndexOp::Mul, assembly_.integer(of_thread), sum);
}

/// Several steps of a block through the domain. If all elements of the block's part exist, no step has a guard.
void ThreadElements::find_steps(const LoopMap& loop_map) {
  const uint32_t block_elements = steps_ * schedule_.threads() * schedule_.lanes();
  assembly_.kernel.launch.grid = {{loop_map.first, loop_map.axes, block_elements}};
  const ValueId before =
      assembly_.index(IndexOp::Mul, assembly_.integer(block_elements), block_number(context_, assembly_));
  assembly_[before].type = {context_.index_dtype()};
  first_of_block_ = assembly_.let(assembly_.kernel.indices, before, assembly_.claim("first"));
  step_ = assembly_.variable_called(name_of("i"), Level::Thread, {context_.index_dtype()});
  if (schedule_.has_partial_vectors) whole_ = assembly_.variable("whole", {ir::DType::Bool}, Level::Thread);
  first_ = assembly_.read(step_);
  end_ = assembly_.read(memory_.numel());
}

/// Each block has a part of one row. The vectors of its threads are aligned in memory, so the first vector of a row may
/// start before the row.
void ThreadElements::find_row() {
  const uint32_t inner = context_.rank() - 1, lanes = schedule_.lanes(),
                 block_elements = steps_ * schedule_.threads() * lanes;
  // The least number of a row's elements that a block computes, whatever the row's alignment.
  const uint32_t least_elements = block_elements - (lanes - 1);
  assembly_.kernel.launch.grid = {{0, inner, 1}, {inner, 1, least_elements}};
  const auto integer = [&](int64_t number) { return assembly_.integer(number); };
  const auto index = [&](IndexOp op, ValueId a, ValueId b) { return assembly_.index(op, a, b); };
  const ValueId block = block_number(context_, assembly_), length = assembly_.read(memory_.extent(inner));
  const ValueId blocks = assembly_.let(
      assembly_.kernel.indices,
      index(IndexOp::Div, index(IndexOp::Add, length, integer(least_elements - 1)), integer(least_elements)),
      assembly_.claim("blocks"));
  row_ = let_index(index(IndexOp::Div, block, blocks), inner == 1 ? name_of("i0") : assembly_.claim("row"));
  begin_ = let_index(index(IndexOp::Mul, row_, length), assembly_.claim("begin"));
  end_ = let_index(index(IndexOp::Add, begin_, length), assembly_.claim("end"));
  const ValueId number = index(IndexOp::Rem, block, blocks);
  const ValueId aligned = index(IndexOp::Mul, index(IndexOp::Div, begin_, integer(lanes)), integer(lanes));
  if (steps_ > 1) {
    const ValueId before = index(IndexOp::Mul, number, integer(block_elements));
    first_of_block_ = let_index(index(IndexOp::Add, aligned, before), assembly_.claim("first"));
    step_ = assembly_.variable_called(name_of("i"), Level::Thread, {context_.index_dtype()});
    first_ = assembly_.read(step_);
    return;
  }
  const ValueId before = index(IndexOp::Mul, number, integer(schedule_.threads()));
  const ValueId offset =
      index(IndexOp::Mul, integer(lanes), index(IndexOp::Add, before, thread_number(assembly_, Level::Thread)));
  first_ = let_index(index(IndexOp::Add, aligned, offset), name_of("i"));
  assembly_.kernel.indices.push_back({Return{first_, end_}});
}

ValueId ThreadElements::end_of_block() {
  return assembly_.index(IndexOp::Add, first_of_block_,
                         assembly_.integer(steps_ * schedule_.threads() * schedule_.lanes()));
}

ValueId ThreadElements::is_within_row() {
  if (steps_ == 1) return {};
  const ValueId begins = assembly_.index(IndexOp::LessEqual, begin_, first_of_block_);
  const ValueId ends = assembly_.index(IndexOp::LessEqual, end_of_block(), end_);
  return assembly_.let(assembly_.kernel.indices, assembly_.index(IndexOp::And, begins, ends),
                       assembly_.claim("inside"));
}

/// A loop over the block's part of its row, or of the domain.
Statement ThreadElements::steps(Body step) {
  if (schedule_.coordinates != Coordinates::Row) {
    Loop loop{Loop::Kind::Steps, step_, first_of_block_, end_, std::move(step)};
    loop.lanes = schedule_.lanes(), loop.step = steps_, loop.valid = whole_;
    return {std::move(loop)};
  }
  const uint32_t step_elements = schedule_.threads() * schedule_.lanes();
  const ValueId thread = thread_number(assembly_, Level::Thread);
  const ValueId offset = assembly_.index(IndexOp::Mul, assembly_.integer(schedule_.lanes()), thread);
  Loop loop{Loop::Kind::Strided, step_, assembly_.index(IndexOp::Add, first_of_block_, offset),
            assembly_.index(IndexOp::Min, end_of_block(), end_), std::move(step)};
  loop.step = step_elements, loop.unroll = 1;
  return {std::move(loop)};
}

// Names of coordinates

uint32_t ThreadElements::first_inner_axis() const {
  const bool shares_row = schedule_.coordinates == Coordinates::Thread || schedule_.coordinates == Coordinates::Row;
  return shares_row && context_.rank() > 0 ? context_.rank() - 1 : 0;
}

Level ThreadElements::level_of_names() const {
  const bool each_lane = schedule_.coordinates == Coordinates::Lane || schedule_.coordinates == Coordinates::Carry;
  return each_lane && has_lanes() ? Level::Fetch : Level::Thread;
}

std::string ThreadElements::suffix() {
  if (has_lanes()) return "_" + assembly_[lane_].name;
  const uint32_t rank = context_.rank();
  return "_" + name_of(rank > 1 ? fmt::format("i{}", rank - 1) : "i");
}

ValueId ThreadElements::let_index(ValueId value, const std::string& name) {
  const ValueId named = assembly_.let(assembly_.kernel.indices, value, name);
  assembly_[named].type = {context_.index_dtype()};
  return named;
}

/// One name for a coordinate, shared by the two loops over a thread's elements (loads and computation).
const std::string& ThreadElements::name_of(const std::string& preferred) {
  std::string& name = names_[preferred];
  if (name.empty()) name = assembly_.claim(preferred);
  return name;
}

// Elements of a thread

Loop ThreadElements::over_lanes(Body body) const {
  return {Loop::Kind::Unrolled, lane_, assembly_.integer(0), assembly_.integer(schedule_.lanes()), std::move(body)};
}

void ThreadElements::forget_element() {
  elements_.erase(Level::Element);
  std::erase_if(coordinates_, [](const auto& cached) { return cached.first.second == Level::Element; });
}

ValueId ThreadElements::lane_offset(Level level) {
  const ValueId number = lane_number(level);
  return lane_step_ == 1 ? number : assembly_.index(IndexOp::Mul, number, assembly_.integer(lane_step_));
}

/// The index of an element of the thread's vector; of the last element of the domain if it is past the end.
ValueId ThreadElements::element_index(Level level) {
  ValueId& cached = elements_[level];
  if (cached) return cached;
  const ValueId at = assembly_.index(IndexOp::Add, first_, lane_offset(level));
  if (!schedule_.has_partial_vectors) return at;
  const ValueId last = assembly_.index(IndexOp::Sub, end_, assembly_.integer(1));
  cached = assembly_.let(block_of(level), assembly_.index(IndexOp::Min, at, last), name_of("e"));
  return cached;
}

ValueId ThreadElements::stored_index() {
  ValueId& cached = elements_[Level::Element];
  const ValueId number = assembly_.index(IndexOp::Add, first_, lane_offset(Level::Element));
  if (!cached) cached = assembly_.let(body_.element, number, name_of("e"));
  return number;
}

Body& ThreadElements::block_of(Level level) {
  return level == Level::Fetch ? body_.fetch : has_lanes() ? body_.element : body_.thread;
}

// Coordinates

ValueId ThreadElements::coordinate(uint32_t axis, Level level) {
  if (context_.rank() <= 1) return linear(level);
  switch (schedule_.coordinates) {
    case Coordinates::Carry:
      return carried_coordinate(axis, level);
    case Coordinates::Row:
      return coordinate_in_row(axis, level);
    case Coordinates::Lane:
      if (has_lanes() && level > Level::Thread) return coordinate_by_division(axis, element_index(level), level);
      break;
    default:
      break;
  }
  const ValueId first = coordinate_by_division(axis, first_, Level::Thread);
  const bool is_inner = axis + 1 == context_.rank();
  if (!is_inner || level <= Level::Thread || !has_lanes()) return first;
  return assembly_.index(IndexOp::Add, first, lane_offset(level));
}

/// A coordinate of an element if a block has a part of one row. Outside the row, coordinates continue as in the row.
ValueId ThreadElements::coordinate_in_row(uint32_t axis, Level level) {
  const uint32_t inner = context_.rank() - 1;
  if (inner == 1 && axis == 0) return row_;
  ValueId& cached = coordinates_[{axis, Level::Thread}];
  if (!cached) {
    const ValueId value =
        axis < inner ? memory_.coordinate_of(row_, 0, inner, axis) : assembly_.index(IndexOp::Sub, first_, begin_);
    cached = assembly_.let(coordinate_lets_[axis], value, name_of(fmt::format("i{}", axis)));
    assembly_[cached].type = {context_.index_dtype()};
  }
  if (axis < inner || level <= Level::Thread) return cached;
  return assembly_.index(IndexOp::Add, cached, lane_offset(level));
}

/// The coordinate of the element whose linear index in the domain is `linear`.
ValueId ThreadElements::coordinate_by_division(uint32_t axis, ValueId linear, Level level) {
  ValueId& cached = coordinates_[{axis, level}];
  if (cached) return cached;
  const ValueId value = coordinate_of(axis, linear);
  Body& block = level == Level::Thread ? coordinate_lets_[axis] : block_of(level);
  cached = assembly_.let(block, value, name_of(fmt::format("i{}", axis)));
  assembly_[cached].type = {context_.index_dtype()};
  return cached;
}

// Coordinates that are incremented from element to element

void ThreadElements::start_carrying() {
  for (uint32_t d = 0; d < context_.rank(); ++d) {
    const std::string preferred = fmt::format("i{}", d);
    carried_.push_back(assembly_.variable(preferred, {context_.index_dtype()}, Level::Fetch));
    names_[preferred] = assembly_[carried_[d]].name;
  }
  for (uint32_t d = context_.rank(); d-- > 0;)
    coordinate_lets_[d].push_back({Declare{carried_[d], coordinate_of(d, first_)}});
}

ValueId ThreadElements::carried_coordinate(uint32_t axis, Level level) {
  const ValueId now = assembly_.read(carried_[axis], Level::Fetch);
  return level <= Level::Fetch ? now : lane_vector(now, assembly_[carried_[axis]].name);
}

ValueId ThreadElements::lane_vector(ValueId value, const std::string& name) {
  SymbolId& vector = lane_vectors_[value];
  if (!vector) {
    const Type type{assembly_[value].type.dtype, schedule_.lanes()};
    vector = assembly_.variable(fmt::format("{}_{}", name, schedule_.lanes()), type, Level::Thread);
    body_.fetched_vectors.push_back({Declare{vector}});
    body_.fetch.push_back({Assign{assembly_.lane(assembly_.read(vector), lane_number(Level::Fetch)), value}});
  }
  return assembly_.lane(assembly_.read(vector), lane_number(Level::Element));
}

Body ThreadElements::to_next_lane() {
  return schedule_.coordinates == Coordinates::Carry ? advance_coordinate(context_.rank() - 1) : Body{};
}

/// After the domain's last element the first one follows, but nothing is stored there.
Body ThreadElements::advance_coordinate(uint32_t axis) {
  const ValueId now = assembly_.read(carried_[axis], Level::Fetch);
  Body wrapped = {{Assign{now, assembly_.integer(0)}}};
  if (axis > 0) append(wrapped, advance_coordinate(axis - 1));
  const ValueId is_end = assembly_.index(IndexOp::Equal, now, assembly_.read(memory_.extent(axis)));
  return {{Advance{carried_[axis], assembly_.integer(1)}}, {If{is_end, std::move(wrapped)}}};
}

// Assembly

void ThreadElements::assemble(Body step) {
  Kernel& kernel = assembly_.kernel;
  const uint32_t rank = context_.rank();
  Body of_step;
  for (uint32_t d = rank; d-- > 0;) {
    const bool is_of_block = steps_ == 1 || (schedule_.coordinates == Coordinates::Row && d + 1 < rank);
    append(is_of_block ? kernel.indices : of_step, coordinate_lets_[d]);
  }
  append(kernel.body, body_.of_row);
  append(of_step, step);
  if (steps_ == 1) return append(kernel.body, of_step);
  kernel.body.push_back(steps(std::move(of_step)));
}

}  // namespace ingot::codegen
