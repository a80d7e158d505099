#include <algorithm>
#include <utility>

#include "base/error.h"
#include "codegen/kernel/cuda/rows.h"

// How elements are loaded and cached, and the loops over them.

namespace ingot::codegen {

namespace {

using How = AccessSchedule::How;

}  // namespace

ValueId Rows::load(uint32_t access) {
  if (how(access).how == How::Grouped)
    if (const GroupVector* group_vector = memory_.group_vector_of(access)) return group_element(access, *group_vector);
  if (how(access).how == How::Fixed || how(access).is_masked) return memory_.load(access, Level::Element);
  if (is_loaded_once(access)) return cached_load(access);
  if (!is_vector(access)) return memory_.load(access, Level::Element);
  SymbolId& vector = vectors_[access];
  if (!vector) {
    vector = vector_of(access);
    step_.push_back({Declare{vector, vector_at(access)}});
  }
  return assembly_.lane(assembly_.read(vector), assembly_.read(lane_));
}

std::optional<ValueId> Rows::position(uint32_t access) {
  const bool are_neighbours =
      lanes_ > 1 && !context_.schedule.has_partial_vectors && context_.layout.inner_multiple >= lanes_;
  if (!are_neighbours || part_ == RowPart::Finalize || !context_.layout.accesses[access].is_linear)
    return CudaReduce::position(access);
  const ValueId first = plus(assembly_.index(IndexOp::Mul, row_number_, places_.length()), element_index_);
  return assembly_.index(IndexOp::BitOr, first, assembly_.read(lane_));
}

std::optional<ValueId> Rows::quotient(ValueId value, ValueId divisor) {
  const Value& lane = assembly_[value];
  if (assembly_[divisor].level > Level::Row) return CudaReduce::quotient(value, divisor);
  if (context_.options.fast_math || lanes_ == 1 || lane.kind != Value::Kind::Element) return std::nullopt;
  const ValueId vector = lane.operands[0];
  const Type type = assembly_[vector].type;
  if (type != Type{ir::DType::F32, lanes_}) return std::nullopt;
  SymbolId& quotients = quotients_[{vector, divisor}];
  if (!quotients) {
    quotients = assembly_.variable("quotient" + std::to_string(lanes_), type, Level::Thread);
    const ValueId all = assembly_.add(
        {.kind = Value::Kind::Quotient, .type = type, .operands = {vector, divisor}, .naming = Value::Naming::Inline});
    step_.push_back({Declare{quotients, all}});
  }
  return assembly_.lane(assembly_.read(quotients), assembly_.read(lane_));
}

bool Rows::has_short_indices() const {
  constexpr uint32_t kBits = 15;
  return is_register_cached() && context_.layout.length_bits <= kBits;
}

bool Rows::is_loaded_once(uint32_t access) const {
  if (column_chunks_ > 0) return how(access).is_loaded_ahead;
  return is_register_cached() && (phase_ == 0 || residency_.has_blocked_accumulators || arrays_.contains(access));
}

ValueId Rows::index_of_lane(ValueId first, Level level) {
  return level <= Level::Thread || lanes_ == 1 ? first : plus(first, assembly_.read(lane_));
}

bool Rows::loads_groups_ahead() const {
  if (is_register_cached() || runs() == 1 || runs() > kRunsAhead) return false;
  for (uint32_t access = 0; access < context_.outline.first_store(); ++access)
    if (how(access).how == How::Grouped) return true;
  return false;
}

ValueId Rows::element_of(SymbolId array) {
  const ValueId item = assembly_.item(assembly_.read(array), assembly_.read(step_number_));
  return lanes_ > 1 ? assembly_.lane(item, assembly_.read(lane_)) : item;
}

SymbolId Rows::array_of_steps(SymbolId variable) {
  Symbol& symbol = assembly_[variable];
  symbol.extents = {residency_.steps};
  if (residency_.shared_steps == 0) return variable;
  // All dynamic shared memory is one array: a second one would have the same base address.
  if (assembly_.kernel.launch.shared.most_bytes() > 0)
    throw_internal("two arrays of a kernel would share their place in shared memory", assembly_.kernel.launch.entry);
  symbol.register_elements = residency_.steps - residency_.shared_steps;
  const auto bytes = static_cast<uint32_t>(ir::size_of(symbol.type.dtype)) * lanes_ * threads_ / cluster_;
  assembly_.kernel.launch.shared = {{{row_axes_, context_.layout.reduced_axes, threads_ * lanes_}},
                                    symbol.register_elements,
                                    residency_.steps,
                                    bytes};
  return variable;
}

ValueId Rows::cached_load(uint32_t access) {
  SymbolId& array = arrays_[access];
  if (!array) {
    array = array_of_steps(vector_of(access));
    loads_.declared.push_back({Declare{array}});
    if (residency_.prefetches)
      loads_.step.push_back({Assign{step_element(array), step_element(prefetched(access, array))}});
    else
      load(access, array, loads_);
  }
  return element_of(array);
}

void Rows::load(uint32_t access, SymbolId array, Loads& loads) {
  const ValueId place = step_element(array);
  if (lanes_ == 1)
    loads.step.push_back({Assign{place, memory_.element_lvalue(access, Level::Thread)}});
  else if (is_vector(access))
    loads.step.push_back({Assign{place, vector_at(access)}});
  else
    loads.lane.push_back(
        {Assign{assembly_.lane(place, assembly_.read(lane_)), memory_.element_lvalue(access, Level::Element)}});
}

void Rows::read_ahead() {
  for (uint32_t access = 0; access < context_.outline.accesses.size(); ++access)
    if (how(access).is_loaded_ahead) cached_load(access);
}

ValueId Rows::group_element(uint32_t access, const GroupVector& group_vector) {
  const uint32_t leader = context_.layout.accesses[access].leader;
  if (!group_vectors_.contains(leader, group_vector)) load_group_vector(leader, group_vector);
  return group_vectors_.element(access, group_vector, assembly_.read(step_number_));
}

void Rows::store_groups(const std::map<uint32_t, ValueId>& values) {
  for (const auto& [access, value] : values) {
    const uint32_t leader = context_.layout.accesses[access].leader;
    const std::optional<std::map<uint32_t, ValueId>> group = whole_group(leader, values);
    if (!group)
      element().push_back({Assign{memory_.element_lvalue(access, Level::Element), value}});
    else if (access == leader)
      append(element(), group_vectors_.stores(leader, *group));
  }
}

std::optional<std::map<uint32_t, ValueId>> Rows::whole_group(uint32_t leader,
                                                             const std::map<uint32_t, ValueId>& values) {
  std::map<uint32_t, ValueId> group;
  for (uint32_t a = 0; a < context_.layout.accesses.size(); ++a) {
    if (context_.layout.accesses[a].leader != leader) continue;
    const auto value = values.find(a);
    if (value == values.end()) return std::nullopt;
    group[context_.layout.accesses[a].neighbour] = value->second;
  }
  return group;
}

void Rows::load_group_vector(uint32_t leader, const GroupVector& group_vector) {
  const bool is_masked = how(leader).is_masked;
  const bool is_ahead = !is_masked && (is_register_cached() ? phase_ == 0 : loads_groups_ahead());
  const Level level = is_masked ? Level::Element : Level::Thread;
  const uint32_t count = is_register_cached() ? residency_.steps : runs();
  const SymbolId vector = group_vectors_.declare(leader, group_vector, level, is_ahead ? count : 0);
  const ValueId index = element_index_;
  if (is_ahead && !is_register_cached()) element_index_ = loaded_index_;
  const ValueId value = memory_.vector(leader, group_vector, level);
  element_index_ = index;
  if (is_ahead) {
    loads_.declared.push_back({Declare{vector}});
    loads_.step.push_back({Assign{step_element(vector), value}});
  } else {
    assembly_.block(level).push_back({Declare{vector, value}});
  }
}

void Rows::load_hoisted(const Job& job) {
  if (lanes_ > 1 || !loads_groups_ahead()) return;
  const auto [conditions, groups] = hoisted_predicates_of(context_, job);
  if (groups.empty()) return;
  const ValueId index = std::exchange(element_index_, loaded_index_);
  const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, conditions);
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto [leader, holds] = groups[g];
    Body vectors =
        group_vectors_.load_all(leader, runs(), assembly_.read(step_number_), Level::Thread, loads_.declared);
    append(loads_.hoisted, std::exchange(step_, {}));
    loads_.hoisted.push_back({If{holds ? values[g] : assembly_.inverse(values[g]), std::move(vectors)}});
  }
  element_index_ = index;
}

ValueId Rows::is_in_row(ValueId index) {
  const uint32_t full = is_read_again_ ? 0 : residency_.unguarded_steps;
  if (full > 0 && full == residency_.steps) return {};
  const ValueId is_below = assembly_.index(IndexOp::Less, index, places_.length());
  if (full == 0) return is_below;
  const ValueId is_full = assembly_.index(IndexOp::Less, assembly_.read(step_number_), integer(full));
  return assembly_.index(IndexOp::Or, is_full, is_below);
}

Body Rows::guarded(ValueId index, Body body) {
  const ValueId is_element = is_in_row(index);
  return is_element ? Body{{If{is_element, std::move(body)}}} : std::move(body);
}

bool Rows::uses_blocked_accumulators(const RowWork& work) const {
  const auto has_order = [](const RowReduction* reduction) { return reduction->has_order(); };
  if (lanes_ == 1 || runs() == 1) return false;
  return residency_.has_blocked_accumulators ||
         (is_register_cached() && std::ranges::any_of(work.reductions, has_order));
}

Statement Rows::loop_over(Body step, ValueId run) {
  const ValueId length = places_.length();
  if (is_read_again_) {
    Loop loop{Loop::Kind::Strided, from_, first_, length, std::move(step)};
    loop.step = accumulators_, loop.unroll = 1;
    return {std::move(loop)};
  }
  if (is_register_cached()) {
    Body steps = {{Let{element_index_}}};
    if (is_element_) steps.push_back({Let{is_element_}});
    append(steps, is_element_ ? std::move(step) : guarded(element_index_, std::move(step)));
    const bool leaps =
        run && !residency_.has_blocked_accumulators;  // the steps of a run are as far apart as there are runs
    Loop loop{Loop::Kind::Unrolled, step_number_, leaps ? run : integer(0), integer(residency_.steps),
              std::move(steps)};
    if (leaps) loop.step = runs();
    return {std::move(loop)};
  }
  const uint32_t stride = accumulators_;
  Loop loop{Loop::Kind::Strided, from_, first_, length, std::move(step)};
  loop.step = stride;
  if (runs() == 1) loop.unroll = 4;
  if (runs() > 1) {
    const auto kind = runs() <= 8 ? Loop::Kind::Unrolled : Loop::Kind::Serial;
    Body step_of_run = {{Let{element_index_}}};
    append(step_of_run, guarded(element_index_, std::move(loop.body)));
    loop.body = loads_ahead();
    loop.body.push_back({Loop{kind, step_number_, integer(0), integer(runs()), std::move(step_of_run)}});
  }
  return {std::move(loop)};
}

Body Rows::loads_ahead() {
  Loads loads = std::exchange(loads_, {});
  Body ahead = std::move(loads.declared);
  for (Body* step : {&loads.step, &loads.hoisted}) {
    if (step->empty()) continue;
    Body body = {{Let{element_index_}}, {Let{loaded_index_}}};
    append(body, std::move(*step));
    ahead.push_back({Loop{Loop::Kind::Unrolled, step_number_, integer(0), integer(runs()), std::move(body)}});
  }
  return ahead;
}

uint32_t Rows::lanes_of(const RowReduction& reduction) const {
  return residency_.has_blocked_accumulators && !reduction.has_order() ? 1 : lanes_;
}

ValueId Rows::accumulator_index(const RowReduction& reduction) {
  ValueId run;
  if (runs() > 1 && reduction.has_order() && !reduction.runs) {
    run = assembly_.read(step_number_);
    if (is_register_cached() && runs() < residency_.steps) run = assembly_.index(IndexOp::Rem, run, integer(runs()));
    run = times(run, lanes_);
  }
  const ValueId lane = lanes_of(reduction) > 1 ? assembly_.read(lane_) : ValueId{};
  if (run && lane) return plus(run, lane);
  return run ? run : lane ? lane : integer(0);
}

}  // namespace ingot::codegen
