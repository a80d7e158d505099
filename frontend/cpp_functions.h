#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/cpp_api.h"

// The supported functions in C++, under their own names: relu(x), softplus(x, Keyword{"beta", 2.0}). The build
// generates the list of the functions (cmake/list_functions.cpp).

namespace ingot {

template <typename T>
concept IsValue = std::derived_from<std::remove_cvref_t<T>, Value>;

// Every supported function. Argument-dependent lookup finds these functions, so calls need no namespace.
#define INGOT_FUNCTION(name)                                                                  \
  template <typename... Args>                                                                 \
    requires(IsValue<Args> || ...)                                                            \
  Value name(Args&&... args) {                                                                \
    return call_language(#name, {std::variant<Value, Keyword>(std::forward<Args>(args))...}); \
  }
#include "frontend/library/language.def"
#undef INGOT_FUNCTION

// Functions of a list of tensors, also as stack({a, b}, -1).
#define INGOT_LIST_FUNCTION(name)                                         \
  inline Value name(const std::vector<Value>& tensors, int64_t dim = 0) { \
    return call_language(#name, {Value(tensors), Value(dim)});            \
  }
INGOT_LIST_FUNCTION(cat)
INGOT_LIST_FUNCTION(concat)
INGOT_LIST_FUNCTION(concatenate)
INGOT_LIST_FUNCTION(stack)
#undef INGOT_LIST_FUNCTION

}  // namespace ingot
