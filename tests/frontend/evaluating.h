#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "frontend/interpret/evaluation.h"
#include "tests/frontend/parsing.h"

namespace ingot::frontend {

/// An evaluation that starts with an empty graph.
struct Scratch {
  Scratch(const Signature& signature, const SymbolValues& symbol_values)
      : evaluation(Builder(lowered, signature, symbol_values), call_stack) {}

  Lowered lowered;
  CallStack call_stack;
  Evaluation evaluation;
};

/// A value in the form of Python's repr. A number that is not constant is printed as its host expression, "a*2 + 1",
/// with `names` for the parameters.
inline std::string repr(const Builder& builder, const std::vector<std::string>& names, const Value& value) {
  if (value.is_number()) {
    const ir::HostId id = builder.graph.host.resolve(value.number());
    if (!builder.graph.host.is_constant(id)) return builder.graph.host.print(id, names);
    const ir::HostValue number = builder.graph.host.value(id);
    if (number.kind == ir::HostKind::Bool) return number.truthy() ? "True" : "False";
    return number.kind == ir::HostKind::Int ? std::to_string(number.integer) : round_trip(number.real);
  }
  if (const std::vector<Value>* items = value.items()) {
    const bool is_tuple = value.is<Tuple>();
    std::string text;
    for (const Value& item : *items) text += (text.empty() ? "" : ", ") + repr(builder, names, item);
    if (is_tuple && items->size() == 1) text += ",";
    return is_tuple ? "(" + text + ")" : "[" + text + "]";
  }
  if (value.is<Dict>()) {
    const Dict& dict = value.as<Dict>();
    std::string text;
    for (size_t i = 0; i < dict.keys->size(); ++i) {
      text += (i == 0 ? "" : ", ") + repr(builder, names, (*dict.keys)[i]) + ": ";
      text += repr(builder, names, (*dict.values)[i]);
    }
    return "{" + text + "}";
  }
  if (value.is<Range>()) {
    const Range& range = value.as<Range>();
    const std::string step = range.step == 1 ? "" : ", " + std::to_string(range.step);
    return "range(" + std::to_string(range.start) + ", " + std::to_string(range.stop) + step + ")";
  }
  if (value.is<std::string>()) return "'" + value.as<std::string>() + "'";
  return describe(value);
}

/// Evaluates the last def of a source text and returns its result. Parameters without defaults are run-time numbers
/// (ints if annotated so). If evaluation needs the value of a number, all parameters become the constants 2, 3, …, and
/// the returned text begins with "static: ".
inline std::string result_of(const std::string& text) {
  const auto definition = define(text);
  const Signature signature;
  const SymbolValues symbol_values;
  std::vector<std::string> names;
  for (const Parameter& parameter : definition->parameters()) names.push_back(parameter.name);
  for (const bool is_static : {false, true}) {
    Scratch scratch(signature, symbol_values);
    std::vector<std::optional<Value>> arguments;
    for (uint32_t i = 0; i < names.size(); ++i) {
      const Parameter& parameter = definition->parameters()[i];
      const bool is_int = parameter.annotation == Parameter::Annotation::Int;
      ir::HostPool& host = scratch.evaluation.graph.host;
      if (parameter.has_default) {
        arguments.emplace_back();
      } else if (is_static) {
        arguments.emplace_back(Number{is_int ? host.integer(i + 2) : host.real(i + 2)});
      } else {
        arguments.emplace_back(Number{host.scalar(i, is_int ? ir::HostKind::Int : ir::HostKind::Float)});
      }
    }
    try {
      const Value value = definition->evaluate(scratch.evaluation, arguments);
      return (is_static ? "static: " : "") + repr(scratch.evaluation, names, value);
    } catch (const SpecializationRequest&) {
    }
  }
  return "evaluation requested values that are already known";
}

/// A graph and its definition, whose text the graph's spans refer to.
struct DefinedGraph {
  std::shared_ptr<const Definition> definition;
  ir::Graph graph;
};

/// Lowers the last def of a source text. Parameters are float32 tensors of rank 2, numbers if annotated so, or None if
/// they have a default. If lowering needs the values, the sizes are 6 x 4 and the scalars 2, 3, ….
inline DefinedGraph lowered(const std::string& text) {
  const auto definition = define(text);
  Signature signature;
  for (const Parameter& parameter : definition->parameters()) {
    ArgumentSpec spec{.rank = 2};
    const bool is_int = parameter.annotation == Parameter::Annotation::Int;
    if (is_int || parameter.annotation == Parameter::Annotation::Float) {
      spec = {.kind = ArgumentSpec::Kind::Number, .number = is_int ? ir::HostKind::Int : ir::HostKind::Float};
    } else if (parameter.has_default) {
      spec = {.kind = ArgumentSpec::Kind::None};
    }
    signature.arguments.push_back(spec);
  }
  SymbolValues symbol_values;
  symbol_values.size = [](uint32_t, uint32_t dim) { return dim == 0 ? 6 : 4; };
  symbol_values.scalar = [](uint32_t parameter) { return ir::HostValue::of(int64_t{parameter} + 2); };
  return {definition, lower(*definition, signature, symbol_values)};
}

}  // namespace ingot::frontend
