#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "frontend/library/builtins.h"

namespace ingot::frontend {

/// Python's own functions: len, range, zip, … Those that are types (int, tuple, …) are also valid in isinstance.
std::span<const PythonFunction> python_functions();
const PythonFunction* find_python_function(std::string_view name);
/// Whether the bare name calls torch's function if an argument is a tensor: sum, min, max, abs, round, pow, any, all.
bool has_torch_counterpart(const PythonFunction& builtin);
/// Whether a name is a type that isinstance and `x.to(…)` accept as a value: int, float, …
bool is_python_type(std::string_view name);
/// How to replace an unsupported function of Python; empty if the name is not one of these.
std::string_view refused_name_hint(std::string_view name);

/// The functions of the module math, on numbers. Results that depend on sizes and scalars become host expressions.
std::span<const PythonFunction> math_functions();
/// math.name: a function or a constant; nullopt if there is none.
std::optional<Value> math_attribute(Evaluation& evaluation, std::string_view name);
/// The value of pi, e, tau, inf or nan; nullopt for another name.
std::optional<double> math_constant(std::string_view name);

}  // namespace ingot::frontend
