#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "frontend/interpret/interpreting.h"
#include "frontend/interpret/python_builtins.h"
#include "frontend/interpret/python_numbers.h"
#include "frontend/interpret/sequences.h"
#include "frontend/library/library.h"
#include "frontend/syntax/parser.h"

// Calls: arguments to parameters, then the callee's body.

namespace ingot::frontend {

namespace {

using Kind = ast::Parameter::Kind;

/// The signatures of builtins, each read once from its text by the parser of the language.
class BuiltinSignatures {
 public:
  BuiltinSignatures() {
    for (std::span<const Builtin> table : {builtins(), python_builtins(), math_functions()})
      for (const Builtin& builtin : table) modules_.emplace(&builtin, read(builtin));
  }
  const ast::Module& operator[](const Builtin& builtin) const {
    auto found = modules_.find(&builtin);
    if (found == modules_.end()) throw_internal("a builtin outside the tables: " + std::string(builtin.name));
    return found->second;
  }

 private:
  static ast::Module read(const Builtin& builtin) {
    std::string text = fmt::format("def {}{}: pass", builtin.name, builtin.signature);
    return parse(std::make_shared<Source>(std::string(builtin.name), std::move(text)));
  }

  std::unordered_map<const Builtin*, ast::Module> modules_;
};

const ast::Module& signature_of(const Builtin& builtin) {
  static const BuiltinSignatures signatures;
  return signatures[builtin];
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "`" : i + 1 == names.size() ? " and `" : ", `") + names[i] + "`";
  return text;
}

Value call_builtin(Lowering& lowering, const Builtin& builtin, Arguments arguments) {
  const ast::Module& module = signature_of(builtin);
  const ast::Function& callee = module.functions.front();
  std::vector<std::optional<Value>> bound = bind(lowering, module, callee, std::move(arguments));
  std::vector<Value> values;
  for (size_t i = 0; i < bound.size(); ++i) {
    if (bound[i]) {
      values.push_back(std::move(*bound[i]));
      continue;
    }
    Scope scope{module, nullptr, nullptr, {}, {}, false};
    values.push_back(Frame(lowering, scope).evaluate(callee.parameters[i].fallback));
  }
  return builtin.call(lowering, builtin, values);
}

bool any_tensor(const Arguments& arguments) {
  return std::any_of(arguments.positional.begin(), arguments.positional.end(),
                     [](const Value& value) { return value.is_tensor(); }) ||
         std::any_of(arguments.keywords.begin(), arguments.keywords.end(),
                     [](const auto& keyword) { return keyword.second.is_tensor(); });
}

/// Marks a function as being evaluated, and where it was called.
class Activation {
 public:
  Activation(Lowering& lowering, const ast::Function& function, bool is_native)
      : lowering_(lowering), is_native_(is_native) {
    lowering.active.push_back(&function);
    lowering.native_depth += is_native;
    if (lowering.here) lowering.call_stack.push_back({function.name, lowering.here}), called_ = true;
  }
  ~Activation() {
    lowering_.active.pop_back();
    lowering_.native_depth -= is_native_;
    if (called_) lowering_.call_stack.pop_back();
  }
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

 private:
  Lowering& lowering_;
  bool is_native_, called_ = false;
};

void refuse_recursion(Lowering& lowering, const ast::Function& function) {
  auto begun = std::find(lowering.active.begin(), lowering.active.end(), &function);
  if (begun == lowering.active.end()) return;
  std::string through;
  for (auto at = begun + 1; at != lowering.active.end(); ++at) through += fmt::format(" through `{}`", (*at)->name);
  lowering.fail(fmt::format("`{}` calls itself{}", function.name, through),
                "recursion is outside the language: write a `for` over a range");
}

}  // namespace

std::string signature_text(const ast::Module& module, const ast::Function& function) {
  std::string text;
  bool star = false;
  for (const ast::Parameter& parameter : function.parameters) {
    if (!text.empty()) text += ", ";
    if (parameter.kind == Kind::KeywordOnly && !star) text += "*, ";
    if (parameter.kind == Kind::VarArgs) text += "*";
    star = star || parameter.kind != Kind::Positional;
    text += parameter.name;
    if (parameter.fallback) text += "=" + std::string(module[parameter.fallback].span.text());
  }
  return fmt::format("{}({})", function.name, text);
}

std::vector<std::optional<Value>> bind(Lowering& lowering, const ast::Module& module, const ast::Function& callee,
                                       Arguments arguments) {
  const std::vector<ast::Parameter>& parameters = callee.parameters;
  auto hint = [&] { return "its parameters are `" + signature_text(module, callee) + "`"; };
  std::vector<std::optional<Value>> values(parameters.size());

  size_t positional = 0, next = 0;
  for (; positional < parameters.size() && parameters[positional].kind == Kind::Positional; ++positional)
    if (next < arguments.positional.size()) values[positional] = std::move(arguments.positional[next++]);
  if (positional < parameters.size() && parameters[positional].kind == Kind::VarArgs) {
    std::vector<Value> rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(next),
                            arguments.positional.end());
    values[positional] = Value::tuple(std::move(rest));
  } else if (next < arguments.positional.size()) {
    lowering.fail(fmt::format("`{}` takes {} positional argument{}, but {} {} given", callee.name, positional,
                              positional == 1 ? "" : "s", arguments.positional.size(),
                              arguments.positional.size() == 1 ? "is" : "are"),
                  hint());
  }

  for (auto& [name, value] : arguments.keywords) {
    auto parameter = std::find_if(parameters.begin(), parameters.end(), [&, &wanted = name](const ast::Parameter& p) {
      return p.name == wanted && p.kind != Kind::VarArgs;
    });
    if (parameter == parameters.end()) {
      std::vector<std::string_view> known;
      for (const ast::Parameter& p : parameters) known.push_back(p.name);
      std::string meant = did_you_mean(name, known);
      lowering.fail(fmt::format("`{}` has no parameter `{}`", callee.name, name),
                    meant.empty() ? hint() : meant + " " + hint());
    }
    std::optional<Value>& slot = values[static_cast<size_t>(parameter - parameters.begin())];
    if (slot) lowering.fail(fmt::format("`{}` is given twice in this call of `{}`", name, callee.name), hint());
    slot = std::move(value);
  }

  std::vector<std::string> missing;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!values[i] && !parameters[i].fallback) missing.push_back(parameters[i].name);
  if (!missing.empty())
    lowering.fail(fmt::format("this call of `{}` lacks {}", callee.name, quoted_list(missing)), hint());
  return values;
}

Value call_bound(Lowering& lowering, const Function& function, std::vector<std::optional<Value>> values,
                 Span* returned_at) {
  const ast::Function& definition = function.definition();
  refuse_recursion(lowering, definition);
  bool is_native = !function.enclosing && has_decorator(*function.module, definition, "native");
  auto scope = std::make_shared<Scope>(Scope{*function.module, function.enclosing, &definition.locals, {}, {}, false});
  std::vector<Value> operands;
  Value result;
  {
    Activation activation(lowering, definition, is_native);
    Frame frame(lowering, *scope);
    for (size_t i = 0; i < values.size(); ++i) {
      const ast::Parameter& parameter = definition.parameters[i];
      if (!values[i] && i < function.defaults.size()) values[i] = function.defaults[i];
      if (!values[i]) values[i] = frame.evaluate(parameter.fallback);
      if (is_native) operands.push_back(*values[i]);
      scope->values.insert_or_assign(parameter.name, std::move(*values[i]));
    }
    if (definition.value) {
      result = frame.evaluate(definition.value);
    } else if (frame.run(definition.body) == Frame::Flow::Return) {
      result = std::move(frame.returned);
      if (returned_at) *returned_at = frame.returned_at;
    }
  }
  if (scope->captured) lowering.kept.push_back(std::move(scope));
  return is_native ? native_result(lowering, definition.name, result, operands) : result;
}

Value call(Lowering& lowering, const Value& callee, Arguments arguments) {
  if (callee.is<std::shared_ptr<const Function>>()) {
    const Function& function = *callee.as<std::shared_ptr<const Function>>();
    auto values = bind(lowering, *function.module, function.definition(), std::move(arguments));
    return call_bound(lowering, function, std::move(values));
  }
  if (callee.is<const Builtin*>()) {
    const Builtin& builtin = *callee.as<const Builtin*>();
    if (has_torch_twin(builtin) && any_tensor(arguments)) {
      auto twin = torch_function(builtin.name);
      if (!twin)
        lowering.fail(fmt::format("`{}` of tensors is not in the language", builtin.name),
                      fmt::format("`{}` takes numbers, tuples and lists", builtin.name));
      return call(lowering, *twin, std::move(arguments));
    }
    return call_builtin(lowering, builtin, std::move(arguments));
  }
  if (callee.is<BoundMethod>()) {
    const auto& [function, self] = callee.as<BoundMethod>();
    if (function->is<std::string>()) {
      if (!arguments.keywords.empty()) lowering.fail("a list's methods take no keyword arguments", "remove the name");
      return call_list_method(lowering, function->as<std::string>(), self->as<List>(), arguments.positional);
    }
    arguments.positional.insert(arguments.positional.begin(), *self);
    return call(lowering, *function, std::move(arguments));
  }
  lowering.fail(fmt::format("{} cannot be called", describe(callee)),
                callee.is_tensor() || callee.items() ? "an index stands in `[…]`" : "");
}

Depth::Depth(Lowering& lowering) : lowering_(lowering) {
  constexpr int kMaxDepth = 800;
  if (lowering.depth == kMaxDepth)
    lowering.fail("the evaluation is nested too deeply", "give the inner expressions names of their own");
  ++lowering.depth;
}

}  // namespace ingot::frontend
