#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/interpret/evaluation.h"

// Python's dicts. They are static: a key is compared when the op is lowered, and a run-time number that is one is asked
// for. Items are found one by one, each a step of the budget: an op's dicts are small.

namespace ingot::frontend {

/// Where a key stands; nothing where it does not. What Python cannot hash is refused.
std::optional<size_t> find_item(Evaluation& evaluation, const Dict& dict, const Value& key);
/// dict[key]
Value dict_item(Evaluation& evaluation, const Dict& dict, const Value& key);
/// dict[key] = value
void set_dict_item(Evaluation& evaluation, const Dict& dict, const Value& key, const Value& value);
/// Takes over the items of another dict, or pairs.
void update(Evaluation& evaluation, const Dict& dict, const Value& with);
/// The keyword arguments that `**value` stands for.
std::vector<std::pair<std::string, Value>> keywords_of(Evaluation& evaluation, const Value& value);

/// A method of dicts: copy, get, items, keys, pop, setdefault, update, values.
bool is_dict_method(std::string_view name);
Value call_dict_method(Evaluation& evaluation, std::string_view name, const Dict& self,
                       std::span<const Value> arguments);

}  // namespace ingot::frontend
