#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "frontend/interpret/dicts.h"
#include "frontend/interpret/frame.h"
#include "frontend/interpret/python_builtins.h"
#include "frontend/interpret/python_numbers.h"
#include "frontend/interpret/sequences.h"
#include "frontend/library/library.h"
#include "frontend/tensor/unknown_value.h"

namespace ingot::frontend {

using ast::ExprId;

Value Frame::value_of(const ast::Constant& node, const ast::Expr&) {
  return std::visit(
      [&](const auto& value) -> Value {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, ast::NoneLiteral>) return None{};
        if constexpr (std::is_same_v<T, ast::EllipsisLiteral>) return Ellipsis{};
        if constexpr (std::is_same_v<T, bool>) return number(evaluation_.graph.host.boolean(value));
        if constexpr (std::is_same_v<T, int64_t>) return number(evaluation_.graph.host.integer(value));
        if constexpr (std::is_same_v<T, double>) return number(evaluation_.graph.host.real(value));
        if constexpr (std::is_same_v<T, std::string>) return value;
      },
      node.value);
}

Value Frame::value_of(const ast::Name& node, const ast::Expr&) {
  for (Scope* scope = &scope_; scope; scope = scope->enclosing) {
    if (auto binding = scope->values.find(node.name); binding != scope->values.end()) return binding->second;
    if (scope->locals && std::binary_search(scope->locals->begin(), scope->locals->end(), node.name)) {
      refuse_unsupported_import(node.name);
      fail_unbound_name(node.name);
    }
  }
  refuse_unsupported_import(node.name);
  if (auto value = global_name(node.name, is_library(module_))) return *value;
  fail_unknown_name(node.name);
}

void Frame::refuse_unsupported_import(std::string_view name) {
  for (Scope* scope = &scope_; scope; scope = scope->enclosing)
    for (const auto& [alias, module] : scope->unsupported_imports)
      if (alias == name)
        evaluation_.fail(fmt::format("`{}` comes from `{}`, which is outside the language", name, module),
                         "an op uses torch, torch.nn, torch.nn.functional, torch.special, torch.linalg and math");
}

void Frame::fail_unbound_name(const std::string& name) {
  evaluation_.fail(fmt::format("`{}` has no value yet", name),
                   "it is assigned in this function, so it is local here: assign it on every path to this line");
}

void Frame::fail_unknown_name(const std::string& name) {
  if (std::string_view refused = refused_name_hint(name); !refused.empty())
    evaluation_.fail(fmt::format("`{}` is outside the language", name), std::string(refused));
  if (name == "true" || name == "false" || name == "null" || name == "nil")
    evaluation_.fail(fmt::format("there is no `{}`", name),
                     fmt::format("Python's is `{}`", name == "true"    ? "True"
                                                     : name == "false" ? "False"
                                                                       : "None"));
  std::vector<std::string_view> candidates = {"torch", "math", "F"};
  for (Scope* scope = &scope_; scope; scope = scope->enclosing)
    for (const auto& [known, value] : scope->values) candidates.push_back(known);
  for (const PythonFunction& builtin : python_functions()) candidates.push_back(builtin.name);
  for (const Builtin& builtin : builtins())
    if (builtin.is_function && builtin.refusal.empty()) candidates.push_back(builtin.name);
  for (std::string_view library : library_names()) candidates.push_back(library);
  std::string hint = math_constant(name) ? fmt::format("write `math.{}`", name) : did_you_mean(name, candidates);
  evaluation_.fail(fmt::format("unknown name `{}`", name), std::move(hint));
}

/// Evaluates chains of binary operators in a loop instead of by recursion: a sum may have thousands of terms.
Value Frame::value_of(const ast::Binary&, const ast::Expr& expr) {
  std::vector<const ast::Expr*> spine;
  const ast::Expr* leftmost = &expr;
  ExprId first;
  while (const auto* node = std::get_if<ast::Binary>(&leftmost->node)) {
    spine.push_back(leftmost);
    first = node->left;
    leftmost = &module_[first];
  }
  Value value = evaluate(first);
  for (auto it = spine.rbegin(); it != spine.rend(); ++it) {
    const auto& node = std::get<ast::Binary>((*it)->node);
    const Value operands[] = {std::move(value), evaluate(node.right)};
    evaluation_.step();
    evaluation_.diagnostics.here = (*it)->span;
    value = operate(evaluation_, node.op, operands);
  }
  return value;
}

Value Frame::value_of(const ast::Unary& node, const ast::Expr&) {
  const Value operands[] = {evaluate(node.operand)};
  return operate(evaluation_, node.op, operands);
}

Value Frame::value_of(const ast::Compare& node, const ast::Expr& expr) {
  Value left = evaluate(node.left), result;
  const std::vector<ir::Condition>& conditions = evaluation_.graph.conditions;
  for (size_t i = 0; i < node.ops.size(); ++i) {
    const size_t condition_count = conditions.size();
    const Value operands[] = {left, evaluate(node.rights[i])};
    // Python evaluates this operand only if the comparisons before it hold. If the operand adds a condition, which can
    // fail, the result of these comparisons must be known.
    if (conditions.size() > condition_count && result.is_number()) evaluation_.static_number(result.number());
    bool is_identity = node.ops[i] == Operator::Is || node.ops[i] == Operator::IsNot;
    if (node.ops.size() > 1 && !is_identity && (operands[0].is_tensor() || operands[1].is_tensor())) {
      auto text = [&](size_t k) { return module_[k == 0 ? node.left : node.rights[k - 1]].span.text(); };
      size_t k = std::min(i, node.ops.size() - 2);
      evaluation_.fail("a chained comparison has no meaning on tensors",
                       fmt::format("write `({} {} {}) & ({} {} {})`", text(k), operator_text(node.ops[k]), text(k + 1),
                                   text(k + 1), operator_text(node.ops[k + 1]), text(k + 2)));
    }
    evaluation_.diagnostics.here = expr.span;
    Value holds = operate(evaluation_, node.ops[i], operands);
    if (i == 0) {
      result = holds;
    } else {
      result = number(evaluation_.host(ir::HostOp::Select,
                                       {result.number(), holds.number(), evaluation_.graph.host.boolean(false)}));
    }
    ir::HostId resolved = result.is_number() ? evaluation_.graph.host.resolve(result.number()) : ir::HostId{};
    bool is_false = result.is_number() && evaluation_.graph.host.is_constant(resolved) &&
                    !evaluation_.graph.host.value(resolved).truthy();
    if (is_false) return result;  // the other operands are not evaluated
    left = operands[1];
  }
  return result;
}

Value Frame::value_of(const ast::BoolOp& node, const ast::Expr& expr) {
  const char* word = node.is_and ? "and" : "or";
  Value value;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    value = evaluate(node.operands[i]);
    if (value.is_tensor()) {
      evaluation_.diagnostics.here = expr.span;
      evaluation_.fail(fmt::format("`{}` has no meaning on tensors", word),
                       fmt::format("write `{}` between masks, each in parentheses, or torch.logical_{}(a, b)",
                                   node.is_and ? "&" : "|", word));
    }
    if (i + 1 == node.operands.size()) break;
    LocationGuard location(evaluation_.diagnostics, module_[node.operands[i]].span);
    if (truth(evaluation_, value, fmt::format("the operand of `{}`", word)) != node.is_and) break;
  }
  return value;
}

Value Frame::value_of(const ast::IfExp& node, const ast::Expr&) {
  Value test = evaluate(node.test);
  if (test.is_tensor())
    refuse_unknown_value(evaluation_, "the condition of `a if c else b` depends on the values of a tensor",
                         fmt::format("write `where({}, {}, {})`", module_[node.test].span.text(),
                                     module_[node.then].span.text(), module_[node.otherwise].span.text()));
  bool holds = false;
  {
    LocationGuard location(evaluation_.diagnostics, module_[node.test].span);
    holds = truth(evaluation_, test, "the condition of `a if c else b`");
  }
  return evaluate(holds ? node.then : node.otherwise);
}

std::vector<Value> Frame::values_of(const std::vector<ExprId>& items) {
  evaluation_.budget.spend_items(items.size());
  std::vector<Value> values;
  values.reserve(items.size());
  for (ExprId item : items) {
    if (const auto* starred = std::get_if<ast::Starred>(&module_[item].node)) {
      Value sequence = evaluate(starred->value);
      LocationGuard location(evaluation_.diagnostics, module_[item].span);
      std::vector<Value> more = Sequence(evaluation_, sequence, "`*`").items();
      values.insert(values.end(), more.begin(), more.end());
    } else {
      values.push_back(evaluate(item));
    }
  }
  return values;
}

Value Frame::value_of(const ast::Tuple& node, const ast::Expr&) { return Value::tuple(values_of(node.items)); }
Value Frame::value_of(const ast::List& node, const ast::Expr&) { return Value::list(values_of(node.items)); }

Value Frame::value_of(const ast::Dict& node, const ast::Expr&) {
  Value dict = Value::dict();
  for (const ast::Dict::Item& item : node.items) {
    if (!item.key) {
      update(evaluation_, dict.as<Dict>(), evaluate(item.value));
      continue;
    }
    Value key = evaluate(item.key);
    LocationGuard location(evaluation_.diagnostics, module_[item.key].span);
    set_item(evaluation_, dict, key, evaluate(item.value));
  }
  return dict;
}

Value Frame::value_of(const ast::NamedExpr& node, const ast::Expr&) {
  Scope* scope = &scope_;
  for (; scope->is_comprehension; scope = scope->enclosing)
    if (std::binary_search(scope->locals->begin(), scope->locals->end(), node.name))
      evaluation_.fail(fmt::format("`{} :=` would rebind the comprehension's loop variable", node.name),
                       "choose another name");
  Value value = evaluate(node.value);
  scope->values.insert_or_assign(node.name, value);
  if (!std::holds_alternative<ast::Name>(module_[node.value].node)) evaluation_.name(value, node.name);
  return value;
}

Value Frame::value_of(const ast::Starred&, const ast::Expr&) {
  throw_internal("a starred expression is evaluated by itself");
}

Value Frame::value_of(const ast::Comprehension& node, const ast::Expr&) {
  Value first = evaluate(node.clauses[0].iterable);  // in the enclosing scope, as Python does
  auto scope = std::make_shared<Scope>(Scope{module_, &scope_, &node.locals, {}, {}, false, true});
  std::vector<Value> items;
  Frame(evaluation_, *scope).run_clauses(node, 0, first, items);
  if (scope->is_captured) evaluation_.call_stack.owned_objects.push_back(std::move(scope));
  Value list = Value::list(std::move(items));
  if (node.kind != ast::Comprehension::Kind::Dict) return list;
  Value dict = Value::dict();
  update(evaluation_, dict.as<Dict>(), list);
  return dict;
}

void Frame::run_clauses(const ast::Comprehension& node, size_t clause, const Value& iterable,
                        std::vector<Value>& items) {
  DepthGuard depth(evaluation_);
  const ast::Comprehension::Clause& current = node.clauses[clause];
  LocationGuard location(evaluation_.diagnostics, module_[current.iterable].span);
  Sequence sequence(evaluation_, iterable, "a `for`");
  auto passes = [&](ExprId condition) {
    Value test = evaluate(condition);
    LocationGuard condition_location(evaluation_.diagnostics, module_[condition].span);
    return truth(evaluation_, test, "the condition of a comprehension");
  };
  for (size_t i = 0; i < sequence.size(); ++i) {
    evaluation_.step();
    assign(current.target, sequence[i], false);
    if (!std::all_of(current.conditions.begin(), current.conditions.end(), passes)) continue;
    if (clause + 1 == node.clauses.size()) {
      evaluation_.budget.spend_items(1);
      items.push_back(evaluate(node.element));
    } else {
      run_clauses(node, clause + 1, evaluate(node.clauses[clause + 1].iterable), items);
    }
  }
}

Value Frame::make_function(ast::FunctionId id) {
  auto function = std::make_shared<Function>(Function{&module_, id, &scope_, {}});
  for (const ast::Parameter& parameter : module_[id].parameters) {
    if (parameter.default_value)
      function->defaults.emplace_back(evaluate(parameter.default_value));
    else
      function->defaults.emplace_back();
  }
  for (Scope* scope = &scope_; scope && !scope->is_captured; scope = scope->enclosing) scope->is_captured = true;
  // Keep the function alive, so that a chain of functions in each other's defaults is freed one by one, not
  // recursively.
  evaluation_.call_stack.owned_objects.push_back(function);
  return std::shared_ptr<const Function>(std::move(function));
}

Value Frame::value_of(const ast::Lambda& node, const ast::Expr&) { return make_function(node.function); }

Value Frame::value_of(const ast::Slice& node, const ast::Expr&) {
  auto bound = [&](ExprId id) { return id ? evaluate(id) : Value(None{}); };
  Value lower = bound(node.lower), upper = bound(node.upper), step = bound(node.step);
  return Slice{std::make_shared<const std::array<Value, 3>>(std::array<Value, 3>{lower, upper, step})};
}

Value Frame::value_of(const ast::Subscript& node, const ast::Expr&) {
  Value value = evaluate(node.value), index = evaluate(node.index);
  return get_item(evaluation_, value, index);
}

Value Frame::value_of(const ast::Attribute& node, const ast::Expr&) {
  Value value = evaluate(node.value);
  evaluation_.diagnostics.here = node.name_span;
  return get_attribute(evaluation_, value, node.name);
}

Value Frame::value_of(const ast::Call& node, const ast::Expr& expr) { return call_value(node, expr, true); }

/// `needs_result`: the callee must return a value.
Value Frame::call_value(const ast::Call& node, const ast::Expr& expr, bool needs_result) {
  Value callee = evaluate(node.function);
  Arguments arguments{values_of(node.arguments), {}};
  for (const ast::Call::Keyword& keyword : node.keywords) {
    Value value = evaluate(keyword.value);
    if (!keyword.name.empty()) {
      arguments.keywords.emplace_back(keyword.name, std::move(value));
      continue;
    }
    LocationGuard location(evaluation_.diagnostics, module_[keyword.value].span);
    for (auto& [name, item] : keywords_of(evaluation_, value)) arguments.keywords.emplace_back(name, std::move(item));
  }
  evaluation_.diagnostics.here = expr.span;
  if (needs_result && callee.is<std::shared_ptr<const Function>>()) {
    const ast::Function& function = callee.as<std::shared_ptr<const Function>>()->definition();
    if (!function.returns_value) {
      evaluation_.fail(fmt::format("`{}` has no `return`, so its call has no value", function.name),
                       fmt::format("end `{}` with `return …`", function.name));
    }
  }
  return call(evaluation_, callee, std::move(arguments));
}

}  // namespace ingot::frontend
