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

std::vector<ir::NodeId> Rows::keep(Job& job) {
  const std::vector<ir::NodeId> nodes = nodes_of(context_.graph, roots_of(job));
  std::vector<ir::NodeId> added;
  for (const ir::NodeId node : rows_.kept) {
    if (computed_.contains(node))
      job.known[node] = element_of(computed_.at(node));
    else if (!in_other_arms_ && std::ranges::binary_search(nodes, node))
      added.push_back(node);  // code that only some rows execute must not cache values
  }
  // Shared memory has room for the inputs only.
  if (rows_.shared > 0 && (added.size() != 1 || !place_of_input(added[0]))) added.clear();
  for (const ir::NodeId node : added) job.roots.push_back({node, context_.graph[node].dtype});
  return added;
}

SymbolId Rows::place_of_values(ir::NodeId node, bool is_alone, Body& declared) {
  if (const SymbolId array = is_alone ? place_of_input(node) : SymbolId{}) return array;
  const Type type{context_.graph[node].dtype, lanes_};
  const std::string name = memory_.author_name(node);
  const SymbolId array =
      array_of_steps(assembly_.variable((name.empty() ? "value" : name) + "_of", type, Level::Thread));
  declared.push_back({Declare{array}});
  return array;
}

SymbolId Rows::place_of_input(ir::NodeId node) {
  const Type type{context_.graph[node].dtype, lanes_};
  for (const auto& [access, array] : arrays_)
    if (assembly_[array].type == type && !is_taken(array) && !is_read_later(access, node)) return array;
  return {};
}

bool Rows::is_taken(SymbolId array) const {
  return std::ranges::any_of(computed_, [&](const auto& computed) { return computed.second == array; });
}

bool Rows::is_read_later(uint32_t access, ir::NodeId kept) {
  std::vector<ir::NodeId> pending;
  for (uint32_t phase = phase_ + 1; phase <= reductions_.phases(); ++phase)
    std::ranges::copy(roots_of(reductions_.of_phase(phase).job), std::back_inserter(pending));
  if (phase_ < rows_.early) std::ranges::copy(reductions_.other_arms(), std::back_inserter(pending));
  std::set<ir::NodeId> visited;
  while (!pending.empty()) {
    const ir::NodeId node = pending.back();
    pending.pop_back();
    if (node == kept || computed_.contains(node) || !visited.insert(node).second) continue;
    for (const ir::NodeId arg : context_.graph[node].args)
      if (context_.graph[arg].op != ir::Op::Reduce) pending.push_back(arg);
  }
  std::vector<ir::NodeId> accesses = nodes_of(context_.graph, context_.outline);
  std::erase_if(accesses, [&](ir::NodeId id) { return !is_access(context_.graph, context_.outline, id); });
  return visited.contains(accesses.at(access));
}

void Rows::go_through(uint32_t phase) {
  phase_ = phase;
  if (phase > 0 && phase == rows_.early) return go_through_other_arms();
  go_through(reductions_.of_phase(phase), body_);
}

void Rows::go_through(RowWork work, Body& ahead) {
  if (work.job.roots.empty()) return;
  if (context_.layout.has_empty_rows) return set_empty_results(work);
  if (rows_.by_runs) arrays_.clear();
  vectors_.clear();
  quotients_.clear();
  std::erase_if(chunks_, [&](const auto& chunk) { return !is_kept(chunk.second); });
  if (phase_ == 0) read_ahead();
  foresee(work.job);
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

Loop Rows::loop_over_runs(Body body) {
  Loop loop{Loop::Kind::Unrolled, run_number_, whole(0), whole(runs()), std::move(body)};
  if (rows_.by_runs) loop.kind = Loop::Kind::Strided, loop.unroll = 1;
  return loop;
}

void Rows::go_through_other_arms() {
  if (context_.layout.has_empty_rows) return;
  std::vector<RowReduction> others;
  RowWork work = reductions_.of_other_arms(others);
  std::vector<ValueId> needs_other_arm = compute(context_, assembly_, memory_, *this, reductions_.early_conditions());
  settle();
  for (ValueId& condition : needs_other_arm) condition = assembly_.inverse(condition);
  ValueId any = needs_other_arm[0];
  for (size_t r = 1; r < needs_other_arm.size(); ++r) any = logical(ir::Op::LogicalOr, {any, needs_other_arm[r]});
  const bool has_several_rows = context_.schedule.threads > threads_;
  if (has_several_rows)
    any = assembly_.add({.kind = Value::Kind::AnyRow,
                         .type = {ir::DType::Bool},
                         .number = ir::HostValue::of(static_cast<int64_t>(threads_)),
                         .operands = {any},
                         .naming = Value::Naming::Inline});
  Body outer_body = std::exchange(body_, {});
  in_other_arms_ = true;
  if (rows_.by_runs) read_again();
  go_through(std::move(work), outer_body);
  in_other_arms_ = false;
  const std::vector<RowReduction*> early = reductions_.early();
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

ValueId Rows::logical(ir::Op op, std::vector<ValueId> operands) {
  return assembly_.add({.kind = Value::Kind::Primitive,
                        .type = {ir::DType::Bool},
                        .op = op,
                        .work = ir::DType::Bool,
                        .operands = std::move(operands),
                        .naming = Value::Naming::Inline});
}

Body Rows::fold(const RowWork& work, std::vector<ValueId>::const_iterator& value, ValueId run, Around& around) {
  Body folds;
  for (RowReduction* reduction : work.reductions) {
    const bool joins = run && reduction->has_order();
    const uint32_t count = reduction->has_order() && !joins ? runs() * lanes_ : lanes_of(*reduction);
    const SymbolId earlier_runs = reduction->runs;  // only this thread reads them, and no longer needs them
    reductions_.declare(joins ? around.of_run : around.ahead, *reduction, count, Loop::Kind::Unrolled);
    if (joins) {
      if (earlier_runs)
        reduction->runs = earlier_runs;
      else if (rows_.by_runs)
        reductions_.declare_shared_runs(around.ahead, *reduction, runs(), threads_);
      else
        reductions_.declare_runs(around.ahead, *reduction, runs());
      reductions_.join(around.behind_run, *reduction, run);
    }
    std::vector<ValueId> operands = {*value++};
    if (reductions_.takes_factors(*reduction)) operands.push_back(*value++);
    if (reduction->types.size() > 1) operands.push_back(wide(position_in_row()));
    reductions_.fold(folds, *reduction, {class_number(*reduction)}, operands);
  }
  if (!context_.schedule.ragged) return folds;
  // The last vector of a ragged row has elements past the row's end.
  const ValueId is_element = assembly_.index(IndexOp::Less, position_in_row(), places_.length());
  return guarded(is_element, std::move(folds));
}

Body Rows::load_resident() {
  if (!is_resident() || loads_.declared.empty()) return {};
  Body loads = std::move(loads_.declared);
  loads.push_back(loop_of(loads_));
  loads_ = {};
  if (!rows_.prefetches) return loads;
  loads.push_back({Let{next_number_}});
  loads.push_back(load_row(next_number_, std::move(next_row_), of_next_));
  return loads;
}

void Rows::combine(const RowWork& work) {
  for (RowReduction* reduction : work.reductions)
    reductions_.combine(body_, *reduction, lanes_of(*reduction), threads_ / rows_.cluster, 1, rows_.cluster);
}

void Rows::set_empty_results(const RowWork& work) {
  for (RowReduction* reduction : work.reductions) {
    reductions_.declare(body_, *reduction, lanes_, Loop::Kind::Unrolled);
  }
  combine(work);
}

}  // namespace ingot::codegen
