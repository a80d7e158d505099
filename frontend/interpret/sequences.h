#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "frontend/interpret/evaluation.h"

namespace ingot::frontend {

/// An iterable value: a tuple, a list, a range, a dict, a view of a dict, or a tensor, iterated along dim 0. As in
/// Python, a list is read at each access, and a dict must not change its size meanwhile. A range is never expanded.
class Sequence {
 public:
  static bool is_iterable(const Value& value);
  /// Errors (Author) if the value cannot be iterated; `what` names the consumer: "a `for`".
  Sequence(Evaluation& evaluation, const Value& value, std::string_view what);

  size_t size() const;
  Value operator[](size_t i) const;
  /// All items; they count against the budget.
  std::vector<Value> items() const;

 private:
  Evaluation& evaluation_;
  std::variant<Range, std::shared_ptr<const std::vector<Value>>, DictView> source_;
  size_t initial_size_ = 0;  ///< of a dict, to detect a change
};

int64_t length(const Range& range);
/// tuple[index], list[index] and range[index] for a number or a slice.
Value sequence_item(Evaluation& evaluation, const Value& sequence, const Value& index);
/// target[index] = value for a list, a dict or a tensor; anything else is an error (Author).
void set_item(Evaluation& evaluation, const Value& target, const Value& index, const Value& value);

/// Fails if `new_items` contain `container`, directly or nested: a cycle would never be freed, and comparing it would
/// not terminate.
void refuse_cycle(Evaluation& evaluation, const Value& container, std::span<const Value> new_items);

/// Whether a name is a method of lists: append, extend, insert, pop, index, count.
bool is_list_method(std::string_view name);
Value call_list_method(Evaluation& evaluation, std::string_view name, const List& self,
                       std::span<const Value> arguments);

}  // namespace ingot::frontend
