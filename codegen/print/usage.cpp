#include "codegen/print/usage.h"

#include "codegen/kernel/walk.h"

namespace ingot::codegen {
namespace {

class Counter {
 public:
  Counter(const Kernel& kernel, Usage& usage) : kernel_(kernel), usage_(usage), block_of_(kernel.values.size()) {}

  void count() {
    for_each_block(kernel_, [&](const Body& block) { find(block); });
    for_each_block(kernel_, [&](const Body& block) { visit(block, true); });
  }

 private:
  void find(const Body& block) {
    for (const Statement& statement : block) {
      if (const Let* let = std::get_if<Let>(&statement.node)) {
        usage_.computed[let->value.index] = true;
        block_of_[let->value.index] = &block;
      }
      for_each_block(statement, [&](const Body& inner) { find(inner); });
    }
  }

  void visit(const Body& block, bool is_outermost = false) {
    std::vector<std::pair<const Let*, uint32_t>>
        lets;  // each with the uses of its value counted before: a value may be computed in several blocks
    for (const Statement& statement : block) {
      block_ = &block;
      if (const Let* let = std::get_if<Let>(&statement.node))
        lets.emplace_back(let, usage_.values[let->value.index].count);
      std::visit([&](const auto& node) { visit_one(node); }, statement.node);
      for_each_block(statement, [&](const Body& inner) { visit(inner); });
    }
    if (is_outermost) return;
    for (const auto& [let, before] : lets)
      if (usage_.values[let->value.index].count == before) usage_.idle.insert(let);
  }

  void use(ValueId id) {
    if (!id) return;
    if (!usage_.computed[id.index]) return use_operands(id);
    Usage::Of& of = usage_.values[id.index];
    ++of.count;
    of.elsewhere |= block_of_[id.index] != block_;
  }
  void use_operands(ValueId id) {
    for (const ValueId operand : kernel_[id].operands) use(operand);
  }

  void visit_one(const Let& let) { use_operands(let.value); }
  void visit_one(const Declare& declare) { use(declare.value); }
  void visit_one(const Assign& assign) {
    use_operands(assign.target);
    use(assign.value);
    usage_.values[assign.value.index].stored = pointer_of(assign.target);
  }
  void visit_one(const Advance& advance) { use(advance.by); }
  void visit_one(const StoreVector& store) {
    for (const ValueId id : {store.pointer, store.index, store.vector, store.end, store.begin}) use(id);
  }
  void visit_one(const If& branch) { use(branch.condition); }
  void visit_one(const Loop& loop) { use(loop.begin), use(loop.end); }
  void visit_one(const Barrier&) {}
  void visit_one(const Combine&) {}
  void visit_one(const Carry& carry) { use(carry.group); }
  void visit_one(const Join& join) { use_operands(join.into); }
  void visit_one(const Pieces& pieces) { use(pieces.begin), use(pieces.end); }
  void visit_one(const Call& call) {
    for (const ValueId id : call.operands) use(id);
  }
  void visit_one(const Return& leave) { use(leave.unless_below), use(leave.end); }

  /// The name of the pointer to which a target is stored: an element of memory, or a vector that is stored later.
  std::string pointer_of(ValueId target) const {
    while (!kernel_[target].operands.empty()) target = kernel_[target].operands[0];
    const Symbol& symbol = kernel_[kernel_[target].symbol];
    return symbol.type.lanes > 1 ? symbol.of : symbol.name;
  }

  const Kernel& kernel_;
  Usage& usage_;
  std::vector<const Body*> block_of_;
  const Body* block_ = nullptr;
};

}  // namespace

Usage::Usage(const Kernel& kernel) : values(kernel.values.size()), computed(kernel.values.size()) {
  Counter(kernel, *this).count();
  for (size_t v = kernel.values.size(); v-- > 0;) {  // operands precede their users
    const Value& value = kernel.values[v];
    const bool is_statement = values[v].count > 1 || values[v].elsewhere || value.naming >= Value::Naming::Author;
    const bool chooses = value.kind == Value::Kind::Primitive && value.op == ir::Op::Where;
    for (size_t k = 0; k < value.operands.size(); ++k)
      values[value.operands[k].index].in_arm |= (values[v].in_arm && !is_statement) || (chooses && k > 0);
  }
}

std::vector<ValueId> parts_of(const Kernel& kernel, const Usage& usage, ValueId id) {
  std::vector<ValueId> parts;
  for (const ValueId operand : kernel[id].operands) {
    if (usage.computed[operand.index])
      parts.push_back(operand);
    else
      for (const ValueId part : parts_of(kernel, usage, operand)) parts.push_back(part);
  }
  return parts;
}

}  // namespace ingot::codegen
