#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "frontend/interpret/autocast.h"
#include "frontend/interpret/dicts.h"
#include "frontend/interpret/frame.h"
#include "frontend/interpret/python_builtins.h"
#include "frontend/interpret/python_numbers.h"
#include "frontend/interpret/sequences.h"
#include "frontend/library/library.h"
#include "frontend/syntax/ast_print.h"
#include "frontend/syntax/parser.h"
#include "frontend/tensor/in_place.h"
#include "frontend/tensor/native.h"

// Calls: binds arguments to parameters and evaluates the callee's body.

namespace ingot::frontend {

namespace {

using Kind = ast::Parameter::Kind;

/// The signatures of the functions that are written in C++, parsed once from their source text.
class Signatures {
 public:
  Signatures() {
    read(builtins(), kLibraryPrefix);
    read(python_functions());
    read(math_functions());
  }
  const ast::Module& module_of(const void* function) const {
    auto entry = modules_.find(function);
    if (entry == modules_.end()) throw_internal("a function outside the tables");
    return entry->second;
  }

 private:
  void read(const auto& table, std::string_view source_prefix = {}) {
    for (const auto& row : table) {
      std::string text = fmt::format("def {}{}: pass", row.name, row.signature);
      modules_.emplace(&row,
                       parse(std::make_shared<Source>(fmt::format("{}{}", source_prefix, row.name), std::move(text))));
    }
  }

  std::unordered_map<const void*, ast::Module> modules_;
};

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "`" : i + 1 == names.size() ? " and `" : ", `") + names[i] + "`";
  return text;
}

const Signatures& signatures() {
  static const Signatures parsed;
  return parsed;
}

/// The PyTorch name of a builtin; empty for one of Python's own functions.
std::string_view torch_name(const Builtin& row) { return row.alias_of.empty() ? row.name : row.alias_of; }
std::string_view torch_name(const PythonFunction&) { return {}; }

/// Calls a Builtin or a PythonFunction: binds the arguments to its signature, and fills in defaults.
Value call_table_function(Evaluation& evaluation, const auto& row, Arguments arguments) {
  const ast::Module& module = signatures().module_of(&row);
  const ast::Function& callee = module.functions.front();
  std::vector<std::optional<Value>> bound = bind(evaluation, module, callee, std::move(arguments));
  autocast_arguments(evaluation, torch_name(row), callee.parameters, bound);
  std::vector<Value> values;
  for (size_t i = 0; i < bound.size(); ++i) {
    if (bound[i]) {
      values.push_back(std::move(*bound[i]));
      continue;
    }
    Scope scope{module, nullptr, nullptr, {}, {}, false};
    values.push_back(Frame(evaluation, scope).evaluate(callee.parameters[i].default_value));
  }
  return row.call(evaluation, row, values);
}

bool has_tensor(const Arguments& arguments) {
  return std::any_of(arguments.positional.begin(), arguments.positional.end(),
                     [](const Value& value) { return value.is_tensor(); }) ||
         std::any_of(arguments.keywords.begin(), arguments.keywords.end(),
                     [](const auto& keyword) { return keyword.second.is_tensor(); });
}

/// Calls name_(target, …): evaluates the function out of place, then writes the result into `target`.
Value call_in_place(Evaluation& evaluation, const Value& function, Arguments arguments) {
  if (arguments.positional.empty()) {
    evaluation.fail("an in-place function takes the tensor that it changes as its first argument",
                    "such as torch.relu_(x)");
  }
  const Value target = arguments.positional.front();
  std::vector<Value> operands(arguments.positional.begin() + 1, arguments.positional.end());
  for (const auto& [name, value] : arguments.keywords) operands.push_back(value);
  Evaluation inner = evaluation.without_autocast();
  write_in_place(evaluation, target, call(inner, function, std::move(arguments)), operands);
  return target;
}

/// Whether a call of a library function has `inplace=True`.
bool is_in_place_call(Evaluation& evaluation, const Function& function, std::span<const std::optional<Value>> values) {
  if (!is_library(*function.module) || evaluation.native) return false;  // native functions write nothing
  const std::vector<ast::Parameter>& parameters = function.definition().parameters;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == "inplace" && values[i]) return truth(evaluation, *values[i], "`inplace`");
  return false;
}

/// Marks a function as active, and records the location of its call.
class Activation {
 public:
  Activation(Evaluation& evaluation, const ast::Function& function) : evaluation_(evaluation) {
    evaluation.call_stack.functions.push_back(&function);
    if (evaluation.diagnostics.here)
      evaluation.diagnostics.call_stack.push_back({function.name, evaluation.diagnostics.here}), has_call_site_ = true;
  }
  ~Activation() {
    evaluation_.call_stack.functions.pop_back();
    if (has_call_site_) evaluation_.diagnostics.call_stack.pop_back();
  }
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

 private:
  Evaluation& evaluation_;
  bool has_call_site_ = false;
};

/// Limits recursion. A function may be active several times (for example a function that calls its argument), but not
/// without end.
void refuse_endless_recursion(Evaluation& evaluation, const ast::Function& function) {
  constexpr std::ptrdiff_t kMaxActivations = 32;
  const std::vector<const ast::Function*>& active = evaluation.call_stack.functions;
  if (std::count(active.begin(), active.end(), &function) < kMaxActivations) return;
  auto last = std::find(active.rbegin(), active.rend(), &function).base();
  std::string through;
  for (; last != active.end(); ++last) through += fmt::format(" through `{}`", (*last)->name);
  evaluation.fail(fmt::format("`{}` calls itself{} more than {} deep", function.name, through, kMaxActivations),
                  "write a `for` over a range");
}

/// Translates NumPy's parameter names, which PyTorch's functions accept for some parameters.
const std::string& torch_parameter_name(const std::string& name, const std::vector<ast::Parameter>& parameters) {
  static const std::map<std::string, std::string, std::less<>> kTorchNames = {{"axis", "dim"}, {"keepdims", "keepdim"}};
  const auto translation = kTorchNames.find(name);
  const auto has_parameter = [&](const std::string& candidate) {
    return std::ranges::count(parameters, candidate, &ast::Parameter::name) > 0;
  };
  const bool translates =
      translation != kTorchNames.end() && !has_parameter(name) && has_parameter(translation->second);
  return translates ? translation->second : name;
}

/// A function's name as authors write it. A prefix marks a def of the library that implements a function of only one
/// namespace, or only the method.
std::string public_name(const ast::Module& module, const ast::Function& function) {
  constexpr std::pair<std::string_view, std::string_view> kPrefixes[] = {
      {"_torch_", "torch."}, {"_linalg_", "torch.linalg."}, {"_method_", ""}};
  const std::string_view name = function.name;
  if (is_library(module))
    for (const auto& [prefix, qualifier] : kPrefixes)
      if (name.starts_with(prefix)) return std::string(qualifier).append(name.substr(prefix.size()));
  return std::string(name);
}

/// Requires a tensor for each library parameter with the annotation `Tensor`, as PyTorch's argument parser does. Calls
/// from inside the library may pass numbers.
void require_tensors(Evaluation& evaluation, const Function& function, std::span<const std::optional<Value>> values) {
  if (!is_library(*function.module) || evaluation.diagnostics.in_library()) return;
  const std::vector<ast::Parameter>& parameters = function.definition().parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!values[i] || !values[i]->is_number() || !parameters[i].annotation) continue;
    const auto* annotation = std::get_if<ast::Name>(&(*function.module)[parameters[i].annotation].node);
    if (!annotation || annotation->name != "Tensor") continue;
    evaluation.fail(fmt::format("{}: `{}` must be a tensor, not a number",
                                public_name(*function.module, function.definition()), parameters[i].name),
                    "write full_like(x, number)");
  }
}

}  // namespace

std::vector<std::optional<Value>> bind(Evaluation& evaluation, const ast::Module& module, const ast::Function& callee,
                                       Arguments arguments) {
  const std::vector<ast::Parameter>& parameters = callee.parameters;
  const std::string callee_name = public_name(module, callee);
  auto hint = [&] {
    return "its parameters are `" + callee_name + signature_text(module, callee).substr(callee.name.size()) + "`";
  };
  std::vector<std::optional<Value>> values(parameters.size());

  Dict extra_keywords;
  if (!parameters.empty() && parameters.back().kind == Kind::VarKeywords) {
    values.back() = Value::dict();
    extra_keywords = values.back()->as<Dict>();
  }
  size_t positional = 0, next = 0;
  for (; positional < parameters.size() && parameters[positional].kind == Kind::Positional; ++positional)
    if (next < arguments.positional.size()) values[positional] = std::move(arguments.positional[next++]);
  if (positional < parameters.size() && parameters[positional].kind == Kind::VarArgs) {
    std::vector<Value> rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(next),
                            arguments.positional.end());
    values[positional] = Value::tuple(std::move(rest));
  } else if (next < arguments.positional.size()) {
    evaluation.fail(fmt::format("`{}` takes {} positional argument{}, but {} {} given", callee_name, positional,
                                positional == 1 ? "" : "s", arguments.positional.size(),
                                arguments.positional.size() == 1 ? "is" : "are"),
                    hint());
  }

  for (auto& [keyword, value] : arguments.keywords) {
    const std::string& name = is_library(module) ? torch_parameter_name(keyword, parameters) : keyword;
    auto parameter = std::find_if(parameters.begin(), parameters.end(), [&, &expected = name](const ast::Parameter& p) {
      return p.name == expected && p.kind != Kind::VarKeywords && (p.kind != Kind::VarArgs || is_library(module));
    });
    if (parameter == parameters.end() && extra_keywords.keys) {
      if (find_item(evaluation, extra_keywords, name))
        evaluation.fail(fmt::format("`{}` is given twice in this call of `{}`", name, callee_name), hint());
      set_item(evaluation, *values.back(), name, value);
      continue;
    }
    if (parameter == parameters.end()) {
      std::vector<std::string_view> candidates;
      for (const ast::Parameter& p : parameters) candidates.push_back(p.name);
      std::string suggestion =
          name == "out" ? "call the op itself with out=, or write y.copy_(…) in it:" : did_you_mean(name, candidates);
      evaluation.fail(fmt::format("`{}` has no parameter `{}`", callee_name, name),
                      suggestion.empty() ? hint() : suggestion + " " + hint());
    }
    std::optional<Value>& slot = values[static_cast<size_t>(parameter - parameters.begin())];
    // PyTorch's functions also take *dims as a keyword argument: x.flip(dims=(0, 1)).
    if (parameter->kind == Kind::VarArgs && slot->items()->empty()) {
      slot = Value::tuple({value});
      continue;
    }
    if (slot) evaluation.fail(fmt::format("`{}` is given twice in this call of `{}`", name, callee_name), hint());
    slot = std::move(value);
  }

  std::vector<std::string> missing;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!values[i] && !parameters[i].default_value) missing.push_back(parameters[i].name);
  if (!missing.empty())
    evaluation.fail(fmt::format("this call of `{}` lacks {}", callee_name, quoted_list(missing)), hint());
  return values;
}

Value call_bound(Evaluation& evaluation, const Function& function, std::vector<std::optional<Value>> values,
                 Span* return_span) {
  const ast::Function& definition = function.definition();
  refuse_endless_recursion(evaluation, definition);
  if (is_library(*function.module) && autocast_arguments(evaluation, definition.name, definition.parameters, values)) {
    Evaluation inner = evaluation.without_autocast();
    return call_bound(inner, function, std::move(values), return_span);
  }
  const bool is_reduction = !function.enclosing && has_decorator(*function.module, definition, "reduction");
  bool is_native = !function.enclosing && (is_reduction || has_decorator(*function.module, definition, "native"));
  auto scope = std::make_shared<Scope>(Scope{*function.module, function.enclosing, &definition.locals, {}, {}, false});
  std::vector<Value> operands;
  Value result;
  {
    Activation activation(evaluation, definition);
    Evaluation inner = is_native ? evaluation.inside_native() : evaluation;
    Frame frame(inner, *scope);
    for (size_t i = 0; i < values.size(); ++i) {
      const ast::Parameter& parameter = definition.parameters[i];
      if (!values[i] && i < function.defaults.size()) values[i] = function.defaults[i];
      if (!values[i]) values[i] = frame.evaluate(parameter.default_value);
      if (is_native) operands.push_back(*values[i]);
      scope->values.insert_or_assign(parameter.name, std::move(*values[i]));
    }
    if (definition.value) {
      result = frame.evaluate(definition.value);
    } else if (frame.run(definition.body) == Frame::Flow::Return) {
      result = std::move(frame.return_value);
      if (return_span) *return_span = frame.return_span;
    }
  }
  // A function closes over the scope, so it must outlive the call.
  if (scope->is_captured) evaluation.call_stack.owned_objects.push_back(std::move(scope));
  if (is_reduction) return reduction_result(evaluation, definition.name, result);
  return is_native ? native_result(evaluation, definition.name, result, operands) : result;
}

Value call(Evaluation& evaluation, const Value& callee, Arguments arguments) {
  if (callee.is<std::shared_ptr<const Function>>()) {
    const Function& function = *callee.as<std::shared_ptr<const Function>>();
    auto values = bind(evaluation, *function.module, function.definition(), std::move(arguments));
    require_tensors(evaluation, function, values);
    if (!is_in_place_call(evaluation, function, values)) return call_bound(evaluation, function, std::move(values));
    const Value target = *values.front();
    const Value result = call_bound(evaluation, function, std::move(values));
    // dropout(x, training=False) returns x itself.
    if (!identical(result, target)) write_in_place(evaluation, target, result, {});
    return target;
  }
  if (callee.is<const Builtin*>()) {
    return call_table_function(evaluation, *callee.as<const Builtin*>(), std::move(arguments));
  }
  if (callee.is<const PythonFunction*>()) {
    const PythonFunction& function = *callee.as<const PythonFunction*>();
    // sum(xs, start) and max(xs) iterate over xs, even if `start` is a tensor.
    const bool iterates = !arguments.positional.empty() && !arguments.positional[0].is_tensor() &&
                          Sequence::is_iterable(arguments.positional[0]);
    if (!has_torch_counterpart(function) || iterates || !has_tensor(arguments))
      return call_table_function(evaluation, function, std::move(arguments));
    auto counterpart = torch_function(function.name);
    if (!counterpart)
      evaluation.fail(fmt::format("`{}` of tensors is not in the language", function.name),
                      fmt::format("`{}` takes numbers, tuples and lists", function.name));
    return call(evaluation, *counterpart, std::move(arguments));
  }
  if (callee.is<InPlace>()) return call_in_place(evaluation, *callee.as<InPlace>().function, std::move(arguments));
  if (callee.is<BoundMethod>()) {
    const auto& [function, self] = callee.as<BoundMethod>();
    if (function->is<std::string>()) {
      if (!arguments.keywords.empty())
        evaluation.fail(fmt::format("the methods of {} take no keyword arguments", describe(*self)), "remove the name");
      const std::string& name = function->as<std::string>();
      if (self->is<Dict>()) return call_dict_method(evaluation, name, self->as<Dict>(), arguments.positional);
      return call_list_method(evaluation, name, self->as<List>(), arguments.positional);
    }
    arguments.positional.insert(arguments.positional.begin(), *self);
    return call(evaluation, *function, std::move(arguments));
  }
  evaluation.fail(fmt::format("{} cannot be called", describe(callee)),
                  callee.is_tensor() || callee.items() ? "an index is written in `[…]`" : "");
}

DepthGuard::DepthGuard(Evaluation& evaluation) : evaluation_(evaluation) {
  constexpr int kMaxDepth = 800;
  if (evaluation.call_stack.depth == kMaxDepth)
    evaluation.fail("the evaluation is nested too deeply", "give the inner expressions names of their own");
  ++evaluation.call_stack.depth;
}

}  // namespace ingot::frontend
