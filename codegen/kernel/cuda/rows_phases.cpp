#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "codegen/kernel/cuda/rows.h"

// The phases of a row.

namespace ingot::codegen {

namespace {

using How = AccessSchedule::How;

}  // namespace

std::vector<ir::NodeId> Rows::cache_shared_values(Job& job) {
  const std::vector<ir::NodeId> nodes = nodes_of(context_.graph, roots_of(job));
  std::vector<ir::NodeId> added;
  for (const ir::NodeId node : residency_.cached) {
    if (computed_.contains(node))
      job.known[node] = element_of(computed_.at(node));
    else if (!in_other_arms_ && std::ranges::binary_search(nodes, node))
      added.push_back(node);  // code that only some rows execute must not cache values
  }
  // Shared memory has room for the inputs only.
  if (residency_.shared_steps > 0 && (added.size() != 1 || !reusable_input_array(added[0]))) added.clear();
  for (const ir::NodeId node : added) job.roots.push_back({node, context_.graph[node].dtype});
  return added;
}

SymbolId Rows::array_for_values(ir::NodeId node, bool is_alone, Body& declared) {
  if (const SymbolId array = is_alone ? reusable_input_array(node) : SymbolId{}) return array;
  const Type type{context_.graph[node].dtype, lanes_};
  const std::string name = memory_.author_name(node);
  const SymbolId array =
      array_of_steps(assembly_.variable((name.empty() ? "value" : name) + "_of", type, Level::Thread));
  declared.push_back({Declare{array}});
  return array;
}

SymbolId Rows::reusable_input_array(ir::NodeId node) {
  const Type type{context_.graph[node].dtype, lanes_};
  for (const auto& [access, array] : arrays_)
    if (assembly_[array].type == type && !is_in_use(array) && !is_read_later(access, node)) return array;
  return {};
}

bool Rows::is_in_use(SymbolId array) const {
  return std::ranges::any_of(computed_, [&](const auto& computed) { return computed.second == array; });
}

bool Rows::is_read_later(uint32_t access, ir::NodeId cached) {
  std::vector<ir::NodeId> pending;
  for (uint32_t phase = phase_ + 1; phase <= reductions_.phases(); ++phase)
    std::ranges::copy(roots_of(reductions_.work_of_phase(phase).job), std::back_inserter(pending));
  if (phase_ < context_.schedule.speculative_phase)
    std::ranges::copy(reductions_.other_arms(), std::back_inserter(pending));
  std::set<ir::NodeId> visited;
  while (!pending.empty()) {
    const ir::NodeId node = pending.back();
    pending.pop_back();
    if (node == cached || computed_.contains(node) || !visited.insert(node).second) continue;
    for (const ir::NodeId arg : context_.graph[node].args)
      if (context_.graph[arg].op != ir::Op::Reduce) pending.push_back(arg);
  }
  std::vector<ir::NodeId> accesses = nodes_of(context_.graph, context_.outline);
  std::erase_if(accesses, [&](ir::NodeId id) { return !is_access(context_.graph, context_.outline, id); });
  return visited.contains(accesses.at(access));
}

void Rows::emit_phase(uint32_t phase) {
  phase_ = phase;
  if (phase > 0 && phase == context_.schedule.speculative_phase) return emit_other_arms();
  emit_phase(reductions_.work_of_phase(phase), body_);
}

void Rows::emit_phase(RowWork work, Body& before) {
  if (work.job.roots.empty()) return;
  if (context_.layout.has_empty_rows) return set_empty_results(work);
  if (residency_.has_blocked_accumulators) arrays_.clear();
  vectors_.clear();
  quotients_.clear();
  group_vectors_.forget(is_register_cached());
  if (phase_ == 0) read_ahead();
  load_hoisted(work.job);
  const std::vector<ir::NodeId> added = cache_shared_values(work.job);
  const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, work.job);
  const ValueId run = uses_blocked_accumulators(work) ? assembly_.read(run_number_) : ValueId{};
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
    computed_[node] = array_for_values(node, added.size() == 1, around.before);
    element().push_back({Assign{element_of(computed_.at(node)), *value++}});
  }
  append(before, take(row_));
  Body loads = load_cached();
  if (residency_.has_blocked_accumulators) {
    append(loads, std::move(around.before_run));
    around.before_run = std::move(loads);
  } else {
    append(body_, std::move(loads));
  }
  append(body_, std::move(around.before));
  around.before_run.push_back(loop_over(take_step(std::move(after)), run));
  append(around.before_run, std::move(around.after_run));
  if (run)
    body_.push_back({loop_over_runs(std::move(around.before_run))});
  else
    append(body_, std::move(around.before_run));
  combine(work);
}

Loop Rows::loop_over_runs(Body body) {
  Loop loop{Loop::Kind::Unrolled, run_number_, integer(0), integer(runs()), std::move(body)};
  if (residency_.has_blocked_accumulators) loop.kind = Loop::Kind::Strided, loop.unroll = 1;
  return loop;
}

void Rows::emit_other_arms() {
  if (context_.layout.has_empty_rows) return;
  std::vector<RowReduction> others;
  RowWork work = reductions_.work_of_other_arms(others);
  std::vector<ValueId> needs_other_arm =
      compute(context_, assembly_, memory_, *this, reductions_.speculative_conditions());
  flush_row();
  for (ValueId& condition : needs_other_arm) condition = assembly_.inverse(condition);
  ValueId any = needs_other_arm[0];
  for (size_t r = 1; r < needs_other_arm.size(); ++r) any = logical_op(ir::Op::LogicalOr, {any, needs_other_arm[r]});
  const bool has_several_rows = kept_map(maps_).count(Scope::Block) > 1;
  if (has_several_rows)
    any = assembly_.add({.kind = Value::Kind::HoldsForAnyRow,
                         .type = {ir::DType::Bool},
                         .number = ir::HostValue::of(static_cast<int64_t>(threads_)),
                         .operands = {any},
                         .naming = Value::Naming::Inline});
  Body outer_body = std::exchange(body_, {});
  in_other_arms_ = true;
  if (residency_.has_blocked_accumulators) read_again();
  emit_phase(std::move(work), outer_body);
  in_other_arms_ = false;
  const std::vector<RowReduction*> early = reductions_.speculative();
  const bool is_known = !has_several_rows && needs_other_arm.size() == 1;  // the enclosing condition decides already
  for (size_t r = 0; r < early.size(); ++r) {
    const Assign replace{assembly_.read(early[r]->results[0]), assembly_.read(others[r].results[0])};
    body_.push_back(is_known ? Statement{replace} : Statement{If{needs_other_arm[r], {{replace}}}});
  }
  outer_body.push_back({If{any, std::exchange(body_, {})}});
  body_ = std::move(outer_body);
}

void Rows::read_again() {
  is_read_again_ = true;
  from_ = assembly_.variable_called(element_name_, Level::Thread, {context_.index_dtype()});
  element_index_ = assembly_.read(from_);
}

ValueId Rows::logical_op(ir::Op op, std::vector<ValueId> operands) {
  return assembly_.add({.kind = Value::Kind::Primitive,
                        .type = {ir::DType::Bool},
                        .op = op,
                        .operand_type = ir::DType::Bool,
                        .operands = std::move(operands),
                        .naming = Value::Naming::Inline});
}

Body Rows::fold(const RowWork& work, std::vector<ValueId>::const_iterator& value, ValueId run, Around& around) {
  Body folds;
  for (RowReduction* reduction : work.reductions) {
    const bool by_run = run && reduction->has_order();
    const uint32_t count = reduction->has_order() && !by_run ? runs() * lanes_ : lanes_of(*reduction);
    const SymbolId earlier_runs = reduction->runs;  // only this thread reads them, and no longer needs them
    reductions_.declare(by_run ? around.before_run : around.before, *reduction, count, Loop::Kind::Unrolled);
    if (by_run) {
      if (earlier_runs)
        reduction->runs = earlier_runs;
      else if (residency_.has_blocked_accumulators)
        reductions_.declare_shared_runs(around.before, *reduction, runs(), threads_);
      else
        reductions_.declare_runs(around.before, *reduction, runs());
      reductions_.combine_run(around.after_run, *reduction, run);
    }
    std::vector<ValueId> operands = {*value++};
    if (reductions_.takes_factors(*reduction)) operands.push_back(*value++);
    if (reduction->types.size() > 1) operands.push_back(position_in_row());
    reductions_.fold(folds, *reduction, {accumulator_index(*reduction)}, operands, is_element_);
  }
  if (!context_.schedule.has_partial_vectors) return folds;
  // The last vector of a ragged row has elements past the row's end.
  return guarded(position_in_row(), std::move(folds));
}

Body Rows::load_cached() {
  if (!is_register_cached() || loads_.declared.empty()) return {};
  Body loads = std::move(loads_.declared);
  loads.push_back(loop_of(loads_));
  loads_ = {};
  if (!residency_.prefetches) return loads;
  loads.push_back({Let{next_number_}});
  loads.push_back(load_row(next_number_, std::move(next_row_), next_loads_));
  return loads;
}

void Rows::combine(const RowWork& work) {
  for (RowReduction* reduction : work.reductions)
    reductions_.combine(body_, *reduction, lanes_of(*reduction), threads_ / cluster_, 1, cluster_);
}

void Rows::set_empty_results(const RowWork& work) {
  for (RowReduction* reduction : work.reductions) {
    reductions_.declare(body_, *reduction, lanes_, Loop::Kind::Unrolled);
  }
  combine(work);
}

}  // namespace ingot::codegen
