#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/interpret/evaluation.h"
#include "frontend/syntax/operator.h"

// The C++ API: an op as a C++ function on ingot::Value. The C++ function has the same meaning as the Python source of
// the same op, and gives the same graph:
//
//   define("relu_add(x, y, bias)", [](Value x, Value y, Scalar bias) { return relu(x) + y + bias; });

namespace ingot {

using ir::DType;

class Value;

/// None, `...` and slices in C++: x[{Ellipsis, Slice(0, 2)}] is x[..., 0:2].
struct NoneType {};
struct EllipsisType {};
inline constexpr NoneType None{};
inline constexpr EllipsisType Ellipsis{};

/// A value of the language: a tensor, a number or any other value of an expression. Numbers, dtypes, strings, lists of
/// values and slices convert to it.
class Value {
 public:
  struct SliceBounds;
  /// A value that belongs to an evaluation, unlike a literal: an op's parameter, or a value computed from parameters.
  using Bound = std::pair<frontend::Evaluation*, frontend::Value>;
  using Content = std::variant<NoneType, EllipsisType, bool, int64_t, double, DType, std::string, std::vector<Value>,
                               std::shared_ptr<const SliceBounds>, Bound>;

  Value(NoneType = None) {}
  Value(EllipsisType) : content_(Ellipsis) {}
  Value(bool value) : content_(value) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Value(T value) : content_(static_cast<int64_t>(value)) {}
  template <std::floating_point T>
  Value(T value) : content_(static_cast<double>(value)) {}
  Value(DType type) : content_(type) {}
  Value(const char* text) : content_(std::string(text)) {}
  Value(std::string text) : content_(std::move(text)) {}
  Value(std::vector<Value> items) : content_(std::move(items)) {}
  Value(std::shared_ptr<const SliceBounds> bounds) : content_(std::move(bounds)) {}
  Value(frontend::Evaluation& evaluation, frontend::Value value) : content_(Bound{&evaluation, std::move(value)}) {}

  Value operator[](const Value& index) const;
  Value operator[](std::initializer_list<Value> index) const;

  /// Calls a method with positional arguments, as in x.method("view", -1, 4).
  template <typename... Args>
  Value method(std::string_view name, Args&&... args) const {
    return call_method(name, {Value(std::forward<Args>(args))...});
  }
  Value to(DType type) const { return method("to", type); }
  Value to(const Value& like) const { return method("to", like); }
  Value clamp(const Value& min, const Value& max = None) const { return method("clamp", min, max); }
  Value select(int64_t dim, const Value& index) const { return method("select", dim, index); }
  /// The elements at the coordinates [begin, end) of a dim.
  Value slice(int64_t dim, const Value& begin, const Value& end = None) const;
  Value view(std::vector<Value> shape) const { return method("view", std::move(shape)); }
  Value expand(std::vector<Value> shape) const { return method("expand", std::move(shape)); }

  Value shape() const { return attribute("shape"); }
  Value size(int64_t dim) const { return method("size", dim); }
  int64_t ndim() const { return attribute("ndim").known(); }
  DType dtype() const;
  /// The value of a size or of an integer parameter, for C++ code that depends on it, such as the bound of a loop. The
  /// integer is specialised: other values are lowered separately.
  int64_t known() const;

  /// The items of a tuple: a shape, or a result of chunk, split or unbind.
  std::vector<Value> items() const;
  template <size_t N>
  std::array<Value, N> unpack() const {
    return unpack(items(), std::make_index_sequence<N>());
  }

  /// Names the value, as an assignment in Python source does.
  Value named(std::string_view name) const;

  friend Value operator+(const Value& a, const Value& b) { return operate(frontend::Operator::Add, {a, b}); }
  friend Value operator-(const Value& a, const Value& b) { return operate(frontend::Operator::Sub, {a, b}); }
  friend Value operator*(const Value& a, const Value& b) { return operate(frontend::Operator::Mult, {a, b}); }
  friend Value operator/(const Value& a, const Value& b) { return operate(frontend::Operator::Div, {a, b}); }
  friend Value operator%(const Value& a, const Value& b) { return operate(frontend::Operator::Mod, {a, b}); }
  friend Value operator&(const Value& a, const Value& b) { return operate(frontend::Operator::BitAnd, {a, b}); }
  friend Value operator|(const Value& a, const Value& b) { return operate(frontend::Operator::BitOr, {a, b}); }
  friend Value operator^(const Value& a, const Value& b) { return operate(frontend::Operator::BitXor, {a, b}); }
  friend Value operator<<(const Value& a, const Value& b) { return operate(frontend::Operator::LShift, {a, b}); }
  friend Value operator>>(const Value& a, const Value& b) { return operate(frontend::Operator::RShift, {a, b}); }
  friend Value operator<(const Value& a, const Value& b) { return operate(frontend::Operator::Lt, {a, b}); }
  friend Value operator<=(const Value& a, const Value& b) { return operate(frontend::Operator::LtE, {a, b}); }
  friend Value operator>(const Value& a, const Value& b) { return operate(frontend::Operator::Gt, {a, b}); }
  friend Value operator>=(const Value& a, const Value& b) { return operate(frontend::Operator::GtE, {a, b}); }
  friend Value operator==(const Value& a, const Value& b) { return operate(frontend::Operator::Eq, {a, b}); }
  friend Value operator!=(const Value& a, const Value& b) { return operate(frontend::Operator::NotEq, {a, b}); }
  friend Value operator-(const Value& a) { return operate(frontend::Operator::Neg, {a}); }
  friend Value operator~(const Value& a) { return operate(frontend::Operator::Invert, {a}); }

  /// The evaluation of a bound value, or of a list's bound items; null for a literal.
  frontend::Evaluation* evaluation() const;
  /// Converts to a value of `evaluation`: literals become constants.
  frontend::Value bind(frontend::Evaluation& evaluation) const;

 private:
  static Value operate(frontend::Operator op, std::initializer_list<Value> operands);
  Value attribute(std::string_view name) const;
  Value call_method(std::string_view name, std::vector<Value> arguments) const;
  const Bound& bound() const;
  template <size_t... I>
  static std::array<Value, sizeof...(I)> unpack(std::vector<Value> items, std::index_sequence<I...>) {
    return {items.at(I)...};
  }

  Content content_;
};

struct Value::SliceBounds {
  Value start, stop, step;
};
/// start:stop:step in an index.
inline Value Slice(Value start = None, Value stop = None, Value step = None) {
  return std::make_shared<const Value::SliceBounds>(
      Value::SliceBounds{std::move(start), std::move(stop), std::move(step)});
}

/// Parameters that are Python numbers, as with the annotations `float`, `int` and `bool`. New values do not recompile.
class Scalar : public Value {
  using Value::Value;
};
class ScalarInt : public Value {
  using Value::Value;
};
class ScalarBool : public Value {
  using Value::Value;
};

/// A keyword argument: softplus(x, Keyword{"beta", 2.0}).
struct Keyword {
  std::string name;
  Value value;
};

/// Calls a supported function by its name. At least one argument must be bound to an evaluation.
Value call_language(std::string_view function, std::vector<std::variant<Value, Keyword>> arguments);

// Definitions

/// The C++ function of an op, over values of the front end.
using CppFunction = std::function<frontend::Value(frontend::Evaluation&, std::span<const frontend::Value>)>;

/// Defines an op. `name` is the op's name, optionally with parameter names: "relu_add" or "relu_add(x, y, bias)". The
/// default parameter names are x, y, z, w, x4, x5, …
std::shared_ptr<const frontend::Definition> define(std::string_view name,
                                                   std::vector<frontend::Parameter::Annotation> annotations,
                                                   CppFunction function);

namespace internal {

template <typename T>
constexpr frontend::Parameter::Annotation annotation_of() {
  using Annotation = frontend::Parameter::Annotation;
  using Type = std::remove_cvref_t<T>;
  static_assert(std::derived_from<Type, Value>,
                "an op's parameters are ingot::Value, Scalar, ScalarInt and ScalarBool");
  if constexpr (std::same_as<Type, Scalar>) return Annotation::Float;
  if constexpr (std::same_as<Type, ScalarInt>) return Annotation::Int;
  if constexpr (std::same_as<Type, ScalarBool>) return Annotation::Bool;
  return Annotation::None;
}

/// Converts the result of a C++ function to one value: tuples, pairs and arrays become tuples.
template <typename T>
Value to_value(T&& result) {
  using Type = std::remove_cvref_t<T>;
  if constexpr (std::convertible_to<Type, Value>) {
    return Value(std::forward<T>(result));
  } else {
    return std::apply([](auto&&... items) { return Value(std::vector<Value>{Value(items)...}); },
                      std::forward<T>(result));
  }
}

template <typename F, typename R, typename... Params>
std::shared_ptr<const frontend::Definition> define_as(std::string_view name, F function, R (F::*)(Params...) const) {
  return define(
      name, {annotation_of<Params>()...},
      [function = std::move(function)](frontend::Evaluation& evaluation, std::span<const frontend::Value> arguments) {
        return [&]<size_t... I>(std::index_sequence<I...>) {
          return to_value(function(std::remove_cvref_t<Params>(evaluation, arguments[I])...)).bind(evaluation);
        }(std::index_sequence_for<Params...>());
      });
}

}  // namespace internal

/// Defines an op from a lambda. The op's parameters come from the lambda's signature (so it has no `auto`): Value is a
/// tensor or a number, Scalar a run-time float. The lambda returns a Value, or several as a std::tuple, pair, array or
/// vector.
template <typename F>
  requires requires { &F::operator(); }
std::shared_ptr<const frontend::Definition> define(std::string_view name, F function) {
  return internal::define_as(name, std::move(function), &F::operator());
}
template <typename R, typename... Params>
std::shared_ptr<const frontend::Definition> define(std::string_view name, R (*function)(Params...)) {
  return define(name, [function](Params... params) { return function(std::forward<Params>(params)...); });
}

}  // namespace ingot
