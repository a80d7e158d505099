#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "frontend/interpret/frame.h"
#include "frontend/interpret/python_builtins.h"
#include "frontend/interpret/python_numbers.h"
#include "frontend/syntax/ast_print.h"
#include "frontend/syntax/parser.h"
#include "frontend/tensor/storage.h"

// Ops that are defined by source text.

namespace ingot::frontend {

namespace {

using Annotation = Parameter::Annotation;

Annotation annotation_of(const ast::Module& module, ast::ExprId id) {
  if (!id) return Annotation::None;
  std::string_view text;
  const auto& node = module[id].node;
  if (const auto* name = std::get_if<ast::Name>(&node)) text = name->name;
  if (const auto* attribute = std::get_if<ast::Attribute>(&node)) text = attribute->name;
  if (const auto* constant = std::get_if<ast::Constant>(&node))  // a quoted annotation
    if (const auto* quoted = std::get_if<std::string>(&constant->value)) text = *quoted;
  if (text == "float") return Annotation::Float;
  if (text == "int") return Annotation::Int;
  if (text == "bool") return Annotation::Bool;
  if (text == "Tensor" || text == "torch.Tensor") return Annotation::Tensor;
  return Annotation::None;
}

std::string_view phrase_of(Annotation annotation) {
  switch (annotation) {
    case Annotation::Float:
      return "a float";
    case Annotation::Int:
      return "an int";
    case Annotation::Bool:
      return "a bool";
    default:
      return "a tensor";
  }
}

/// Converts an argument to its parameter's annotated type. An int becomes a float; a float for an `int` or `bool` is an
/// error.
Value converted_to_annotation(Evaluation& evaluation, const ast::Module& module, const ast::Parameter& parameter,
                              Value value) {
  Annotation annotation = annotation_of(module, parameter.annotation);
  bool is_optional_none = parameter.default_value && value.is_none();
  if (annotation == Annotation::None || is_optional_none) return value;
  LocationGuard location(evaluation.diagnostics, parameter.span);
  if (annotation == Annotation::Tensor) {
    if (value.is_tensor()) return value;
    evaluation.fail(fmt::format("`{}` must be a tensor, not {}", parameter.name, describe(value)),
                    "pass a tensor, or annotate it `float`");
  }
  if (!value.is_number())
    evaluation.fail(fmt::format("`{}` must be {}, not {}", parameter.name, phrase_of(annotation), describe(value)),
                    value.is_tensor() ? "remove the annotation to accept tensors" : "");
  ir::HostKind kind = evaluation.graph.host.kind(value.number());
  bool is_float = kind == ir::HostKind::Float;
  if (is_float && annotation != Annotation::Float)
    evaluation.fail(fmt::format("`{}` must be {}, not a float", parameter.name, phrase_of(annotation)),
                    "annotate it `float` to take any number");
  ir::HostOp conversion = annotation == Annotation::Float ? ir::HostOp::Float
                          : annotation == Annotation::Int ? ir::HostOp::Int
                                                          : ir::HostOp::Bool;
  return number(evaluation.host(conversion, {value.number()}));
}

/// The last def of this name at the top level of the module.
std::optional<ast::FunctionId> find_def(const ast::Module& module, std::string_view name) {
  std::optional<ast::FunctionId> match;
  for (const ast::StmtId id : module.body)
    if (const auto* def = std::get_if<ast::Def>(&module[id].node); def && module[def->function].name == name)
      match = def->function;
  return match;
}

constexpr std::string_view kDerivativeSuffix = "_backward";

/// Whether a def is the gradient of another def.
bool is_derivative(const ast::Module& module, std::string_view name) {
  return name.ends_with(kDerivativeSuffix) && find_def(module, name.substr(0, name.size() - kDerivativeSuffix.size()));
}

class SourceDefinition : public Definition {
 public:
  /// `derivative_of`: the forward function, if this def is its gradient.
  SourceDefinition(std::shared_ptr<const ast::Module> module, ast::FunctionId function,
                   std::optional<ast::FunctionId> derivative_of = {})
      : module_owner_(std::move(module)), module_(*module_owner_), function_(function), derivative_of_(derivative_of) {
    for (const ast::Parameter& parameter : module_[function_].parameters) {
      if (parameter.kind == ast::Parameter::Kind::VarArgs)
        throw_author(parameter.span, "an op cannot have a `*` parameter",
                     "name each parameter; helper functions may have one");
      if (parameter.kind == ast::Parameter::Kind::VarKeywords)
        throw_author(parameter.span, "an op cannot have a `**` parameter",
                     "name each parameter; helper functions may have one");
      parameters_.push_back({annotation_of(module_, parameter.annotation), parameter.name,
                             static_cast<bool>(parameter.default_value), parameter.span,
                             parameter.kind == ast::Parameter::Kind::KeywordOnly});
    }
  }

  const std::string& name() const override { return module_[function_].name; }
  std::span<const Parameter> parameters() const override { return parameters_; }
  std::string_view source_text() const override { return module_.source->text(); }
  std::string tree() const override { return print(module_); }
  Value evaluate(Evaluation& evaluation, std::span<const std::optional<Value>> arguments) const override {
    return evaluate_definition(evaluation, module_, module_[function_], arguments,
                               derivative_of_ ? &module_[*derivative_of_] : nullptr);
  }
  std::shared_ptr<const Definition> derivative() const override {
    const auto backward = find_def(module_, name() + std::string(kDerivativeSuffix));
    return backward ? std::make_shared<SourceDefinition>(module_owner_, *backward, function_) : nullptr;
  }

 private:
  std::shared_ptr<const ast::Module> module_owner_;
  const ast::Module& module_;
  ast::FunctionId function_;
  std::optional<ast::FunctionId> derivative_of_;
  std::vector<Parameter> parameters_;
};

/// Whether a name in a bare expression has a meaning of its own, so that it is not a parameter.
bool is_known(std::string_view name, bool has_attribute) {
  auto value = global_name(name);
  return has_attribute ? value && value->is<Namespace>() : is_python_type(name);
}

/// The function to which the name is bound after the module's statements have run; null if the name is then bound to
/// anything else.
const Function* bound_function(const Scope& globals, const ast::Function& function) {
  const auto binding = globals.values.find(function.name);
  if (binding == globals.values.end()) return nullptr;
  const auto* value = std::get_if<std::shared_ptr<const Function>>(&binding->second.variant());
  return value ? value->get() : nullptr;
}

}  // namespace

Value evaluate_definition(Evaluation& evaluation, const ast::Module& module, const ast::Function& function,
                          std::span<const std::optional<Value>> arguments, const ast::Function* derivative_of) {
  auto globals = std::make_shared<Scope>(Scope{module, nullptr, nullptr, {}, {}, false});
  evaluation.call_stack.owned_objects.push_back(globals);
  Frame(evaluation, *globals).run(module.body);

  const Function* const callee = bound_function(*globals, function);
  if (!callee)
    throw_author(function.name_span,
                 fmt::format("`{}` is bound to something else at the end of the source", function.name),
                 "assign to another name below");
  std::vector<std::optional<Value>> values(arguments.begin(), arguments.end());
  values.resize(function.parameters.size());
  // Defaults that the forward call used apply to its gradient, too. The gradient's last parameters are the forward
  // def's.
  if (const Function* forward = derivative_of ? bound_function(*globals, *derivative_of) : nullptr)
    for (size_t i = 0; i < forward->defaults.size() && i < values.size(); ++i) {
      std::optional<Value>& value = values[values.size() - 1 - i];
      if (!value) value = forward->defaults[forward->defaults.size() - 1 - i];
    }
  for (size_t i = 0; i < values.size(); ++i) {
    const ast::Parameter& parameter = function.parameters[i];
    if (!values[i]) values[i] = callee->defaults[i];
    if (!values[i]) throw_author(parameter.span, fmt::format("the argument `{}` is missing", parameter.name));
    values[i] = converted_to_annotation(evaluation, module, parameter, std::move(*values[i]));
  }
  Span return_span = function.name_span;
  Value result = call_bound(evaluation, *callee, std::move(values), &return_span);
  const bool mutates = std::ranges::any_of(
      evaluation.call_stack.leaves, [](const std::optional<Value>& leaf) { return leaf && mutated_parameter(*leaf); });
  if (result.is_none() && !mutates) {
    LocationGuard location(evaluation.diagnostics, function.name_span);
    evaluation.fail(fmt::format("`{}` returns nothing, and writes none of its arguments", function.name),
                    function.returns_value ? "end every path through it with `return …`" : "end it with `return …`");
  }
  evaluation.diagnostics.here = return_span;  // errors about the result are reported at the `return`
  return result;
}

std::shared_ptr<const Definition> define(std::shared_ptr<const Source> source, std::string_view name) {
  ast::Module module = parse(source, is_known);
  if (module.is_expression && !name.empty()) module.functions.back().name = name;
  ast::FunctionId op;
  std::vector<std::string_view> names;
  for (ast::StmtId id : module.body) {
    const auto* def = std::get_if<ast::Def>(&module[id].node);
    if (!def) continue;
    names.push_back(module[def->function].name);
    if (name.empty() ? !is_derivative(module, names.back()) : name == names.back()) op = def->function;
  }
  if (!op) {
    std::string hint = did_you_mean(name, names);
    throw_author({source.get(), 0, 0}, fmt::format("the source has no `def {}`", name),
                 hint.empty() ? fmt::format("it defines {}", fmt::join(names, ", ")) : hint);
  }
  return std::make_shared<SourceDefinition>(std::make_shared<const ast::Module>(std::move(module)), op);
}

}  // namespace ingot::frontend
