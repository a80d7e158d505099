#include "frontend/interpret/dicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/interpret/python_numbers.h"
#include "frontend/interpret/sequences.h"

namespace ingot::frontend {

namespace {

struct Method {
  std::string_view name;
  size_t min_arguments, max_arguments;
};
constexpr std::array kMethods = {Method{"copy", 0, 0},   Method{"get", 1, 2},   Method{"items", 0, 0},
                                 Method{"keys", 0, 0},   Method{"pop", 1, 2},   Method{"setdefault", 1, 2},
                                 Method{"update", 1, 1}, Method{"values", 0, 0}};

const Method* find_method(std::string_view name) {
  const auto method =
      std::find_if(kMethods.begin(), kMethods.end(), [&](const Method& row) { return row.name == name; });
  return method == kMethods.end() ? nullptr : &*method;
}

bool is_nan(const Evaluation& evaluation, ir::HostId number) {
  const ir::HostPool& host = evaluation.graph.host;
  number = host.resolve(number);
  return host.is_constant(number) && std::isnan(host.value(number).as_double());
}

void require_hashable(Evaluation& evaluation, const Value& key) {
  evaluation.budget.spend_step();  // counted, because tuples that share their items may have exponentially many
  if (key.is<Tuple>()) {
    for (const Value& item : *key.items()) require_hashable(evaluation, item);
  } else if (key.is_number() && is_nan(evaluation, key.number())) {
    evaluation.fail("NaN cannot be the key of a dict: it is not equal to itself", "use a string instead");
  } else if (key.is_tensor() || key.is<List>() || key.is<Dict>() || key.is<DictView>() || key.is<Slice>()) {
    evaluation.fail(fmt::format("{} cannot be the key of a dict", describe(key)),
                    "keys are strings, numbers, dtypes and tuples of them");
  }
}

/// Formats a key for a message.
std::string key_text(Evaluation& evaluation, const Value& key) {
  if (key.is<std::string>()) return fmt::format("'{}'", key.as<std::string>());
  if (key.is_number()) return evaluation.graph.host.print(key.number(), {});
  return describe(key);
}

[[noreturn]] void fail_missing(Evaluation& evaluation, const Dict& dict, const Value& key) {
  std::string keys;
  for (size_t i = 0; i < std::min<size_t>(dict.keys->size(), 8); ++i)
    keys += (i == 0 ? "" : ", ") + key_text(evaluation, (*dict.keys)[i]);
  evaluation.fail(fmt::format("the dict has no item {}", key_text(evaluation, key)),
                  keys.empty() ? "it is empty" : fmt::format("its keys are {}", keys));
}

}  // namespace

std::optional<size_t> find_item(Evaluation& evaluation, const Dict& dict, const Value& key) {
  require_hashable(evaluation, key);
  for (size_t i = 0; i < dict.keys->size(); ++i) {
    evaluation.step();
    if (evaluation.static_number(equal(evaluation, (*dict.keys)[i], key)).truthy()) return i;
  }
  return std::nullopt;
}

Value dict_item(Evaluation& evaluation, const Dict& dict, const Value& key) {
  if (const auto index = find_item(evaluation, dict, key)) return (*dict.values)[*index];
  fail_missing(evaluation, dict, key);
}

void set_dict_item(Evaluation& evaluation, const Dict& dict, const Value& key, const Value& value) {
  refuse_cycle(evaluation, dict, {&value, 1});
  if (const auto index = find_item(evaluation, dict, key)) {
    (*dict.values)[*index] = value;
    return;
  }
  evaluation.budget.spend_items(2);
  dict.keys->push_back(key);
  dict.values->push_back(value);
}

void update(Evaluation& evaluation, const Dict& dict, const Value& source) {
  const Value items = source.is<Dict>() ? Value(DictView{DictView::Part::Items, source.as<Dict>()}) : source;
  for (const Value& pair : Sequence(evaluation, items, "a dict").items()) {
    const std::vector<Value>* parts = pair.items();
    if (!parts || parts->size() != 2)
      evaluation.fail(fmt::format("a dict is made from (key, value) pairs, not from {}", describe(pair)));
    set_dict_item(evaluation, dict, (*parts)[0], (*parts)[1]);
  }
}

std::vector<std::pair<std::string, Value>> keywords_of(Evaluation& evaluation, const Value& value) {
  if (!value.is<Dict>()) evaluation.fail(fmt::format("`**` takes a dict, not {}", describe(value)));
  std::vector<std::pair<std::string, Value>> result;
  const Dict& dict = value.as<Dict>();
  for (size_t i = 0; i < dict.keys->size(); ++i) {
    const Value& key = (*dict.keys)[i];
    if (!key.is<std::string>()) evaluation.fail(fmt::format("keywords must be strings, not {}", describe(key)));
    result.emplace_back(key.as<std::string>(), (*dict.values)[i]);
  }
  return result;
}

bool is_dict_method(std::string_view name) { return find_method(name) != nullptr; }

Value call_dict_method(Evaluation& evaluation, std::string_view name, const Dict& self,
                       std::span<const Value> arguments) {
  const auto [method, min_arguments, max_arguments] = *find_method(name);
  if (arguments.size() < min_arguments || arguments.size() > max_arguments)
    evaluation.fail(fmt::format("dict.{} takes {} to {} arguments, {} given", method, min_arguments, max_arguments,
                                arguments.size()));
  using Part = DictView::Part;
  if (name == "keys") return DictView{Part::Keys, self};
  if (name == "values") return DictView{Part::Values, self};
  if (name == "items") return DictView{Part::Items, self};
  if (name == "copy" || name == "update") {
    Value target = name == "copy" ? Value::dict() : Value(self);
    update(evaluation, target.as<Dict>(), name == "copy" ? Value(self) : arguments[0]);
    return name == "copy" ? target : Value(None{});
  }
  const std::optional<size_t> index = find_item(evaluation, self, arguments[0]);
  Value value = index ? (*self.values)[*index] : arguments.size() == 2 ? arguments[1] : Value(None{});
  if (name == "setdefault" && !index) set_dict_item(evaluation, self, arguments[0], value);
  if (name == "pop") {
    if (!index && arguments.size() == 1) fail_missing(evaluation, self, arguments[0]);
    for (const auto& part : {self.keys, self.values})
      if (index) part->erase(part->begin() + static_cast<std::ptrdiff_t>(*index));
  }
  return value;
}

}  // namespace ingot::frontend
