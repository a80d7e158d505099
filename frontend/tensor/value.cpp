#include "frontend/tensor/value.h"

#include <fmt/format.h>

#include <type_traits>

#include "frontend/tensor/storage.h"

namespace ingot::frontend {

namespace {

using Items = std::vector<Value>;

/// Frees items without recursion: lists may be nested a hundred thousand deep.
void free_items(const Items* items) {
  thread_local std::vector<const Items*> pending;
  thread_local bool freeing = false;
  pending.push_back(items);
  if (freeing) return;
  freeing = true;
  while (!pending.empty()) {
    const Items* next = pending.back();
    pending.pop_back();
    delete next;  // adds its own items to `pending`
  }
  freeing = false;
}

}  // namespace

Value Value::tuple(std::vector<Value> items) {
  return Tuple{std::shared_ptr<const Items>(new Items(std::move(items)), free_items)};
}

Value Value::list(std::vector<Value> items) {
  return List{std::shared_ptr<Items>(new Items(std::move(items)), free_items)};
}

Value Value::dict() { return Dict{list({}).as<List>().items, list({}).as<List>().items}; }

Value::Value(Tensor tensor) : variant_(std::make_shared<Tensor>(std::move(tensor))) {
  set_initial_contents(*as<std::shared_ptr<Tensor>>());
}

const Tensor* Value::tensor() const {
  const auto* tensor = std::get_if<std::shared_ptr<Tensor>>(&variant_);
  if (!tensor) return nullptr;
  if (is_stale(**tensor)) refresh(**tensor);  // an in-place op has written the tensor's storage
  return tensor->get();
}

const std::vector<Value>* Value::items() const {
  if (const auto* tuple = std::get_if<Tuple>(&variant_)) return tuple->items.get();
  if (const auto* list = std::get_if<List>(&variant_)) return list->items.get();
  return nullptr;
}

std::string describe(const Value& value) {
  if (value.is_tensor()) {
    return fmt::format("a {} tensor", name_of(value.as<std::shared_ptr<Tensor>>()->dtype));
  }
  return std::visit(
      [](const auto& held) -> std::string {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, None>) return "None";
        if constexpr (std::is_same_v<T, Ellipsis>) return "...";
        if constexpr (std::is_same_v<T, Number>) return "a number";
        if constexpr (std::is_same_v<T, std::string>) return "a string";
        if constexpr (std::is_same_v<T, ir::DType>) return "a dtype";
        if constexpr (std::is_same_v<T, Tuple>) return "a tuple";
        if constexpr (std::is_same_v<T, List>) return "a list";
        if constexpr (std::is_same_v<T, Dict>) return "a dict";
        if constexpr (std::is_same_v<T, DictView>) return "a view of a dict";
        if constexpr (std::is_same_v<T, Slice>) return "a slice";
        if constexpr (std::is_same_v<T, Range>) return "a range";
        if constexpr (std::is_same_v<T, BoundMethod>) return "a method";
        if constexpr (std::is_same_v<T, Namespace>) return "a module";
        if constexpr (std::is_same_v<T, MemoryFormat>) return "a memory format";
        if constexpr (std::is_same_v<T, NumberLimits>) return "the limits of a dtype";
        return "a function";
      },
      value.variant());
}

}  // namespace ingot::frontend
