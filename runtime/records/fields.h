#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

// Reflects over the fields of a plain struct, so that they are listed only once: a record is written, read and compared
// by its declaration alone.

namespace ingot::runtime {

namespace fields_detail {

/// Converts to any field type; only used in unevaluated expressions.
struct Anything {
  template <typename T>
  operator T() const;
};

/// The number of fields: the largest number of initialisers that T accepts.
template <typename T, typename... Initialisers>
constexpr size_t count() {
  if constexpr (requires { T{Initialisers{}..., Anything{}}; })
    return count<T, Initialisers..., Anything>();
  else
    return sizeof...(Initialisers);
}

}  // namespace fields_detail

/// A struct without constructors, bases and private members.
template <typename T>
concept Plain = std::is_class_v<T> && std::is_aggregate_v<T>;

template <Plain T>
inline constexpr size_t kFieldCount = fields_detail::count<T>();

/// Returns references to all fields, in the order of their declaration. A structured binding with a wrong count does
/// not compile.
template <typename T>
  requires Plain<std::remove_const_t<T>>
auto fields(T& value) {
  constexpr size_t kCount = kFieldCount<std::remove_const_t<T>>;
  static_assert(kCount > 0 && kCount <= 14, "add one more case");
  if constexpr (kCount == 1) {
    auto& [a] = value;
    return std::tie(a);
  } else if constexpr (kCount == 2) {
    auto& [a, b] = value;
    return std::tie(a, b);
  } else if constexpr (kCount == 3) {
    auto& [a, b, c] = value;
    return std::tie(a, b, c);
  } else if constexpr (kCount == 4) {
    auto& [a, b, c, d] = value;
    return std::tie(a, b, c, d);
  } else if constexpr (kCount == 5) {
    auto& [a, b, c, d, e] = value;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kCount == 6) {
    auto& [a, b, c, d, e, f] = value;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (kCount == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (kCount == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (kCount == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = value;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (kCount == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (kCount == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (kCount == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (kCount == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  }
}

}  // namespace ingot::runtime
