#include "frontend/cpp_api.h"

#include <fmt/format.h>

#include "frontend/interpret/interpreter.h"

namespace ingot {
namespace {

using frontend::Evaluation;

frontend::Value number(Evaluation& evaluation, ir::HostValue value) {
  return frontend::Number{evaluation.graph.host.constant(value)};
}

std::vector<frontend::Value> bound_items(Evaluation& evaluation, const std::vector<Value>& items) {
  std::vector<frontend::Value> result;
  for (const Value& item : items) result.push_back(item.bind(evaluation));
  return result;
}

[[noreturn]] void refuse_literals(std::string_view what) {
  throw_author({}, fmt::format("{} has only constant operands", what),
               "compute it in C++: an op's values are computed from its parameters");
}

}  // namespace

Evaluation* Value::evaluation() const {
  if (const auto* bound = std::get_if<Bound>(&content_)) return bound->first;
  if (const auto* items = std::get_if<std::vector<Value>>(&content_)) {
    for (const Value& item : *items) {
      if (Evaluation* match = item.evaluation()) return match;
    }
  }
  if (const auto* slice = std::get_if<std::shared_ptr<const SliceBounds>>(&content_)) {
    for (const Value* part : {&(*slice)->start, &(*slice)->stop, &(*slice)->step}) {
      if (Evaluation* match = part->evaluation()) return match;
    }
  }
  return nullptr;
}

frontend::Value Value::bind(Evaluation& evaluation) const {
  return std::visit(
      [&](const auto& content) -> frontend::Value {
        using T = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<T, Bound>) {
          if (content.first != &evaluation) throw_internal("a value outlived the evaluation that made it");
          return content.second;
        } else if constexpr (std::is_same_v<T, NoneType>) {
          return frontend::None{};
        } else if constexpr (std::is_same_v<T, EllipsisType>) {
          return frontend::Ellipsis{};
        } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
          return number(evaluation, ir::HostValue::of(content));
        } else if constexpr (std::is_same_v<T, std::vector<Value>>) {
          return frontend::Value::tuple(bound_items(evaluation, content));
        } else if constexpr (std::is_same_v<T, std::shared_ptr<const SliceBounds>>) {
          return frontend::Slice{std::make_shared<const std::array<frontend::Value, 3>>(std::array{
              content->start.bind(evaluation), content->stop.bind(evaluation), content->step.bind(evaluation)})};
        } else {
          return content;
        }
      },
      content_);
}

const Value::Bound& Value::bound() const {
  if (const auto* bound = std::get_if<Bound>(&content_)) return *bound;
  refuse_literals("a method");
}

Value Value::operate(frontend::Operator op, std::initializer_list<Value> operands) {
  const std::vector<Value> values(operands);
  Evaluation* evaluation = Value(values).evaluation();
  if (!evaluation) refuse_literals(fmt::format("`{}`", frontend::operator_text(op)));
  return {*evaluation, frontend::operate(*evaluation, op, bound_items(*evaluation, values))};
}

Value Value::attribute(std::string_view name) const {
  const auto& [evaluation, value] = bound();
  return {*evaluation, frontend::get_attribute(*evaluation, value, name)};
}

Value Value::call_method(std::string_view name, std::vector<Value> arguments) const {
  const auto& [evaluation, value] = bound();
  const frontend::Value callee = frontend::get_attribute(*evaluation, value, name);
  return {*evaluation, frontend::call(*evaluation, callee, {bound_items(*evaluation, arguments), {}})};
}

Value Value::operator[](const Value& index) const {
  const auto& [evaluation, value] = bound();
  return {*evaluation, frontend::get_item(*evaluation, value, index.bind(*evaluation))};
}

Value Value::operator[](std::initializer_list<Value> index) const { return (*this)[Value(std::vector<Value>(index))]; }

Value Value::slice(int64_t dim, const Value& begin, const Value& end) const {
  const int64_t rank = ndim();
  const int64_t from_front = dim < 0 ? dim + rank : dim;
  if (from_front < 0 || from_front >= rank) {
    bound().first->fail(
        fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})", -rank, rank - 1, dim));
  }
  std::vector<Value> index(static_cast<size_t>(from_front), Slice());
  index.push_back(Slice(begin, end));
  return (*this)[Value(std::move(index))];
}

DType Value::dtype() const {
  const auto& [evaluation, value] = bound();
  return frontend::get_attribute(*evaluation, value, "dtype").as<DType>();
}

int64_t Value::known() const {
  if (const auto* integer = std::get_if<int64_t>(&content_)) return *integer;
  const auto& [evaluation, value] = bound();
  return evaluation->static_int(value, "a number that controls a C++ function");
}

std::vector<Value> Value::items() const {
  if (const auto* items = std::get_if<std::vector<Value>>(&content_)) return *items;
  const auto& [evaluation, value] = bound();
  const std::vector<frontend::Value>* items = value.items();
  if (!items) evaluation->fail(fmt::format("{} has no items", frontend::describe(value)));
  std::vector<Value> result;
  for (const frontend::Value& item : *items) result.emplace_back(*evaluation, item);
  return result;
}

Value Value::named(std::string_view name) const {
  const auto& [evaluation, value] = bound();
  evaluation->name(value, name);
  return *this;
}

Value call_language(std::string_view function, std::vector<std::variant<Value, Keyword>> arguments) {
  Evaluation* evaluation = nullptr;
  for (const auto& argument : arguments) {
    const auto* keyword = std::get_if<Keyword>(&argument);
    Evaluation* candidate = (keyword ? keyword->value : std::get<Value>(argument)).evaluation();
    if (candidate) evaluation = candidate;
  }
  if (!evaluation) refuse_literals(fmt::format("{}()", function));
  frontend::Arguments bound;
  for (const auto& argument : arguments) {
    if (const auto* keyword = std::get_if<Keyword>(&argument)) {
      bound.keywords.emplace_back(keyword->name, keyword->value.bind(*evaluation));
    } else {
      bound.positional.push_back(std::get<Value>(argument).bind(*evaluation));
    }
  }
  return {*evaluation, frontend::call(*evaluation, frontend::torch_function(function).value(), std::move(bound))};
}

namespace {

using Annotation = frontend::Parameter::Annotation;

/// Splits "relu_add(x, y, bias)" into the op's name and the parameters' names, which may be missing.
std::pair<std::string, std::vector<std::string>> parse_name(std::string_view text) {
  const size_t open = text.find('(');
  std::pair<std::string, std::vector<std::string>> result{std::string(text.substr(0, open)), {}};
  if (open == std::string_view::npos) return result;
  std::string word;
  for (const char c : text.substr(open + 1)) {
    if (c == ' ') continue;
    if (c != ',' && c != ')') {
      word += c;
    } else if (!word.empty()) {
      result.second.push_back(std::exchange(word, {}));
    }
  }
  return result;
}

std::string default_name(size_t index) {
  static constexpr std::string_view kNames[] = {"x", "y", "z", "w"};
  return index < std::size(kNames) ? std::string(kNames[index]) : fmt::format("x{}", index);
}

class CppDefinition : public frontend::Definition {
 public:
  CppDefinition(std::string_view text, const std::vector<Annotation>& annotations, CppFunction function)
      : function_(std::move(function)) {
    std::vector<std::string> names;
    std::tie(name_, names) = parse_name(text);
    if (!names.empty() && names.size() != annotations.size()) {
      throw_author(
          {}, fmt::format("`{}` names {} parameters, but the function has {}", text, names.size(), annotations.size()));
    }
    for (size_t i = 0; i < annotations.size(); ++i) {
      parameters_.push_back({annotations[i], names.empty() ? default_name(i) : names[i], false, {}, false});
    }
  }

  const std::string& name() const override { return name_; }
  std::span<const frontend::Parameter> parameters() const override { return parameters_; }
  std::string_view source_text() const override { return {}; }

  frontend::Value evaluate(Evaluation& evaluation,
                           std::span<const std::optional<frontend::Value>> arguments) const override {
    std::vector<frontend::Value> values;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i]) evaluation.fail(fmt::format("the argument `{}` is missing", parameters_[i].name));
      values.push_back(converted_to_annotation(evaluation, parameters_[i], *arguments[i]));
    }
    return function_(evaluation, values);
  }

 private:
  /// Converts the argument of a Scalar, ScalarInt or ScalarBool parameter, as for a Python parameter with the same
  /// annotation.
  static frontend::Value converted_to_annotation(Evaluation& evaluation, const frontend::Parameter& parameter,
                                                 const frontend::Value& value) {
    if (parameter.annotation == Annotation::None) return value;
    if (!value.is_number()) {
      evaluation.fail(fmt::format("`{}` must be a number, not {}", parameter.name, frontend::describe(value)),
                      "use an ingot::Value parameter to accept tensors");
    }
    const bool is_float = evaluation.graph.host.kind(value.number()) == ir::HostKind::Float;
    if (is_float && parameter.annotation != Annotation::Float) {
      evaluation.fail(fmt::format("`{}` must be an integer, not a float", parameter.name),
                      "use an ingot::Scalar parameter");
    }
    const ir::HostOp conversion = parameter.annotation == Annotation::Float ? ir::HostOp::Float
                                  : parameter.annotation == Annotation::Int ? ir::HostOp::Int
                                                                            : ir::HostOp::Bool;
    return frontend::Number{evaluation.host(conversion, {value.number()})};
  }

  std::string name_;
  std::vector<frontend::Parameter> parameters_;
  CppFunction function_;
};

}  // namespace

std::shared_ptr<const frontend::Definition> define(std::string_view name, std::vector<Annotation> annotations,
                                                   CppFunction function) {
  return std::make_shared<const CppDefinition>(name, annotations, std::move(function));
}

}  // namespace ingot
