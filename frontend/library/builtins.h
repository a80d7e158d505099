#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "frontend/tensor/builder.h"

// The functions of the language that are written in C++: views, casts, gathers, and one for each primitive of ops.def.
// Everything else is a def of the library (library.h).

namespace ingot::frontend {

struct Builtin {
  std::string_view name;
  /// Python's own notation: "(x, min=None, max=None)", "(x, *dims)". Binding and error messages come from it.
  std::string_view signature;
  bool is_function = true;         ///< torch.name(x) and name(x)
  bool is_method = true;           ///< x.name()
  std::string_view alias_of = {};  ///< another spelling of that name; not counted again by `ingot ops`
  /// One value a parameter, defaults filled in; a *parameter is a tuple.
  Value (*call)(Builder& builder, const Builtin& self, std::span<const Value> arguments) = nullptr;
  std::string_view summary = {};  ///< one line of what it gives
  /// Why a name of PyTorch's is outside the language, and what to do instead; such a row is there to say so when it is
  /// called.
  std::string_view refusal = {};
};

/// One of Python's own functions or types, or of the module math. Its row stands in interpret/, for it evaluates.
struct PythonFunction {
  std::string_view name;
  std::string_view signature;
  Value (*call)(Evaluation& evaluation, const PythonFunction& self, std::span<const Value> arguments);
};

/// The builtin of a name, among functions and methods; null if there is none.
const Builtin* find_builtin(std::string_view name);

/// Where PyTorch has name_, which writes what `name` gives where its first argument lies.
struct InPlaceForms {
  bool method = false;      ///< x.name_(…)
  bool torch = false;       ///< torch.name_(x, …)
  bool functional = false;  ///< F.name_(x, …)
};
InPlaceForms in_place_forms(std::string_view name);

std::span<const Builtin> builtins();

/// shape, ndim, dtype, T, mT, …: the attributes of tensors that are not methods.
std::optional<Value> tensor_attribute(Builder& builder, const Value& value, std::string_view name);

}  // namespace ingot::frontend
