#include "frontend/structured.h"

#include <fmt/format.h>

#include "base/error.h"
#include "frontend/interpret/evaluation.h"
#include "frontend/interpret/python_numbers.h"

namespace ingot::frontend {
namespace {

class StructuredDefinition : public Definition {
 public:
  StructuredDefinition(std::shared_ptr<const Definition> op, std::vector<Structure> arguments)
      : op_(std::move(op)), arguments_(std::move(arguments)) {
    arguments_.resize(op_->parameters().size());
    for (size_t i = 0; i < arguments_.size(); ++i) add_leaves(arguments_[i], op_->parameters()[i]);
  }

  const std::string& name() const override { return op_->name(); }
  std::span<const Parameter> parameters() const override { return leaves_; }
  std::string_view text() const override { return op_->text(); }
  std::string tree() const override { return op_->tree(); }
  std::string identity() const override {
    std::string identity = op_->identity();
    if (identity.empty()) return identity;
    for (const Structure& argument : arguments_) identity += "\n" + argument.text();
    return identity;
  }

  Value evaluate(Evaluation& evaluation, std::span<const std::optional<Value>> leaves) const override {
    std::vector<std::optional<Value>> arguments;
    size_t next = 0;
    for (const Structure& argument : arguments_) {
      const bool is_leaf = argument.kind == Structure::Kind::Leaf;
      arguments.push_back(is_leaf ? leaves[next++] : made_up(evaluation, argument, leaves, next));
    }
    Value result = op_->evaluate(evaluation, arguments);
    next = 0;
    for (size_t i = 0; i < arguments_.size(); ++i) require_as_made(evaluation, i, arguments[i], leaves, next);
    return result;
  }

 private:
  void add_leaves(const Structure& structure, const Parameter& parameter) {
    if (structure.kind == Structure::Kind::Leaf) return leaves_.push_back(parameter);
    for (size_t i = 0; i < structure.items.size(); ++i) {
      const bool named = structure.kind == Structure::Kind::Dict;
      const std::string item = named ? fmt::format("'{}'", structure.keys[i]) : std::to_string(i);
      add_leaves(structure.items[i], {.name = fmt::format("{}[{}]", parameter.name, item), .span = parameter.span});
    }
  }

  static Value made_up(Evaluation& evaluation, const Structure& structure, std::span<const std::optional<Value>> leaves,
                       size_t& next) {
    if (structure.kind == Structure::Kind::Leaf) return leaves[next++].value();
    std::vector<Value> items, keys;
    evaluation.budget.items(structure.items.size());
    for (const Structure& item : structure.items) items.push_back(made_up(evaluation, item, leaves, next));
    for (const std::string& key : structure.keys) keys.emplace_back(key);
    switch (structure.kind) {
      case Structure::Kind::Tuple:
        return Value::tuple(std::move(items));
      case Structure::Kind::List:
        return Value::list(std::move(items));
      default:
        return Dict{Value::list(std::move(keys)).as<List>().items, Value::list(std::move(items)).as<List>().items};
    }
  }

  /// The caller has the list or dict that it gave: what the op did to its own would be lost.
  void require_as_made(Evaluation& evaluation, size_t argument, const std::optional<Value>& value,
                       std::span<const std::optional<Value>> leaves, size_t& next) const {
    const Structure& structure = arguments_[argument];
    if (structure.kind == Structure::Kind::Leaf) {
      ++next;
    } else if (!is_as_made(structure, *value, leaves, next)) {
      const bool named = structure.kind == Structure::Kind::Dict;
      evaluation.fail(
          fmt::format("the {} `{}` is changed, of which the caller's would not hear", named ? "dict" : "list",
                      op_->parameters()[argument].name),
          fmt::format("change a copy: {0} = {1}({0})", op_->parameters()[argument].name, named ? "dict" : "list"));
    }
  }

  static bool is_as_made(const Structure& structure, const Value& value, std::span<const std::optional<Value>> leaves,
                         size_t& next) {
    if (structure.kind == Structure::Kind::Leaf) return identical(value, *leaves[next++]);
    const bool named = structure.kind == Structure::Kind::Dict;
    if (named != value.is<Dict>() || (!named && !value.items())) return false;
    const std::vector<Value>& items = named ? *value.as<Dict>().values : *value.items();
    if (items.size() != structure.items.size()) return false;
    for (size_t i = 0; i < items.size(); ++i) {
      if (named && !identical((*value.as<Dict>().keys)[i], Value(structure.keys[i]))) return false;
      if (!is_as_made(structure.items[i], items[i], leaves, next)) return false;
    }
    return true;
  }

  std::shared_ptr<const Definition> op_;
  std::vector<Structure> arguments_;
  std::vector<Parameter> leaves_;
};

}  // namespace

std::string Structure::text() const {
  if (kind == Kind::Leaf) return "*";
  std::string text(1, kind == Kind::Tuple ? '(' : kind == Kind::List ? '[' : '{');
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += ", ";
    // Its length tells where a key ends, whatever stands in it.
    if (kind == Kind::Dict) text += fmt::format("{}'{}': ", keys[i].size(), keys[i]);
    text += items[i].text();
  }
  return text + (kind == Kind::Tuple ? ')' : kind == Kind::List ? ']' : '}');
}

std::shared_ptr<const Definition> structured(std::shared_ptr<const Definition> op, std::vector<Structure> arguments) {
  return std::make_shared<const StructuredDefinition>(std::move(op), std::move(arguments));
}

}  // namespace ingot::frontend
