#include "codegen/kernel/assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "codegen/kernel/walk.h"
#include "codegen/target/prelude.h"

namespace ingot::codegen {
namespace {

using Kind = KernelParameter::Kind;

/// Compile time grows faster than linearly with the number of values; at this number GCC takes minutes
/// (docs/performance.md: compile-limits).
constexpr size_t kMostValues = 10'000;

/// Sort order of parameters: inputs, scalars, results, then sizes. `a` and `b` are those of KernelParameter: an access
/// and an axis or gathered coordinate, a scalar, or a buffer of partial results. In the key, the parameter's group is
/// followed by its position in the group.
std::tuple<int, uint32_t, uint32_t, uint32_t> sort_key(const KernelContext& context, const KernelParameter& parameter) {
  const auto [kind, a, b, dtype, name] = parameter;
  switch (kind) {
    case Kind::Pointer: {
      const AccessUse& use = context.outline.accesses[a];
      return {use.kind == AccessUse::Kind::Store ? 2 : 0, use.tensor, a, 0};
    }
    case Kind::Scalar:
      return {1, a, 0, 0};
    case Kind::Numel:
      return {3, 0, 0, 0};
    case Kind::Extent:
      return {4, b, 0, 0};
    case Kind::Stride:
      return {5, a, 0, b};
    case Kind::GatherExtent:
      return {5, a, 1, 2 * b};
    case Kind::GatherStride:
      return {5, a, 1, 2 * b + 1};
    case Kind::Status:
      return {6, 0, 0, 0};
    case Kind::Partials:
      return {2, UINT32_MAX, a, 0};
  }
  return {};
}

/// Removes statements whose values are not needed.
class Pruner {
 public:
  explicit Pruner(Kernel& kernel) : kernel_(kernel), needed_(kernel.values.size()), read_(kernel.symbols.size()) {}

  void prune() {
    // Repeats until nothing new is marked: the end of a loop may need values that are computed before the loop.
    for (size_t before = 1, after = 0; before != after;) {
      before = after;
      for_each_block(kernel_, [&](const Body& block) { mark(block); });
      after = static_cast<size_t>(std::ranges::count(needed_, true) + std::ranges::count(read_, true));
    }
    for_each_block(kernel_, [&](Body& block) { sweep(block); });
  }
  bool reads(SymbolId symbol) const { return read_[symbol.index]; }

 private:
  /// Marks a value and its operands as needed.
  void need(ValueId id) {
    if (!id || needed_[id.index]) return;
    needed_[id.index] = true;
    const Value& value = kernel_[id];
    if (value.symbol) read_[value.symbol.index] = true;
    std::ranges::for_each(value.operands, [&](ValueId operand) { need(operand); });
  }

  /// Whether an assignment to the target has an effect: it writes memory, or a variable that is read.
  bool is_effect(ValueId target) const {
    const Value& value = kernel_[target];
    if (value.kind == Value::Kind::Load || value.kind == Value::Kind::Pointee) return true;
    return read_[root_of(target).symbol.index];
  }

  /// The variable that contains the target, at any depth of nesting.
  const Value& root_of(ValueId target) const {
    while (kernel_[target].kind == Value::Kind::Element) target = kernel_[target].operands[0];
    return kernel_[target];
  }

  /// Marks the values that an assignment to the target needs: the pointer and the indices, not the target's old value.
  void need_target(ValueId target) {
    const Value& value = kernel_[target];
    if (value.kind == Value::Kind::Load || value.kind == Value::Kind::Pointee) return need(target);
    if (value.kind != Value::Kind::Element) return;
    need_target(value.operands[0]);
    need(value.operands[1]);
  }

  /// Marks the values that the statements of a block need.
  void mark(const Body& block) {
    for (const Statement& statement : block) std::visit([&](const auto& node) { mark_one(node); }, statement.node);
  }
  void mark_one(const Let& let) {
    if (kernel_[let.value].kind == Value::Kind::Check) need(let.value);
  }
  void mark_one(const Declare& declare) {
    if (read_[declare.variable.index]) need(declare.value);
  }
  void mark_one(const Assign& assign) {
    if (!is_effect(assign.target)) return;
    need_target(assign.target);
    need(assign.value);
  }
  void mark_one(const Advance& advance) {
    if (read_[advance.variable.index]) need(advance.by);
  }
  void mark_one(const StoreVector& store) {
    for (const ValueId id : {store.pointer, store.index, store.vector, store.end, store.begin}) need(id);
  }
  void mark_one(const If& branch) {
    mark(branch.then);
    mark(branch.otherwise);
    if (has_effect(branch.then) || has_effect(branch.otherwise)) need(branch.condition);
  }
  void mark_one(const Loop& loop) {
    mark(loop.body);
    if (!has_effect(loop.body)) return;
    need(loop.begin);
    need(loop.end);
  }
  void mark_one(const Return& leave) {
    need(leave.unless_below);
    need(leave.end);
  }

  void mark_one(const Barrier&) {}
  void mark_one(const PieceLoop& loop) {
    mark(loop.body);
    if (!has_effect(loop.body)) return;
    need(loop.begin);
    need(loop.end);
  }
  void mark_one(const Combine& combine) {
    if (!stays(combine)) return;
    for (const SymbolId symbol : combine.accumulators) read_[symbol.index] = true;
    for (const SymbolId symbol : combine.into) read_[symbol.index] = true;  // all of them are declared by one statement
  }
  void mark_one(const MergeAccumulators& merge) {
    if (!stays(merge)) return;
    read_[merge.accumulators.index] = true;
    need(merge.group);
  }
  void mark_one(const CombineRun& combine) {
    if (!stays(combine)) return;
    read_[combine.accumulators.index] = true;
    need_target(combine.into);
  }
  void mark_one(const Call& call) {
    if (stays(call)) std::ranges::for_each(call.operands, [&](ValueId operand) { need(operand); });
  }

  bool has_effect(const Body& block) const {
    return std::ranges::any_of(block, [&](const Statement& statement) {
      return std::visit([&](const auto& node) { return stays(node); }, statement.node);
    });
  }
  // Whether a statement has an effect, or is needed by one that has, and is therefore kept.
  bool stays(const Let& let) const { return needed_[let.value.index]; }
  bool stays(const Declare& declare) const { return read_[declare.variable.index]; }
  bool stays(const Combine& combine) const {
    return std::ranges::any_of(combine.into, [&](SymbolId symbol) { return read_[symbol.index]; });
  }
  bool stays(const MergeAccumulators& merge) const { return read_[merge.levels.index]; }
  bool stays(const CombineRun& combine) const { return is_effect(combine.into); }
  bool stays(const Assign& assign) const { return is_effect(assign.target); }
  bool stays(const Advance& advance) const { return read_[advance.variable.index]; }
  bool stays(const StoreVector&) const { return true; }
  bool stays(const If& branch) const { return has_effect(branch.then) || has_effect(branch.otherwise); }
  bool stays(const Loop& loop) const { return has_effect(loop.body); }
  bool stays(const Return&) const { return true; }

  bool stays(const Barrier&) const { return true; }
  bool stays(const Call& call) const { return !call.filled || read_[call.filled.index]; }
  bool stays(const PieceLoop& loop) const { return has_effect(loop.body); }

  /// Removes the statements without effect.
  void sweep(Body& block) {
    std::erase_if(block, [&](const Statement& statement) {
      return !std::visit([&](const auto& node) { return stays(node); }, statement.node);
    });
    for (Statement& statement : block) for_each_block(statement, [&](Body& inner) { sweep(inner); });
  }

  Kernel& kernel_;
  std::vector<bool> needed_, read_;
};

/// Whether all floats that are read are bfloat16, and no integer's bits are reinterpreted as a float. The low 16 bits
/// of every float32 NaN are then zeros, because the NaN comes from a bfloat16 or from an operation. Rounding to
/// bfloat16 cannot carry such a NaN to infinity, and so needs no check for NaN (docs/performance.md:
/// cpu-bfloat16-rounding).
bool nans_end_in_zeros(const KernelContext& context) {
  const auto is_other_float = [](ir::DType dtype) { return ir::is_floating(dtype) && dtype != ir::DType::BF16; };
  const auto reads_other_float = [&](const AccessUse& use) {
    return use.kind != AccessUse::Kind::Store && is_other_float(use.dtype);
  };
  const auto is_bits = [&](ir::NodeId id) { return context.graph[id].op == ir::Op::Bitcast; };
  return std::ranges::none_of(context.outline.accesses, reads_other_float) &&
         std::ranges::none_of(context.outline.scalars, is_other_float, &ScalarUse::dtype) &&
         std::ranges::none_of(nodes_of(context.graph, context.outline), is_bits);
}

}  // namespace

ir::DType KernelContext::extent_dtype() const {
  if (!cuda()) return ir::DType::I64;
  if (schedule.is_tile()) return index_dtype();
  return schedule.index_bits == 32 ? ir::DType::U32 : ir::DType::U64;
}

Assembly::Assembly(const KernelContext& context) : names_(reserved_text(context.target.kind)) {
  kernel.target = context.target;
  kernel.restrict_pointers = !context.layout.results_alias;
  // Depending on how a graph with reductions is partitioned, a kernel with or without reductions computes the same
  // elements: both must give the same bits.
  kernel.uses_reproducible_functions = !context.cuda() && context.graph.reduction_count() > 0;
  kernel.bfloat16_needs_no_nan_check = !context.cuda() && nans_end_in_zeros(context);
  kernel.launch.entry = context.outline.name;
  kernel.launch.block_threads = context.schedule.threads();
  kernel.launch.weight = context.schedule.weight;
  names_.claim(kernel.launch.entry);
}

SymbolId Assembly::variable(std::string_view preferred, Type type, Level level) {
  kernel.symbols.push_back({.name = claim(preferred), .type = type, .level = level});
  return {static_cast<uint32_t>(kernel.symbols.size() - 1)};
}

SymbolId Assembly::variable_called(const std::string& name, Level level, Type type) {
  kernel.symbols.push_back({.name = name, .type = type, .level = level});
  return {static_cast<uint32_t>(kernel.symbols.size() - 1)};
}

SymbolId Assembly::parameter(const KernelParameter& parameter, Type type, std::string_view preferred) {
  const auto [entry, is_new] = parameters_.try_emplace({parameter.kind, parameter.a, parameter.b});
  if (is_new) {
    entry->second = variable(preferred, type, Level::Kernel);
    Symbol& symbol = (*this)[entry->second];
    symbol.parameter = parameter;
    symbol.parameter->dtype = type.is_pointer ? ir::DType::I64 : type.dtype;
    symbol.parameter->name = symbol.name;
  }
  return entry->second;
}

ValueId Assembly::add(Value value) {
  for (const ValueId operand : value.operands) value.level = std::max(value.level, (*this)[operand].level);
  const bool is_computed = value.naming != Value::Naming::Inline;
  if (is_computed && redirected_) value.level = std::max(value.level, Level::Element);
  const int64_t number =
      value.number.kind == ir::HostKind::Float ? std::bit_cast<int64_t>(value.number.real) : value.number.integer;
  const ValueId next{static_cast<uint32_t>(kernel.values.size())};
  const auto [entry, is_new] =
      values_.emplace(Key{value.kind, value.type, value.level, value.op, value.operand_type, value.index, value.symbol,
                          static_cast<uint8_t>(value.number.kind), number,
                          value.operands.empty() || value.level <= Level::Row ? 0 : scope_, value.operands},
                      next);
  if (!is_new) return entry->second;
  if (kernel.values.size() == kMostValues)
    throw_author({},
                 fmt::format("too much for one kernel: `{}` would compute more than {} values, for which a compiler "
                             "takes minutes",
                             kernel.launch.entry, kMostValues),
                 "split the op into several; loops are unrolled, and each reduction computes again what it reads");
  value.node = node_;
  if (is_computed) block(value.level).push_back({Let{next}});
  kernel.values.push_back(std::move(value));
  return next;
}

ValueId Assembly::read(SymbolId symbol) { return read(symbol, (*this)[symbol].level); }

ValueId Assembly::read(SymbolId symbol, Level level) {
  return add({.kind = Value::Kind::Symbol,
              .type = (*this)[symbol].type,
              .level = level,
              .symbol = symbol,
              .naming = Value::Naming::Inline});
}

ValueId Assembly::integer(int64_t number) {
  return add(
      {.kind = Value::Kind::Literal, .type = {}, .number = ir::HostValue::of(number), .naming = Value::Naming::Inline});
}

ValueId Assembly::index(IndexOp op, ValueId a, ValueId b) {
  const bool is_comparison = op >= IndexOp::Less;
  const Type type = is_comparison                             ? Type{ir::DType::Bool}
                    : (*this)[a].kind == Value::Kind::Literal ? (*this)[b].type
                                                              : (*this)[a].type;
  return add(
      {.kind = Value::Kind::Index, .type = type, .index = op, .operands = {a, b}, .naming = Value::Naming::Inline});
}

ValueId Assembly::as_int64(ValueId index) {
  const ir::DType dtype = (*this)[index].type.dtype;
  if (dtype == ir::DType::I64) return index;
  return add({.kind = Value::Kind::Cast,
              .type = {ir::DType::I64},
              .operand_type = dtype,
              .operands = {index},
              .naming = Value::Naming::Inline});
}

ValueId Assembly::sum(const std::vector<ValueId>& terms) {
  if (terms.empty()) return integer(0);
  ValueId total = terms[0];
  for (size_t t = 1; t < terms.size(); ++t) total = index(IndexOp::Add, total, terms[t]);
  return total;
}

ValueId Assembly::item(ValueId array, ValueId number) {
  return add({.kind = Value::Kind::Element,
              .type = (*this)[array].type,
              .operands = {array, number},
              .naming = Value::Naming::Inline});
}

ValueId Assembly::lane(ValueId vector, ValueId number) {
  Type type = (*this)[vector].type;
  type.lanes = 1;
  return add(
      {.kind = Value::Kind::Element, .type = type, .operands = {vector, number}, .naming = Value::Naming::Inline});
}

ValueId Assembly::inverse(ValueId condition) {
  return add({.kind = Value::Kind::Primitive,
              .type = {ir::DType::Bool},
              .op = ir::Op::LogicalNot,
              .operand_type = ir::DType::Bool,
              .operands = {condition},
              .naming = Value::Naming::Inline});
}

ValueId Assembly::let(Body& block, ValueId id, std::string name) {
  (*this)[id].naming = Value::Naming::Exact;
  (*this)[id].name = std::move(name);
  block.push_back({Let{id}});
  return id;
}

Kernel Assembly::finish(const KernelContext& context) {
  Pruner pruner(kernel);
  pruner.prune();
  for (const auto& [key, symbol] : parameters_)
    if (pruner.reads(symbol)) kernel.parameters.push_back(symbol);
  std::ranges::stable_sort(kernel.parameters, std::less{},
                           [&](SymbolId symbol) { return sort_key(context, *(*this)[symbol].parameter); });
  for (const SymbolId symbol : kernel.parameters) kernel.launch.parameters.push_back(*(*this)[symbol].parameter);
  return std::move(kernel);
}

}  // namespace ingot::codegen
