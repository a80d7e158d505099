#include "frontend/interpret/sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_set>
#include <utility>

#include "frontend/interpret/dicts.h"
#include "frontend/interpret/python_numbers.h"
#include "frontend/tensor/in_place.h"
#include "frontend/tensor/indexing.h"

namespace ingot::frontend {

namespace {

/// The positions that a slice selects, as Python's slice.indices computes them.
struct Positions {
  int64_t start, step, count;
};

Positions slice_positions(Evaluation& evaluation, const Slice& slice, int64_t size) {
  const auto& [lower, upper, stride] = *slice.bounds;
  int64_t step = stride.is_none() ? 1 : evaluation.static_int(stride, "the step of a slice");
  if (step == 0) evaluation.fail("the step of a slice cannot be zero");
  if (step == std::numeric_limits<int64_t>::min()) step = -std::numeric_limits<int64_t>::max();
  // Bounds are clamped to this range, which depends on the direction of the slice.
  int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
  auto bound = [&](const Value& value, int64_t default_value) {
    if (value.is_none()) return default_value;
    int64_t position = evaluation.static_int(value, "the bound of a slice");
    return std::clamp(position < 0 ? position + size : position, lowest, highest);
  };
  int64_t start = bound(lower, step < 0 ? highest : lowest);
  int64_t stop = bound(upper, step < 0 ? lowest : highest);
  int64_t count = 0;
  if (step > 0 && start < stop) count = (stop - start - 1) / step + 1;
  if (step < 0 && stop < start) count = (start - stop - 1) / -step + 1;
  return {start, step, count};
}

size_t checked_index(Evaluation& evaluation, const Value& sequence, const Value& index, int64_t size) {
  int64_t position = evaluation.static_int(index, "the index of a sequence");
  if (position < -size || position >= size)
    evaluation.fail(fmt::format("index {} is out of range for {} of {} items", position, describe(sequence), size));
  return static_cast<size_t>(position < 0 ? position + size : position);
}

/// The values in a container: the items of a tuple or list, the values of a dict; null for anything else.
const std::vector<Value>* contained_values(const Value& value) {
  if (value.is<Dict>()) return value.as<Dict>().values.get();
  if (value.is<DictView>()) return value.as<DictView>().dict.values.get();
  return value.items();
}

constexpr std::array<std::string_view, 6> kListMethods = {"append", "extend", "insert", "pop", "index", "count"};

/// The minimum and maximum number of arguments of a list method.
std::pair<size_t, size_t> arity(std::string_view method) {
  if (method == "insert") return {2, 2};
  if (method == "pop") return {0, 1};
  return {1, 1};
}

}  // namespace

void refuse_cycle(Evaluation& evaluation, const Value& container, std::span<const Value> new_items) {
  std::vector<const Value*> pending;
  std::unordered_set<const void*> seen;
  const auto visit = [&](const Value& value) {
    if (contained_values(value) || value.is<BoundMethod>()) pending.push_back(&value);
  };
  for (const Value& value : new_items) visit(value);
  while (!pending.empty()) {
    const Value& value = *pending.back();
    pending.pop_back();
    if (value.is<BoundMethod>()) {
      visit(*value.as<BoundMethod>().self);
    } else if (contained_values(value) == contained_values(container)) {
      evaluation.fail(fmt::format("{} cannot contain itself", describe(container)),
                      fmt::format("insert a copy: `{}(xs)`", container.is<Dict>() ? "dict" : "list"));
    } else if (seen.insert(contained_values(value)).second) {
      evaluation.step();
      for (const Value& item : *contained_values(value)) visit(item);
    }
  }
}

int64_t length(const Range& range) {
  // Use unsigned arithmetic: the distance between two int64 may need 64 bits.
  auto steps = [](uint64_t distance, uint64_t step) { return static_cast<int64_t>((distance - 1) / step + 1); };
  auto start = static_cast<uint64_t>(range.start), stop = static_cast<uint64_t>(range.stop);
  if (range.step > 0 && range.start < range.stop) return steps(stop - start, static_cast<uint64_t>(range.step));
  if (range.step < 0 && range.stop < range.start) return steps(start - stop, 0 - static_cast<uint64_t>(range.step));
  return 0;
}

bool Sequence::is_iterable(const Value& value) {
  return value.items() || value.is<Range>() || value.is<Dict>() || value.is<DictView>() || value.is_tensor();
}

Sequence::Sequence(Evaluation& evaluation, const Value& value, std::string_view what) : evaluation_(evaluation) {
  if (value.is<Range>()) {
    source_ = value.as<Range>();
  } else if (value.is<List>()) {
    source_ = std::shared_ptr<const std::vector<Value>>(value.as<List>().items);
  } else if (value.is<Tuple>()) {
    source_ = value.as<Tuple>().items;
  } else if (value.is<Dict>()) {
    source_ = DictView{DictView::Part::Keys, value.as<Dict>()};
  } else if (value.is<DictView>()) {
    source_ = value.as<DictView>();
  } else if (value.is_tensor()) {
    source_ = std::make_shared<const std::vector<Value>>(tensor_iterate(evaluation, value));
  } else {
    evaluation.fail(fmt::format("{} cannot iterate over {}", what, describe(value)),
                    value.is_number() && what == "a `for`" ? "write `range(n)` to count" : "");
  }
  initial_size_ = size();
}

size_t Sequence::size() const {
  if (const auto* range = std::get_if<Range>(&source_)) return static_cast<size_t>(length(*range));
  if (const auto* view = std::get_if<DictView>(&source_)) return view->dict.keys->size();
  return std::get<1>(source_)->size();
}

Value Sequence::operator[](size_t i) const {
  if (const auto* range = std::get_if<Range>(&source_)) {
    evaluation_.step();  // each access creates a host constant, so it counts as a step
    return number(evaluation_.integer(range->start + static_cast<int64_t>(i) * range->step));
  }
  if (const auto* view = std::get_if<DictView>(&source_)) {
    if (size() != initial_size_) evaluation_.fail("dictionary changed size during iteration", "iterate over `list(d)`");
    const Value &key = (*view->dict.keys)[i], &value = (*view->dict.values)[i];
    return view->part == DictView::Part::Keys     ? key
           : view->part == DictView::Part::Values ? value
                                                  : Value::tuple({key, value});
  }
  return (*std::get<1>(source_))[i];
}

std::vector<Value> Sequence::items() const {
  evaluation_.budget.spend_items(size());
  std::vector<Value> result;
  result.reserve(size());
  for (size_t i = 0; i < size(); ++i) result.push_back((*this)[i]);
  return result;
}

Value sequence_item(Evaluation& evaluation, const Value& sequence, const Value& index) {
  Sequence items(evaluation, sequence, "an index");
  auto size = static_cast<int64_t>(items.size());
  if (!index.is<Slice>()) {
    if (!index.is_number())
      evaluation.fail(
          fmt::format("the index of {} must be an integer or a slice, not {}", describe(sequence), describe(index)));
    return items[checked_index(evaluation, sequence, index, size)];
  }
  Positions selected = slice_positions(evaluation, index.as<Slice>(), size);
  if (sequence.is<Range>()) {
    const Range& range = sequence.as<Range>();
    if (selected.count == 0) return Range{0, 0, 1};
    int64_t first = range.start + selected.start * range.step;
    if (selected.count == 1) return Range{first, first + 1, 1};
    int64_t step = range.step * selected.step;
    return Range{first, first + (selected.count - 1) * step + (step > 0 ? 1 : -1), step};
  }
  evaluation.budget.spend_items(static_cast<uint64_t>(selected.count));
  std::vector<Value> result;
  for (int64_t i = 0; i < selected.count; ++i)
    result.push_back(items[static_cast<size_t>(selected.start + i * selected.step)]);
  return sequence.is<Tuple>() ? Value::tuple(std::move(result)) : Value::list(std::move(result));
}

void set_item(Evaluation& evaluation, const Value& target, const Value& index, const Value& value) {
  if (target.is_tensor()) return tensor_setitem(evaluation, target, index, value);
  if (target.is<Dict>()) return set_dict_item(evaluation, target.as<Dict>(), index, value);
  if (!target.is<List>()) evaluation.fail(fmt::format("{} cannot be changed", describe(target)), "use a list");
  std::vector<Value>& items = *target.as<List>().items;
  if (!index.is_number())
    evaluation.fail(fmt::format("an item is assigned by an integer index, not by {}", describe(index)));
  refuse_cycle(evaluation, target, {&value, 1});
  items[checked_index(evaluation, target, index, static_cast<int64_t>(items.size()))] = value;
}

bool is_list_method(std::string_view name) {
  return std::find(kListMethods.begin(), kListMethods.end(), name) != kListMethods.end();
}

Value call_list_method(Evaluation& evaluation, std::string_view name, const List& self,
                       std::span<const Value> arguments) {
  auto [min_arguments, max_arguments] = arity(name);
  if (arguments.size() < min_arguments || arguments.size() > max_arguments)
    evaluation.fail(fmt::format("list.{} takes {}{} argument{}, {} given", name,
                                min_arguments == max_arguments ? "" : "at most ", max_arguments,
                                max_arguments == 1 ? "" : "s", arguments.size()));
  std::vector<Value>& items = *self.items;
  auto size = static_cast<int64_t>(items.size());
  if (name == "append") {
    refuse_cycle(evaluation, self, arguments);
    evaluation.budget.spend_items(1);
    items.push_back(arguments[0]);
  } else if (name == "extend") {
    std::vector<Value> more = Sequence(evaluation, arguments[0], "list.extend").items();
    refuse_cycle(evaluation, self, more);
    items.insert(items.end(), more.begin(), more.end());
  } else if (name == "insert") {
    int64_t index = evaluation.static_int(arguments[0], "the index of list.insert");
    refuse_cycle(evaluation, self, arguments.subspan(1));
    evaluation.budget.spend_items(1);
    items.insert(items.begin() + std::clamp<int64_t>(index < 0 ? index + size : index, 0, size), arguments[1]);
  } else if (name == "pop") {
    if (items.empty()) evaluation.fail("pop from an empty list");
    size_t index = arguments.empty() ? items.size() - 1 : checked_index(evaluation, self, arguments[0], size);
    Value item = items[index];
    items.erase(items.begin() + static_cast<int64_t>(index));
    return item;
  } else {
    int64_t count = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      if (!evaluation.static_number(equal(evaluation, items[i], arguments[0])).truthy()) continue;
      if (name == "index") return number(evaluation.integer(static_cast<int64_t>(i)));
      ++count;
    }
    if (name == "index") evaluation.fail("list.index(x): x is not in the list");
    return number(evaluation.integer(count));
  }
  return None{};
}

}  // namespace ingot::frontend
