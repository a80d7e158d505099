#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "frontend/interpret/evaluation.h"

namespace ingot::frontend {

/// What a loop can go over, item by item: a tuple, a list (as it is when each item is asked for, as Python does), a
/// range (never written out), a dict or a view of one (which must not grow meanwhile), the parts of a tensor along dim
/// 0.
class Sequence {
 public:
  static bool is_one(const Value& value);
  /// Errors (Author) when the value cannot be iterated; `what` is who asks: "a `for`".
  Sequence(Evaluation& evaluation, const Value& value, std::string_view what);

  size_t size() const;
  Value operator[](size_t i) const;
  /// All items, which count against the budget.
  std::vector<Value> items() const;

 private:
  Evaluation& evaluation_;
  std::variant<Range, std::shared_ptr<const std::vector<Value>>, DictView> of_;
  size_t first_size_ = 0;
};

int64_t length(const Range& range);
/// tuple[index], list[index] and range[index] for a number or a slice.
Value sequence_item(Evaluation& evaluation, const Value& sequence, const Value& index);
/// list[index] = value and dict[key] = value; tuples and tensors refuse.
void set_item(Evaluation& evaluation, const Value& target, const Value& index, const Value& value);

/// Fails where `added` holds `container`, or is made of what does: it would never be freed, nor end when it is
/// compared.
void refuse_cycle(Evaluation& evaluation, const Value& container, std::span<const Value> added);

/// A method of lists: append, extend, insert, pop, index, count; null if there is none of that name.
bool is_list_method(std::string_view name);
Value call_list_method(Evaluation& evaluation, std::string_view name, const List& self,
                       std::span<const Value> arguments);

}  // namespace ingot::frontend
