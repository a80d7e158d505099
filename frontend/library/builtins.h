#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "frontend/tensor/builder.h"

// The supported functions that are written in C++: views, casts, gathers, and one for each primitive of ops.def. All
// others are defs of the library (library.h).

namespace ingot::frontend {

/// A row of the tables: a supported function, or a function of PyTorch that is rejected with a reason.
struct Builtin {
  std::string_view name;
  /// Python notation: "(x, min=None, max=None)", "(x, *dims)". Binding and error messages use it.
  std::string_view signature;
  bool is_function = true;         ///< torch.name(x) and name(x)
  bool is_method = true;           ///< x.name()
  std::string_view alias_of = {};  ///< this row is an alias of that name; `ingot ops` does not list it separately
  /// Takes one value per parameter, with defaults filled in; a *parameter is a tuple.
  Value (*call)(Builder& builder, const Builtin& self, std::span<const Value> arguments) = nullptr;
  std::string_view summary = {};  ///< one line that describes the result
  /// For a PyTorch function outside the language: the reason, then "; " and what to do instead. Calling such a row
  /// fails with this text.
  std::string_view refusal = {};
};

/// One of Python's own functions or types, or a function of the module math. The tables are in interpret/, because the
/// functions need an Evaluation.
struct PythonFunction {
  std::string_view name;
  std::string_view signature;
  Value (*call)(Evaluation& evaluation, const PythonFunction& self, std::span<const Value> arguments);
};

/// Finds a builtin among functions and methods; null if there is none.
const Builtin* find_builtin(std::string_view name);

/// The namespaces in which PyTorch has name_, the function that writes the result of `name` into its first argument.
struct InPlaceForms {
  bool method = false;      ///< x.name_(…)
  bool torch = false;       ///< torch.name_(x, …)
  bool functional = false;  ///< F.name_(x, …)
};
InPlaceForms in_place_forms(std::string_view name);

std::span<const Builtin> builtins();

/// The attributes of tensors that are not methods: shape, ndim, dtype, T, mT, …; nullopt for any other name.
std::optional<Value> tensor_attribute(Builder& builder, const Value& value, std::string_view name);

}  // namespace ingot::frontend
