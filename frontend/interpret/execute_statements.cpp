#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/interpret/frame.h"
#include "frontend/interpret/interpreter.h"
#include "frontend/interpret/python_numbers.h"
#include "frontend/interpret/sequences.h"
#include "frontend/tensor/in_place.h"

// Executes statements, and selects the function that evaluates an expression. Evaluation follows Python: static values
// are computed, and operations on tensors become nodes through frontend/tensor/.

namespace ingot::frontend {

using ast::ExprId;

Value Frame::evaluate(ExprId id) {
  const ast::Expr& expr = module_[id];
  LocationGuard location(evaluation_.diagnostics, expr.span);
  evaluation_.step();
  DepthGuard depth(evaluation_);
  Value value = std::visit([&](const auto& node) { return value_of(node, expr); }, expr.node);
  evaluation_.record_expression(value);
  return value;
}

Frame::Flow Frame::run(const ast::Block& block) {
  DepthGuard depth(evaluation_);
  for (ast::StmtId id : block) {
    const ast::Stmt& statement = module_[id];
    LocationGuard location(evaluation_.diagnostics, statement.span);
    evaluation_.step();
    Flow flow = std::visit([&](const auto& node) { return execute(node); }, statement.node);
    if (flow != Flow::Next) return flow;
  }
  return Flow::Next;
}

Frame::Flow Frame::execute(const ast::Return& node) {
  return_value = node.value ? evaluate(node.value) : None{};
  return_span = node.value ? module_[node.value].span : evaluation_.diagnostics.here;
  return Flow::Return;
}

Frame::Flow Frame::execute(const ast::Assign& node) {
  Value value = evaluate(node.value);
  bool is_alias = std::holds_alternative<ast::Name>(module_[node.value].node);
  for (ExprId target : node.targets) assign(target, value, !is_alias);
  return Flow::Next;
}

void Frame::assign(ExprId target, const Value& value, bool names_value) {
  const ast::Expr& expr = module_[target];
  LocationGuard location(evaluation_.diagnostics, expr.span);
  if (const auto* name = std::get_if<ast::Name>(&expr.node)) {
    scope_.values.insert_or_assign(name->name, value);
    if (names_value) evaluation_.name(value, name->name);
    return;
  }
  if (const auto* item = std::get_if<ast::Subscript>(&expr.node)) {
    Value container = evaluate(item->value);
    return set_item(evaluation_, container, evaluate(item->index), value);
  }
  const auto* tuple = std::get_if<ast::Tuple>(&expr.node);
  const std::vector<ExprId>& targets = tuple ? tuple->items : std::get<ast::List>(expr.node).items;
  if (!Sequence::is_iterable(value))
    evaluation_.fail(fmt::format("{} cannot be unpacked into {} target{}", describe(value), targets.size(),
                                 targets.size() == 1 ? "" : "s"));
  Sequence parts(evaluation_, value, "an assignment");
  if (parts.size() != targets.size())
    evaluation_.fail(fmt::format("{} value{} cannot be unpacked into {} target{}", parts.size(),
                                 parts.size() == 1 ? "" : "s", targets.size(), targets.size() == 1 ? "" : "s"));
  for (size_t i = 0; i < targets.size(); ++i) assign(targets[i], parts[i], names_value);
}

Frame::Flow Frame::execute(const ast::AugAssign& node) {
  const auto* item = std::get_if<ast::Subscript>(&module_[node.target].node);
  if (!item) {
    const Value target = evaluate(node.target);
    assign(node.target, operate_in_place(evaluation_, node.op, target, evaluate(node.value)), true);
    return Flow::Next;
  }
  const Value container = evaluate(item->value), index = evaluate(item->index);
  if (container.is_tensor()) {
    update_elements(container, index, node);
    return Flow::Next;
  }
  if (!container.items() && !container.is<Dict>())
    set_item(evaluation_, container, index, None{});  // raises the error: the container cannot be assigned to
  const Value target = get_item(evaluation_, container, index);
  set_item(evaluation_, container, index, operate_in_place(evaluation_, node.op, target, evaluate(node.value)));
  return Flow::Next;
}

/// x[index] op= y for a tensor x: writes the view x[index], or the elements that a mask selects.
void Frame::update_elements(const Value& tensor, const Value& index, const ast::AugAssign& node) {
  if (!is_mask(index)) {
    require_view_index(evaluation_, index);
    const Value target = get_item(evaluation_, tensor, index);
    operate_in_place(evaluation_, node.op, target, evaluate(node.value));
    return;
  }
  const std::array<Value, 2> operands{tensor, evaluate(node.value)};
  if (operands[1].is_tensor() && operands[1].tensor()->rank() > 0) {
    evaluation_.fail("an in-place operator on x[mask] takes one value: a number or a 0-dim tensor",
                     "choose element by element with where(mask, a, b)");
  }
  Evaluation inner = evaluation_.without_autocast();
  update_masked(evaluation_, tensor, index, operate(inner, node.op, operands));
}

Frame::Flow Frame::execute(const ast::AnnAssign& node) {
  if (node.value) assign(node.target, evaluate(node.value), true);
  return Flow::Next;
}

Frame::Flow Frame::execute(const ast::ExprStmt& node) {
  const ast::Expr& expr = module_[node.value];
  if (const auto* call = std::get_if<ast::Call>(&expr.node)) {
    LocationGuard location(evaluation_.diagnostics, expr.span);
    call_value(*call, expr, false);
  } else {
    evaluate(node.value);
  }
  return Flow::Next;
}

Frame::Flow Frame::execute(const ast::Def& node) {
  scope_.values.insert_or_assign(module_[node.function].name, make_function(node.function));
  return Flow::Next;
}

Frame::Flow Frame::execute(const ast::For& node) {
  Value iterable = evaluate(node.iterable);
  Sequence items(evaluation_, iterable, "a `for`");
  for (size_t i = 0; i < items.size(); ++i) {
    evaluation_.step();
    assign(node.target, items[i], false);
    Flow flow = run(node.body);
    if (flow == Flow::Return) return flow;
    if (flow == Flow::Break) break;
  }
  return Flow::Next;
}

Frame::Flow Frame::execute(const ast::While& node) {
  for (;;) {
    Value test = evaluate(node.test);
    LocationGuard location(evaluation_.diagnostics, module_[node.test].span);
    if (!truth(evaluation_, test, "the condition of a `while`")) return Flow::Next;
    Flow flow = run(node.body);
    if (flow == Flow::Return) return flow;
    if (flow == Flow::Break) return Flow::Next;
  }
}

Frame::Flow Frame::execute(const ast::If& node) {
  for (const ast::If::Branch& branch : node.branches) {
    Value test = evaluate(branch.test);
    LocationGuard location(evaluation_.diagnostics, module_[branch.test].span);
    if (truth(evaluation_, test, "the condition of an `if`")) return run(branch.body);
  }
  return run(node.otherwise);
}

Frame::Flow Frame::execute(const ast::Import& node) {
  for (const ast::Import::Binding& binding : node.bindings) {
    if (binding.name == "*") continue;
    std::string_view module = binding.module;
    std::optional<Namespace> space;
    if (module == "torch") space = Namespace::Torch;
    if (module == "torch.nn") space = Namespace::Nn;
    if (module == "torch.nn.functional") space = Namespace::Functional;
    if (module == "torch.special") space = Namespace::Special;
    if (module == "torch.linalg") space = Namespace::Linalg;
    if (module == "math") space = Namespace::Math;
    if (!space) {
      scope_.unsupported_imports.emplace_back(binding.alias, module);
      continue;
    }
    std::optional<Value> value = *space;
    if (!binding.name.empty()) value = namespace_attribute(evaluation_, *space, binding.name);
    if (value)
      scope_.values.insert_or_assign(binding.alias, std::move(*value));
    else
      scope_.unsupported_imports.emplace_back(binding.alias, module);
  }
  return Flow::Next;
}

Frame::Flow Frame::execute(const ast::Assert& node) {
  check(node.test, node.message ? message_text(node.message) : "");
  return Flow::Next;
}

/// Checks an assertion. An assertion that is known during lowering is decided now. An assertion on sizes or numbers
/// becomes an ir::Condition of the call.
void Frame::check(ExprId test, const std::string& message) {
  const ast::Expr& expr = module_[test];
  if (const auto* conjunction = std::get_if<ast::BoolOp>(&expr.node); conjunction && conjunction->is_and) {
    for (ExprId operand : conjunction->operands) check(operand, message);
    return;
  }
  Value value = evaluate(test);
  LocationGuard location(evaluation_.diagnostics, expr.span);
  std::string failure = message.empty() ? fmt::format("`{}` does not hold", expr.span.text()) : message;
  if (value.is_number()) {
    ir::HostPool& host = evaluation_.graph.host;
    const ir::HostId id = host.resolve(value.number());
    const auto is_int = [&](ir::HostId operand) { return host.kind(operand) == ir::HostKind::Int; };
    if (host[id].op == ir::HostOp::Eq &&
        std::ranges::all_of(host[id].args, is_int)) {  // from here on, the two are one value
      const ir::HostId a = host[id].args[0], b = host[id].args[1];
      evaluation_.require(ir::Condition::Kind::Equal, a, b, std::move(failure));
      return host.unify(a, b);
    }
    if (!host.is_constant(id)) return evaluation_.require(ir::Condition::Kind::True, id, std::move(failure));
  }
  if (!truth(evaluation_, value, "the condition of an `assert`")) evaluation_.fail(std::move(failure));
}

Frame::Flow Frame::execute(const ast::Raise& node) {
  std::string text;
  for (ExprId argument : node.arguments) text += (text.empty() ? "" : ", ") + message_text(argument);
  evaluation_.fail(text.empty() ? node.exception : text);
}

/// The text of the author's error message. Names that are bound to strings are replaced by those strings. Other
/// expressions in the message are shown as written: a message that cannot be formatted must not hide the error.
std::string Frame::message_text(ExprId id) {
  DepthGuard depth(evaluation_);
  const ast::Expr& expr = module_[id];
  if (const auto* name = std::get_if<ast::Name>(&expr.node)) {
    for (const Scope* scope = &scope_; scope; scope = scope->enclosing) {
      const auto binding = scope->values.find(name->name);
      if (binding == scope->values.end()) continue;
      return binding->second.is<std::string>() ? binding->second.as<std::string>() : name->name;
    }
  }
  if (const auto* constant = std::get_if<ast::Constant>(&expr.node))
    if (const auto* text = std::get_if<std::string>(&constant->value)) return *text;
  if (const auto* binary = std::get_if<ast::Binary>(&expr.node)) {
    if (binary->op == Operator::Mod) return message_text(binary->left);
    if (binary->op == Operator::Add) return message_text(binary->left) + message_text(binary->right);
  }
  if (const auto* call = std::get_if<ast::Call>(&expr.node))
    if (const auto* method = std::get_if<ast::Attribute>(&module_[call->function].node);
        method && method->name == "format")
      return message_text(method->value);
  return std::string(expr.span.text());
}

}  // namespace ingot::frontend
