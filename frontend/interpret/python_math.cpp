#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>

#include "frontend/interpret/interpreter.h"
#include "frontend/interpret/python_builtins.h"
#include "frontend/interpret/python_numbers.h"
#include "frontend/interpret/sequences.h"

namespace ingot::frontend {

namespace {

using ir::HostId;
using ir::HostOp;
using Values = std::span<const Value>;

struct MathOp {
  std::string_view name;
  HostOp op;
};
constexpr std::array kMathOps = {
    MathOp{"sqrt", HostOp::Sqrt},   MathOp{"exp", HostOp::Exp},           MathOp{"exp2", HostOp::Exp2},
    MathOp{"expm1", HostOp::Expm1}, MathOp{"log2", HostOp::Log2},         MathOp{"log10", HostOp::Log10},
    MathOp{"log1p", HostOp::Log1p}, MathOp{"sin", HostOp::Sin},           MathOp{"cos", HostOp::Cos},
    MathOp{"tan", HostOp::Tan},     MathOp{"asin", HostOp::Asin},         MathOp{"acos", HostOp::Acos},
    MathOp{"atan", HostOp::Atan},   MathOp{"atan2", HostOp::Atan2},       MathOp{"sinh", HostOp::Sinh},
    MathOp{"cosh", HostOp::Cosh},   MathOp{"tanh", HostOp::Tanh},         MathOp{"asinh", HostOp::Asinh},
    MathOp{"acosh", HostOp::Acosh}, MathOp{"atanh", HostOp::Atanh},       MathOp{"floor", HostOp::Floor},
    MathOp{"ceil", HostOp::Ceil},   MathOp{"trunc", HostOp::Trunc},       MathOp{"erf", HostOp::Erf},
    MathOp{"erfc", HostOp::Erfc},   MathOp{"gamma", HostOp::Gamma},       MathOp{"lgamma", HostOp::Lgamma},
    MathOp{"hypot", HostOp::Hypot}, MathOp{"copysign", HostOp::Copysign}, MathOp{"fmod", HostOp::Fmod},
    MathOp{"fabs", HostOp::Abs},    MathOp{"pow", HostOp::Pow},
};

HostId as_float(Evaluation& evaluation, const Value& value, std::string_view what) {
  return evaluation.host(HostOp::Float, {require_number(evaluation, value, what)});
}

/// Calls a function that is one host operation.
Value call_host_operation(Evaluation& evaluation, const PythonFunction& self, Values arguments) {
  auto row = std::find_if(kMathOps.begin(), kMathOps.end(), [&](const MathOp& r) { return r.name == self.name; });
  if (row == kMathOps.end()) throw_internal("a function of math without its operation");
  std::string what = fmt::format("math.{}", self.name);
  bool keeps_integers = row->op == HostOp::Floor || row->op == HostOp::Ceil || row->op == HostOp::Trunc;
  std::vector<HostId> operands;
  for (const Value& argument : arguments)
    operands.push_back(keeps_integers ? require_number(evaluation, argument, what)
                                      : as_float(evaluation, argument, what));
  return number(host_operation(evaluation, row->op, std::move(operands)));
}

Value call_log(Evaluation& evaluation, const PythonFunction&, Values arguments) {
  HostId value = host_operation(evaluation, HostOp::Log, {as_float(evaluation, arguments[0], "math.log")});
  if (arguments[1].is_none()) return number(value);
  HostId base = host_operation(evaluation, HostOp::Log, {as_float(evaluation, arguments[1], "math.log")});
  return number(host_operation(evaluation, HostOp::TrueDiv, {value, base}));
}

/// Converts angles with CPython's factors: x * (pi / 180) and x * (180 / pi).
Value call_angle(Evaluation& evaluation, const PythonFunction& self, Values arguments) {
  double factor = self.name == "radians" ? std::numbers::pi / 180 : 180 / std::numbers::pi;
  return number(evaluation.host(HostOp::Mul,
                                {as_float(evaluation, arguments[0], self.name), evaluation.graph.host.real(factor)}));
}

Value call_predicate(Evaluation& evaluation, const PythonFunction& self, Values arguments) {
  HostId x = as_float(evaluation, arguments[0], fmt::format("math.{}", self.name));
  if (self.name == "isnan") return number(evaluation.host(HostOp::Ne, {x, x}));
  HostId infinity = evaluation.graph.host.real(std::numeric_limits<double>::infinity());
  HostOp op = self.name == "isinf" ? HostOp::Eq : HostOp::Lt;  // isfinite is |x| < inf, which is false for NaN
  return number(evaluation.host(op, {evaluation.host(HostOp::Abs, {x}), infinity}));
}

Value call_prod(Evaluation& evaluation, const PythonFunction&, Values arguments) {
  Sequence sequence(evaluation, arguments[0], "math.prod()");
  Value product = arguments[1];
  for (size_t i = 0; i < sequence.size(); ++i) {
    evaluation.step();
    const Value operands[] = {product, sequence[i]};
    product = operate(evaluation, Operator::Mult, operands);
  }
  return product;
}

constexpr PythonFunction function(std::string_view name, std::string_view signature,
                                  decltype(PythonFunction::call) call) {
  return PythonFunction{name, signature, call};
}

constexpr std::array kFunctions = {
    function("sqrt", "(x)", call_host_operation),
    function("exp", "(x)", call_host_operation),
    function("exp2", "(x)", call_host_operation),
    function("expm1", "(x)", call_host_operation),
    function("log", "(x, base=None)", call_log),
    function("log2", "(x)", call_host_operation),
    function("log10", "(x)", call_host_operation),
    function("log1p", "(x)", call_host_operation),
    function("sin", "(x)", call_host_operation),
    function("cos", "(x)", call_host_operation),
    function("tan", "(x)", call_host_operation),
    function("asin", "(x)", call_host_operation),
    function("acos", "(x)", call_host_operation),
    function("atan", "(x)", call_host_operation),
    function("atan2", "(y, x)", call_host_operation),
    function("sinh", "(x)", call_host_operation),
    function("cosh", "(x)", call_host_operation),
    function("tanh", "(x)", call_host_operation),
    function("asinh", "(x)", call_host_operation),
    function("acosh", "(x)", call_host_operation),
    function("atanh", "(x)", call_host_operation),
    function("floor", "(x)", call_host_operation),
    function("ceil", "(x)", call_host_operation),
    function("trunc", "(x)", call_host_operation),
    function("erf", "(x)", call_host_operation),
    function("erfc", "(x)", call_host_operation),
    function("gamma", "(x)", call_host_operation),
    function("lgamma", "(x)", call_host_operation),
    function("hypot", "(x, y)", call_host_operation),
    function("copysign", "(x, y)", call_host_operation),
    function("fmod", "(x, y)", call_host_operation),
    function("fabs", "(x)", call_host_operation),
    function("pow", "(x, y)", call_host_operation),
    function("radians", "(x)", call_angle),
    function("degrees", "(x)", call_angle),
    function("isnan", "(x)", call_predicate),
    function("isinf", "(x)", call_predicate),
    function("isfinite", "(x)", call_predicate),
    function("prod", "(iterable, *, start=1)", call_prod),
};

}  // namespace

std::span<const PythonFunction> math_functions() { return kFunctions; }

std::optional<Value> math_attribute(Evaluation& evaluation, std::string_view name) {
  if (auto constant = math_constant(name)) return number(evaluation.graph.host.real(*constant));
  auto row =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const PythonFunction& r) { return r.name == name; });
  if (row == kFunctions.end()) return std::nullopt;
  return Value(&*row);
}

std::optional<double> math_constant(std::string_view name) {
  if (name == "pi") return std::numbers::pi;
  if (name == "e") return std::numbers::e;
  if (name == "tau") return 2 * std::numbers::pi;
  if (name == "inf") return std::numeric_limits<double>::infinity();
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

}  // namespace ingot::frontend
