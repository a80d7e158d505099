#include "codegen/print/usage.h"

#include "codegen/kernel/walk.h"

namespace ingot::codegen {
namespace {

/// Fills in the Usage of a kernel.
class UsageCounter {
 public:
  UsageCounter(const Kernel& kernel, Usage& usage) : kernel_(kernel), usage_(usage), block_of_(kernel.values.size()) {}

  void count() {
    for_each_block(kernel_, [&](const Body& block) { record_lets(block); });
    for_each_block(kernel_, [&](const Body& block) { visit(block, true); });
  }

 private:
  /// Records the block of each Let.
  void record_lets(const Body& block) {
    for (const Statement& statement : block) {
      if (const Let* let = std::get_if<Let>(&statement.node)) {
        usage_.is_computed[let->value.index] = true;
        block_of_[let->value.index] = &block;
      }
      for_each_block(statement, [&](const Body& inner) { record_lets(inner); });
    }
  }

  void visit(const Body& block, bool is_outermost = false) {
    // Each Let, with the number of uses of its value before the Let: several blocks may compute one value.
    std::vector<std::pair<const Let*, uint32_t>> lets;
    for (const Statement& statement : block) {
      block_ = &block;
      if (const Let* let = std::get_if<Let>(&statement.node))
        lets.emplace_back(let, usage_.values[let->value.index].count);
      std::visit([&](const auto& node) { visit_one(node); }, statement.node);
      for_each_block(statement, [&](const Body& inner) { visit(inner); });
    }
    if (is_outermost) return;
    for (const auto& [let, previous_count] : lets)
      if (usage_.values[let->value.index].count == previous_count) usage_.unused_lets.insert(let);
  }

  void count_use(ValueId id) {
    if (!id) return;
    if (!usage_.is_computed[id.index]) return count_operands(id);
    Usage::ValueUsage& uses = usage_.values[id.index];
    ++uses.count;
    uses.is_used_in_other_block |= block_of_[id.index] != block_;
  }
  void count_operands(ValueId id) {
    for (const ValueId operand : kernel_[id].operands) count_use(operand);
  }

  void visit_one(const Let& let) { count_operands(let.value); }
  void visit_one(const Declare& declare) { count_use(declare.value); }
  void visit_one(const Assign& assign) {
    count_operands(assign.target);
    count_use(assign.value);
    usage_.values[assign.value.index].stored_to = pointer_of(assign.target);
  }
  void visit_one(const Advance& advance) { count_use(advance.by); }
  void visit_one(const StoreVector& store) {
    for (const ValueId id : {store.pointer, store.index, store.vector, store.end, store.begin}) count_use(id);
  }
  void visit_one(const If& branch) { count_use(branch.condition); }
  void visit_one(const Loop& loop) { count_use(loop.begin), count_use(loop.end); }
  void visit_one(const Barrier&) {}
  void visit_one(const Combine&) {}
  void visit_one(const MergeAccumulators& merge) { count_use(merge.group); }
  void visit_one(const CombineRun& combine) { count_operands(combine.into); }
  void visit_one(const PieceLoop& loop) { count_use(loop.begin), count_use(loop.end); }
  void visit_one(const Call& call) {
    for (const ValueId id : call.operands) count_use(id);
  }
  void visit_one(const Return& leave) { count_use(leave.unless_below), count_use(leave.end); }

  /// The name of the pointer to which a target is stored: an element of memory, or a vector that is stored later.
  std::string pointer_of(ValueId target) const {
    while (!kernel_[target].operands.empty()) target = kernel_[target].operands[0];
    const Symbol& symbol = kernel_[kernel_[target].symbol];
    return symbol.type.lanes > 1 ? symbol.meaning : symbol.name;
  }

  const Kernel& kernel_;
  Usage& usage_;
  std::vector<const Body*> block_of_;
  const Body* block_ = nullptr;
};

}  // namespace

Usage::Usage(const Kernel& kernel) : values(kernel.values.size()), is_computed(kernel.values.size()) {
  UsageCounter(kernel, *this).count();
  for (size_t v = kernel.values.size(); v-- > 0;) {  // operands precede their users
    const Value& value = kernel.values[v];
    const bool is_statement =
        values[v].count > 1 || values[v].is_used_in_other_block || value.naming >= Value::Naming::Author;
    const bool is_where = value.kind == Value::Kind::Primitive && value.op == ir::Op::Where;
    for (size_t k = 0; k < value.operands.size(); ++k)
      values[value.operands[k].index].is_in_arm |= (values[v].is_in_arm && !is_statement) || (is_where && k > 0);
  }
}

std::vector<ValueId> computed_operands(const Kernel& kernel, const Usage& usage, ValueId id) {
  std::vector<ValueId> leaves;
  for (const ValueId operand : kernel[id].operands) {
    if (usage.is_computed[operand.index])
      leaves.push_back(operand);
    else
      for (const ValueId inner : computed_operands(kernel, usage, operand)) leaves.push_back(inner);
  }
  return leaves;
}

}  // namespace ingot::codegen
