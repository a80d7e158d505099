#include "frontend/interpret/python_builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "frontend/interpret/dicts.h"
#include "frontend/interpret/interpreter.h"
#include "frontend/interpret/python_numbers.h"
#include "frontend/interpret/sequences.h"
#include "frontend/tensor/unknown_value.h"

namespace ingot::frontend {

namespace {

using ir::HostId;
using ir::HostKind;
using ir::HostOp;
using Values = std::span<const Value>;

[[noreturn]] void refuse_tensor(Evaluation& evaluation, const PythonFunction& self, const Value& value) {
  refuse_unknown_value(
      evaluation,
      fmt::format("{}() needs the value of a tensor, which is not known when the op is compiled", self.name),
      fmt::format("`{}` converts the elements", value.is_tensor() && self.name == "int"     ? "x.long()"
                                                : value.is_tensor() && self.name == "float" ? "x.float()"
                                                                                            : "x.bool()"));
}

Value call_len(Evaluation& evaluation, const PythonFunction&, Values arguments) {
  const Value& value = arguments[0];
  if (value.is_tensor()) {
    Value shape = *tensor_attribute(evaluation, value, "shape");
    if (shape.items()->empty()) evaluation.fail("a 0-dim tensor has no len()");
    return shape.items()->front();
  }
  if (value.is<std::string>()) {
    const auto starts_character = [](char byte) { return (byte & 0xc0) != 0x80; };
    return number(evaluation.integer(std::ranges::count_if(value.as<std::string>(), starts_character)));
  }
  if (!Sequence::is_iterable(value)) evaluation.fail(fmt::format("{} has no len()", describe(value)));
  return number(evaluation.integer(static_cast<int64_t>(Sequence(evaluation, value, "len()").size())));
}

Value call_range(Evaluation& evaluation, const PythonFunction&, Values arguments) {
  const std::vector<Value>& bounds = *arguments[0].items();
  if (bounds.empty() || bounds.size() > 3)
    evaluation.fail(fmt::format("range takes 1 to 3 arguments, but {} are given", bounds.size()),
                    "write `range(stop)`, `range(start, stop)` or `range(start, stop, step)`");
  std::array<int64_t, 3> values{};
  for (size_t i = 0; i < bounds.size(); ++i) values[i] = evaluation.static_int(bounds[i], "the bound of a range");
  if (bounds.size() == 1) return Range{0, values[0], 1};
  if (bounds.size() == 2) return Range{values[0], values[1], 1};
  if (values[2] == 0) evaluation.fail("the step of a range cannot be zero");
  return Range{values[0], values[1], values[2]};
}

Value call_zip(Evaluation& evaluation, const PythonFunction&, Values arguments) {
  std::vector<Sequence> sequences;
  for (const Value& value : *arguments[0].items()) sequences.emplace_back(evaluation, value, "zip()");
  size_t size = sequences.empty() ? 0 : std::numeric_limits<size_t>::max();
  for (const Sequence& sequence : sequences) size = std::min(size, sequence.size());
  std::vector<Value> rows;
  for (size_t i = 0; i < size; ++i) {
    evaluation.step();
    std::vector<Value> row;
    for (const Sequence& sequence : sequences) row.push_back(sequence[i]);
    rows.push_back(Value::tuple(std::move(row)));
  }
  return Value::list(std::move(rows));
}

Value call_enumerate(Evaluation& evaluation, const PythonFunction&, Values arguments) {
  Sequence sequence(evaluation, arguments[0], "enumerate()");
  HostId index = require_number(evaluation, arguments[1], "the start of enumerate");
  std::vector<Value> rows;
  for (const Value& item : sequence.items()) {
    evaluation.step();
    rows.push_back(Value::tuple({number(index), item}));
    index = evaluation.host(HostOp::Add, {index, evaluation.integer(1)});
  }
  return Value::list(std::move(rows));
}

Value call_min_or_max(Evaluation& evaluation, const PythonFunction& self, Values arguments) {
  Value iterable = arguments[0].items()->size() == 1 ? arguments[0].items()->front() : arguments[0];
  std::string what = fmt::format("{}()", self.name);
  std::vector<Value> items = Sequence(evaluation, iterable, what).items();
  if (items.empty()) evaluation.fail(fmt::format("{}() of an empty sequence", self.name));
  for (const Value& item : items)
    if (item.is_tensor())
      evaluation.fail(fmt::format("{}() does not compare the tensors of a sequence", self.name),
                      fmt::format("write `{}(a, b)` for two tensors", self.name == "min" ? "minimum" : "maximum"));
  HostId result = require_number(evaluation, items[0], what);
  for (size_t i = 1; i < items.size(); ++i)
    result = host_operation(evaluation, self.name == "min" ? HostOp::Min : HostOp::Max,
                            {result, require_number(evaluation, items[i], what)});
  return number(result);
}

Value call_sum(Evaluation& evaluation, const PythonFunction&, Values arguments) {
  Value total = arguments[1];
  Sequence sequence(evaluation, arguments[0], "sum()");
  for (size_t i = 0; i < sequence.size(); ++i) {
    evaluation.step();
    const Value operands[] = {total, sequence[i]};
    total = operate(evaluation, Operator::Add, operands);
  }
  return total;
}

Value call_abs(Evaluation& evaluation, const PythonFunction&, Values arguments) {
  return number(host_operation(evaluation, HostOp::Abs, {require_number(evaluation, arguments[0], "abs()")}));
}

/// Rounds as Python does: the double nearest to the exact value of `value` rounded to `digits` decimals, ties to even.
double rounded(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 400) return value;
  std::array<char, 1024> text;
  auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, static_cast<int>(digits))
          .ptr;
  double result = 0;
  std::from_chars(text.data(), end, result);
  return result;
}

Value call_round(Evaluation& evaluation, const PythonFunction&, Values arguments) {
  HostId value = require_number(evaluation, arguments[0], "round()");
  if (arguments[1].is_none()) return number(host_operation(evaluation, HostOp::Round, {value}));
  int64_t digits = evaluation.static_int(arguments[1], "the digits of round()");
  if (digits < 0) evaluation.fail("round() to negative digits is not in the language", "divide, round and multiply");
  if (evaluation.graph.host.kind(value) != HostKind::Float) return number(evaluation.host(HostOp::Int, {value}));
  return number(evaluation.graph.host.real(rounded(evaluation.static_number(value).as_double(), digits)));
}

Value call_pow(Evaluation& evaluation, const PythonFunction&, Values arguments) {
  return number(host_operation(
      evaluation, HostOp::Pow,
      {require_number(evaluation, arguments[0], "pow()"), require_number(evaluation, arguments[1], "pow()")}));
}

Value call_any_or_all(Evaluation& evaluation, const PythonFunction& self, Values arguments) {
  bool deciding_value = self.name == "any";
  Sequence sequence(evaluation, arguments[0], fmt::format("{}()", self.name));
  for (size_t i = 0; i < sequence.size(); ++i) {
    evaluation.step();
    if (truth(evaluation, sequence[i], fmt::format("an item of {}()", self.name)) == deciding_value)
      return boolean(evaluation, deciding_value);
  }
  return boolean(evaluation, !deciding_value);
}

Value call_int(Evaluation& evaluation, const PythonFunction& self, Values arguments) {
  if (arguments[0].is_tensor()) refuse_tensor(evaluation, self, arguments[0]);
  return number(host_operation(evaluation, HostOp::Int, {require_number(evaluation, arguments[0], "int()")}));
}

Value call_float(Evaluation& evaluation, const PythonFunction& self, Values arguments) {
  const Value& value = arguments[0];
  if (value.is_tensor()) refuse_tensor(evaluation, self, value);
  if (!value.is<std::string>())
    return number(evaluation.host(HostOp::Float, {require_number(evaluation, value, "float()")}));
  std::string_view text = value.as<std::string>();
  text.remove_prefix(std::min(text.find_first_not_of(" +"), text.size()));
  double result = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size())
    evaluation.fail(fmt::format("float() cannot read \"{}\"", value.as<std::string>()));
  return number(evaluation.graph.host.real(result));
}

Value call_bool(Evaluation& evaluation, const PythonFunction& self, Values arguments) {
  if (arguments[0].is_tensor()) refuse_tensor(evaluation, self, arguments[0]);
  if (arguments[0].is_number()) return number(evaluation.host(HostOp::Bool, {arguments[0].number()}));
  return boolean(evaluation, truth(evaluation, arguments[0], "the operand of bool()"));
}

std::vector<Value> items_of(Evaluation& evaluation, const PythonFunction& self, const Value& value) {
  return Sequence(evaluation, value, fmt::format("{}()", self.name)).items();
}

Value call_tuple(Evaluation& evaluation, const PythonFunction& self, Values arguments) {
  return Value::tuple(items_of(evaluation, self, arguments[0]));
}

Value call_list(Evaluation& evaluation, const PythonFunction& self, Values arguments) {
  return Value::list(items_of(evaluation, self, arguments[0]));
}

Value call_dict(Evaluation& evaluation, const PythonFunction&, Values arguments) {
  Value dict = Value::dict();
  for (const Value& items : arguments) update(evaluation, dict.as<Dict>(), items);
  return dict;
}

Value call_reversed(Evaluation& evaluation, const PythonFunction& self, Values arguments) {
  std::vector<Value> items = items_of(evaluation, self, arguments[0]);
  std::reverse(items.begin(), items.end());
  return Value::list(std::move(items));
}

Value call_sorted(Evaluation& evaluation, const PythonFunction& self, Values arguments) {
  std::vector<Value> items = items_of(evaluation, self, arguments[0]);
  for (const Value& item : items)
    if (item.is_tensor()) evaluation.fail("tensors cannot be sorted by an op", "sort before the op");
  bool descending = truth(evaluation, arguments[1], "the order of sorted()");
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    evaluation.step();
    const Value operands[] = {descending ? b : a, descending ? a : b};
    return truth(evaluation, operate(evaluation, Operator::Lt, operands), "the order of sorted()");
  });
  return Value::list(std::move(items));
}

bool is_instance(Evaluation& evaluation, const Value& value, const Value& type) {
  if (const auto* types = type.items())
    return std::any_of(types->begin(), types->end(),
                       [&](const Value& item) { return is_instance(evaluation, value, item); });
  std::string_view name = type.is<const PythonFunction*>() ? type.as<const PythonFunction*>()->name : "";
  auto kind_is = [&](auto... kinds) {
    return value.is_number() && ((evaluation.graph.host.kind(value.number()) == kinds) || ...);
  };
  if (name == "Tensor") return value.is_tensor();
  if (name == "int") return kind_is(HostKind::Int, HostKind::Bool);
  if (name == "float") return kind_is(HostKind::Float);
  if (name == "bool") return kind_is(HostKind::Bool);
  if (name == "tuple") return value.is<Tuple>();
  if (name == "list") return value.is<List>();
  if (name == "dict") return value.is<Dict>();
  if (name == "str") return value.is<std::string>();
  evaluation.fail("isinstance() supports int, float, bool, tuple, list, dict, str and torch.Tensor", "use one of them");
}

Value call_isinstance(Evaluation& evaluation, const PythonFunction&, Values arguments) {
  return boolean(evaluation, is_instance(evaluation, arguments[0], arguments[1]));
}

Value refuse_type_call(Evaluation& evaluation, const PythonFunction& self, Values) {
  evaluation.fail(fmt::format("{}() cannot be called", self.name),
                  "it is only a type for annotations and isinstance()");
}

constexpr std::array kFunctions = {
    PythonFunction{"len", "(obj)", call_len},
    PythonFunction{"range", "(*bounds)", call_range},
    PythonFunction{"zip", "(*iterables)", call_zip},
    PythonFunction{"enumerate", "(iterable, start=0)", call_enumerate},
    PythonFunction{"min", "(*values)", call_min_or_max},
    PythonFunction{"max", "(*values)", call_min_or_max},
    PythonFunction{"sum", "(iterable, start=0)", call_sum},
    PythonFunction{"abs", "(x)", call_abs},
    PythonFunction{"round", "(number, ndigits=None)", call_round},
    PythonFunction{"pow", "(base, exp)", call_pow},
    PythonFunction{"any", "(iterable)", call_any_or_all},
    PythonFunction{"all", "(iterable)", call_any_or_all},
    PythonFunction{"int", "(x=0)", call_int},
    PythonFunction{"float", "(x=0.0)", call_float},
    PythonFunction{"bool", "(x=False)", call_bool},
    PythonFunction{"tuple", "(iterable=())", call_tuple},
    PythonFunction{"list", "(iterable=())", call_list},
    PythonFunction{"dict", "(iterable=(), **items)", call_dict},
    PythonFunction{"reversed", "(sequence)", call_reversed},
    PythonFunction{"sorted", "(iterable, *, reverse=False)", call_sorted},
    PythonFunction{"isinstance", "(obj, classinfo)", call_isinstance},
    PythonFunction{"str", "(*values)", refuse_type_call},
    PythonFunction{"Tensor", "(*values)", refuse_type_call},
};

constexpr std::array<std::string_view, 8> kTypes = {"int", "float", "bool", "tuple", "list", "dict", "str", "Tensor"};
constexpr std::array<std::string_view, 8> kTorchCounterparts = {"sum",   "min", "max", "abs",
                                                                "round", "pow", "any", "all"};

struct RefusedName {
  std::string_view name, hint;
};
constexpr std::array kRefusedNames = {
    RefusedName{"print", "remove it; f.trace prints the values of one element"},
    RefusedName{"map", "write a comprehension: `[f(x) for x in xs]`"},
    RefusedName{"filter", "write a comprehension: `[x for x in xs if f(x)]`"},
    RefusedName{"next", "take the item by its index"},
    RefusedName{"iter", "loop over the values themselves"},
    RefusedName{"set", "use a tuple or a list"},
    RefusedName{"type", "test with isinstance()"},
    RefusedName{"getattr", "write the attribute: `x.name`"},
    RefusedName{"setattr", "give the new value a name of its own"},
    RefusedName{"hasattr", "write the attribute: `x.name`"},
    RefusedName{"divmod", "write `a // b` and `a % b`"},
    RefusedName{"slice", "write the slice in the index: `x[a:b]`"},
    RefusedName{"complex", "keep the real and imaginary parts in two values"},
    RefusedName{"input", "pass the value as a parameter"},
    RefusedName{"open", "read files before the op"},
    RefusedName{"eval", "write the expression itself"},
    RefusedName{"exec", "write the statements themselves"},
    RefusedName{"super", "write functions: classes are outside the language"},
};

}  // namespace

std::span<const PythonFunction> python_functions() { return kFunctions; }

const PythonFunction* find_python_function(std::string_view name) {
  auto function =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const PythonFunction& row) { return row.name == name; });
  return function == kFunctions.end() ? nullptr : &*function;
}

bool has_torch_counterpart(const PythonFunction& builtin) {
  bool is_builtin = &builtin >= kFunctions.data() && &builtin < kFunctions.data() + kFunctions.size();
  return is_builtin &&
         std::find(kTorchCounterparts.begin(), kTorchCounterparts.end(), builtin.name) != kTorchCounterparts.end();
}

bool is_python_type(std::string_view name) { return std::find(kTypes.begin(), kTypes.end(), name) != kTypes.end(); }

std::string_view refused_name_hint(std::string_view name) {
  for (const RefusedName& row : kRefusedNames)
    if (row.name == name) return row.hint;
  return {};
}

}  // namespace ingot::frontend
