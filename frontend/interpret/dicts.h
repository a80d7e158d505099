#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/interpret/evaluation.h"

// Python's dicts. Dicts are static: keys are compared when the op is lowered, and a run-time number used as a key is
// specialised. Lookup is linear, and each comparison counts as a step of the budget: an op's dicts are small.

namespace ingot::frontend {

/// The index of a key, or nullopt if the dict has no such key. Errors (Author) for keys that Python cannot hash.
std::optional<size_t> find_item(Evaluation& evaluation, const Dict& dict, const Value& key);
Value dict_item(Evaluation& evaluation, const Dict& dict, const Value& key);
void set_dict_item(Evaluation& evaluation, const Dict& dict, const Value& key, const Value& value);
/// Adds the items of another dict, or of an iterable of pairs.
void update(Evaluation& evaluation, const Dict& dict, const Value& source);
/// The keyword arguments that `**value` expands to.
std::vector<std::pair<std::string, Value>> keywords_of(Evaluation& evaluation, const Value& value);

/// Whether a name is a method of dicts: copy, get, items, keys, pop, setdefault, update, values.
bool is_dict_method(std::string_view name);
Value call_dict_method(Evaluation& evaluation, std::string_view name, const Dict& self,
                       std::span<const Value> arguments);

}  // namespace ingot::frontend
