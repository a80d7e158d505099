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
  std::string_view source_text() const override { return op_->source_text(); }
  std::string tree() const override { return op_->tree(); }
  std::string identity() const override {
    std::string identity = op_->identity();
    if (identity.empty()) return identity;
    for (const Structure& argument : arguments_) identity += "\n" + argument.text();
    return identity;
  }

  std::shared_ptr<const Definition> derivative() const override {
    if (op_->derivative())
      throw_author(Span{}, fmt::format("{}: a custom backward takes tensors and numbers only", name()),
                   "give the op its tensors one by one");
    return nullptr;
  }

  Value evaluate(Evaluation& evaluation, std::span<const std::optional<Value>> leaves) const override {
    std::vector<std::optional<Value>> arguments;
    std::vector<Container> containers;
    size_t next_leaf = 0;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const bool is_leaf = arguments_[i].kind == Structure::Kind::Leaf;
      arguments.push_back(is_leaf ? leaves[next_leaf++]
                                  : build_argument(evaluation, arguments_[i], leaves, next_leaf, containers));
      for (Container& container : containers) container.argument = std::min(container.argument, i);
    }
    Value result = op_->evaluate(evaluation, arguments);
    for (const Container& container : containers) require_unchanged(evaluation, container);
    return result;
  }

 private:
  /// A list or dict in an argument, with its original contents.
  struct Container {
    Value value;
    std::vector<Value> contents;
    size_t argument = SIZE_MAX;  ///< the index of the op's argument; set when the argument is complete
  };

  static std::vector<Value> contents_of(const Value& value) {
    if (value.is<List>()) return *value.as<List>().items;
    std::vector<Value> contents = *value.as<Dict>().keys;
    contents.insert(contents.end(), value.as<Dict>().values->begin(), value.as<Dict>().values->end());
    return contents;
  }

  void add_leaves(const Structure& structure, const Parameter& parameter) {
    if (structure.kind == Structure::Kind::Leaf) return leaves_.push_back(parameter);
    for (size_t i = 0; i < structure.items.size(); ++i) {
      const bool is_dict = structure.kind == Structure::Kind::Dict;
      const std::string item = is_dict ? fmt::format("'{}'", structure.keys[i]) : std::to_string(i);
      add_leaves(structure.items[i], {.name = fmt::format("{}[{}]", parameter.name, item), .span = parameter.span});
    }
  }

  /// Builds an argument from its leaves, the first of which is `next_leaf`. Advances `next_leaf` past them, and records
  /// the lists and dicts of the argument.
  static Value build_argument(Evaluation& evaluation, const Structure& structure,
                              std::span<const std::optional<Value>> leaves, size_t& next_leaf,
                              std::vector<Container>& containers) {
    if (structure.kind == Structure::Kind::Leaf) return leaves[next_leaf++].value();
    std::vector<Value> items, keys;
    evaluation.budget.spend_items(structure.items.size());
    for (const Structure& item : structure.items)
      items.push_back(build_argument(evaluation, item, leaves, next_leaf, containers));
    for (const std::string& key : structure.keys) keys.emplace_back(key);
    if (structure.kind == Structure::Kind::Tuple) return Value::tuple(std::move(items));
    Value value = Value::list(std::move(items));
    if (structure.kind == Structure::Kind::Dict) {
      value = Dict{Value::list(std::move(keys)).as<List>().items, value.as<List>().items};
    }
    containers.push_back({value, contents_of(value)});
    return value;
  }

  /// Fails if the op changed a list or dict of an argument. The op has its own copy, so the caller's list or dict would
  /// not change.
  void require_unchanged(Evaluation& evaluation, const Container& container) const {
    if (std::ranges::equal(contents_of(container.value), container.contents, identical)) return;
    const std::string& name = op_->parameters()[container.argument].name;
    const std::string_view kind = container.value.is<Dict>() ? "dict" : "list";
    evaluation.fail(fmt::format("the op changes a {} of the argument `{}`, which the caller would not see", kind, name),
                    fmt::format("change a copy: {}(…)", kind));
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
    // The length marks the end of a key, whatever characters the key has.
    if (kind == Kind::Dict) text += fmt::format("{}'{}': ", keys[i].size(), keys[i]);
    text += items[i].text();
  }
  return text + (kind == Kind::Tuple ? ')' : kind == Kind::List ? ']' : '}');
}

std::shared_ptr<const Definition> structured(std::shared_ptr<const Definition> op, std::vector<Structure> arguments) {
  return std::make_shared<const StructuredDefinition>(std::move(op), std::move(arguments));
}

}  // namespace ingot::frontend
