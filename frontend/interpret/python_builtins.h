#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "frontend/library/builtins.h"

namespace ingot::frontend {

/// Python's own functions: len, range, zip, … The types among them (int, tuple, …) also serve isinstance.
std::span<const PythonFunction> python_functions();
const PythonFunction* find_python_function(std::string_view name);
/// Whether the bare name means torch's function as soon as an argument is a tensor: sum, min, max, abs, round, pow,
/// any, all.
bool has_torch_twin(const PythonFunction& builtin);
/// int, float, …: what isinstance and `x.to(…)` take as a value.
bool is_python_type(std::string_view name);
/// Why a function of Python's is not in the language and what to do; empty when the name is none.
std::string_view refused_python_name(std::string_view name);

/// The functions of the module math, on numbers: those that depend on sizes and scalars become host expressions.
std::span<const PythonFunction> math_functions();
/// math.name: a function or a constant.
std::optional<Value> math_attribute(Evaluation& evaluation, std::string_view name);
/// pi, e, tau, inf or nan.
std::optional<double> math_constant(std::string_view name);

}  // namespace ingot::frontend
