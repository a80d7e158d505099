#include "frontend/interpret/python_builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "frontend/interpret/interpreter.h"
#include "frontend/interpret/python_numbers.h"
#include "frontend/interpret/sequences.h"

namespace ingot::frontend {

namespace {

using ir::HostId;
using ir::HostKind;
using ir::HostOp;
using Values = std::span<const Value>;

[[noreturn]] void refuse_tensor(Lowering& lowering, const Builtin& self, const Value& value) {
  lowering.fail(fmt::format("{}() needs the value of a tensor, which is not known when the op is compiled", self.name),
                fmt::format("`{}` converts the elements", value.is_tensor() && self.name == "int"     ? "x.long()"
                                                          : value.is_tensor() && self.name == "float" ? "x.float()"
                                                                                                      : "x.bool()"));
}

Value call_len(Lowering& lowering, const Builtin&, Values arguments) {
  const Value& value = arguments[0];
  if (value.is_tensor()) {
    Value shape = *tensor_attribute(lowering, value, "shape");
    if (shape.items()->empty()) lowering.fail("a tensor without dims has no len()");
    return shape.items()->front();
  }
  if (value.is<std::string>()) return number(lowering.integer(static_cast<int64_t>(value.as<std::string>().size())));
  if (value.is<Range>()) return number(lowering.integer(length(value.as<Range>())));
  if (!value.items()) lowering.fail(fmt::format("{} has no len()", describe(value)));
  return number(lowering.integer(static_cast<int64_t>(value.items()->size())));
}

Value call_range(Lowering& lowering, const Builtin&, Values arguments) {
  const std::vector<Value>& bounds = *arguments[0].items();
  if (bounds.empty() || bounds.size() > 3)
    lowering.fail(fmt::format("range takes 1 to 3 arguments, but {} are given", bounds.size()),
                  "write `range(stop)`, `range(start, stop)` or `range(start, stop, step)`");
  std::array<int64_t, 3> values{};
  for (size_t i = 0; i < bounds.size(); ++i) values[i] = lowering.static_int(bounds[i], "the bound of a range");
  if (bounds.size() == 1) return Range{0, values[0], 1};
  if (bounds.size() == 2) return Range{values[0], values[1], 1};
  if (values[2] == 0) lowering.fail("the step of a range cannot be zero");
  return Range{values[0], values[1], values[2]};
}

Value call_zip(Lowering& lowering, const Builtin&, Values arguments) {
  std::vector<Sequence> sequences;
  for (const Value& value : *arguments[0].items()) sequences.emplace_back(lowering, value, "zip()");
  size_t size = sequences.empty() ? 0 : std::numeric_limits<size_t>::max();
  for (const Sequence& sequence : sequences) size = std::min(size, sequence.size());
  std::vector<Value> rows;
  for (size_t i = 0; i < size; ++i) {
    lowering.step();
    std::vector<Value> row;
    for (const Sequence& sequence : sequences) row.push_back(sequence[i]);
    rows.push_back(Value::tuple(std::move(row)));
  }
  return Value::list(std::move(rows));
}

Value call_enumerate(Lowering& lowering, const Builtin&, Values arguments) {
  Sequence sequence(lowering, arguments[0], "enumerate()");
  HostId at = require_number(lowering, arguments[1], "the start of enumerate");
  std::vector<Value> rows;
  for (const Value& item : sequence.items()) {
    lowering.step();
    rows.push_back(Value::tuple({number(at), item}));
    at = lowering.host(HostOp::Add, {at, lowering.integer(1)});
  }
  return Value::list(std::move(rows));
}

Value call_extreme(Lowering& lowering, const Builtin& self, Values arguments) {
  Value given = arguments[0].items()->size() == 1 ? arguments[0].items()->front() : arguments[0];
  std::string what = fmt::format("{}()", self.name);
  std::vector<Value> items = Sequence(lowering, given, what).items();
  if (items.empty()) lowering.fail(fmt::format("{}() of nothing", self.name));
  for (const Value& item : items)
    if (item.is_tensor())
      lowering.fail(fmt::format("{}() does not compare the tensors of a sequence", self.name),
                    fmt::format("write `{}(a, b)` for two tensors", self.name == "min" ? "minimum" : "maximum"));
  HostId result = require_number(lowering, items[0], what);
  for (size_t i = 1; i < items.size(); ++i)
    result = host_operation(lowering, self.name == "min" ? HostOp::Min : HostOp::Max,
                            {result, require_number(lowering, items[i], what)});
  return number(result);
}

Value call_sum(Lowering& lowering, const Builtin&, Values arguments) {
  Value total = arguments[1];
  Sequence sequence(lowering, arguments[0], "sum()");
  for (size_t i = 0; i < sequence.size(); ++i) {
    lowering.step();
    const Value operands[] = {total, sequence[i]};
    total = operate(lowering, Operator::Add, operands);
  }
  return total;
}

Value call_abs(Lowering& lowering, const Builtin&, Values arguments) {
  return number(lowering.host(HostOp::Abs, {require_number(lowering, arguments[0], "abs()")}));
}

/// The double nearest to `value` with that many decimals, as Python rounds: of its exact value, ties to even.
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

Value call_round(Lowering& lowering, const Builtin&, Values arguments) {
  HostId value = require_number(lowering, arguments[0], "round()");
  if (arguments[1].is_none()) return number(lowering.host(HostOp::Round, {value}));
  int64_t digits = lowering.static_int(arguments[1], "the digits of round()");
  if (digits < 0) lowering.fail("round() to negative digits is not in the language", "divide, round and multiply");
  if (lowering.graph.host.kind(value) != HostKind::Float) return number(lowering.host(HostOp::Int, {value}));
  return number(lowering.graph.host.real(rounded(lowering.static_number(value).as_double(), digits)));
}

Value call_pow(Lowering& lowering, const Builtin&, Values arguments) {
  return number(host_operation(
      lowering, HostOp::Pow,
      {require_number(lowering, arguments[0], "pow()"), require_number(lowering, arguments[1], "pow()")}));
}

Value call_quantifier(Lowering& lowering, const Builtin& self, Values arguments) {
  bool wanted = self.name == "any";
  Sequence sequence(lowering, arguments[0], fmt::format("{}()", self.name));
  for (size_t i = 0; i < sequence.size(); ++i) {
    lowering.step();
    if (truth(lowering, sequence[i], fmt::format("an item of {}()", self.name)) == wanted)
      return boolean(lowering, wanted);
  }
  return boolean(lowering, !wanted);
}

Value call_int(Lowering& lowering, const Builtin& self, Values arguments) {
  if (arguments[0].is_tensor()) refuse_tensor(lowering, self, arguments[0]);
  return number(lowering.host(HostOp::Int, {require_number(lowering, arguments[0], "int()")}));
}

Value call_float(Lowering& lowering, const Builtin& self, Values arguments) {
  const Value& value = arguments[0];
  if (value.is_tensor()) refuse_tensor(lowering, self, value);
  if (!value.is<std::string>())
    return number(lowering.host(HostOp::Float, {require_number(lowering, value, "float()")}));
  std::string_view text = value.as<std::string>();
  text.remove_prefix(std::min(text.find_first_not_of(" +"), text.size()));
  double result = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size())
    lowering.fail(fmt::format("float() cannot read \"{}\"", value.as<std::string>()));
  return number(lowering.graph.host.real(result));
}

Value call_bool(Lowering& lowering, const Builtin& self, Values arguments) {
  if (arguments[0].is_tensor()) refuse_tensor(lowering, self, arguments[0]);
  if (arguments[0].is_number()) return number(lowering.host(HostOp::Bool, {arguments[0].number()}));
  return boolean(lowering, truth(lowering, arguments[0], "the operand of bool()"));
}

std::vector<Value> items_of(Lowering& lowering, const Builtin& self, const Value& value) {
  return Sequence(lowering, value, fmt::format("{}()", self.name)).items();
}

Value call_tuple(Lowering& lowering, const Builtin& self, Values arguments) {
  return Value::tuple(items_of(lowering, self, arguments[0]));
}

Value call_list(Lowering& lowering, const Builtin& self, Values arguments) {
  return Value::list(items_of(lowering, self, arguments[0]));
}

Value call_reversed(Lowering& lowering, const Builtin& self, Values arguments) {
  std::vector<Value> items = items_of(lowering, self, arguments[0]);
  std::reverse(items.begin(), items.end());
  return Value::list(std::move(items));
}

Value call_sorted(Lowering& lowering, const Builtin& self, Values arguments) {
  std::vector<Value> items = items_of(lowering, self, arguments[0]);
  for (const Value& item : items)
    if (item.is_tensor()) lowering.fail("tensors cannot be sorted by an op", "sort before the op");
  bool descending = truth(lowering, arguments[1], "the order of sorted()");
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    lowering.step();
    const Value operands[] = {descending ? b : a, descending ? a : b};
    return truth(lowering, operate(lowering, Operator::Lt, operands), "the order of sorted()");
  });
  return Value::list(std::move(items));
}

bool is_instance(Lowering& lowering, const Value& value, const Value& type) {
  if (const auto* types = type.items())
    return std::any_of(types->begin(), types->end(),
                       [&](const Value& one) { return is_instance(lowering, value, one); });
  std::string_view name = type.is<const Builtin*>() ? type.as<const Builtin*>()->name : "";
  auto kind_is = [&](auto... kinds) {
    return value.is_number() && ((lowering.graph.host.kind(value.number()) == kinds) || ...);
  };
  if (name == "Tensor") return value.is_tensor();
  if (name == "int") return kind_is(HostKind::Int, HostKind::Bool);
  if (name == "float") return kind_is(HostKind::Float);
  if (name == "bool") return kind_is(HostKind::Bool);
  if (name == "tuple") return value.is<Tuple>();
  if (name == "list") return value.is<List>();
  if (name == "str") return value.is<std::string>();
  lowering.fail("isinstance() knows int, float, bool, tuple, list, str and torch.Tensor", "use one of them");
}

Value call_isinstance(Lowering& lowering, const Builtin&, Values arguments) {
  return boolean(lowering, is_instance(lowering, arguments[0], arguments[1]));
}

Value call_type(Lowering& lowering, const Builtin& self, Values) {
  lowering.fail(fmt::format("{}() makes no value in the language", self.name),
                "it is a type for annotations and isinstance()");
}

constexpr bool kFunction = true, kNoMethod = false;
constexpr std::array kBuiltins = {
    Builtin{"len", "(obj)", kFunction, kNoMethod, {}, call_len},
    Builtin{"range", "(*bounds)", kFunction, kNoMethod, {}, call_range},
    Builtin{"zip", "(*iterables)", kFunction, kNoMethod, {}, call_zip},
    Builtin{"enumerate", "(iterable, start=0)", kFunction, kNoMethod, {}, call_enumerate},
    Builtin{"min", "(*values)", kFunction, kNoMethod, {}, call_extreme},
    Builtin{"max", "(*values)", kFunction, kNoMethod, {}, call_extreme},
    Builtin{"sum", "(iterable, start=0)", kFunction, kNoMethod, {}, call_sum},
    Builtin{"abs", "(x)", kFunction, kNoMethod, {}, call_abs},
    Builtin{"round", "(number, ndigits=None)", kFunction, kNoMethod, {}, call_round},
    Builtin{"pow", "(base, exp)", kFunction, kNoMethod, {}, call_pow},
    Builtin{"any", "(iterable)", kFunction, kNoMethod, {}, call_quantifier},
    Builtin{"all", "(iterable)", kFunction, kNoMethod, {}, call_quantifier},
    Builtin{"int", "(x=0)", kFunction, kNoMethod, {}, call_int},
    Builtin{"float", "(x=0.0)", kFunction, kNoMethod, {}, call_float},
    Builtin{"bool", "(x=False)", kFunction, kNoMethod, {}, call_bool},
    Builtin{"tuple", "(iterable=())", kFunction, kNoMethod, {}, call_tuple},
    Builtin{"list", "(iterable=())", kFunction, kNoMethod, {}, call_list},
    Builtin{"reversed", "(sequence)", kFunction, kNoMethod, {}, call_reversed},
    Builtin{"sorted", "(iterable, *, reverse=False)", kFunction, kNoMethod, {}, call_sorted},
    Builtin{"isinstance", "(obj, classinfo)", kFunction, kNoMethod, {}, call_isinstance},
    Builtin{"str", "(*values)", kFunction, kNoMethod, {}, call_type},
    Builtin{"Tensor", "(*values)", kFunction, kNoMethod, {}, call_type},
};

constexpr std::array<std::string_view, 7> kTypes = {"int", "float", "bool", "tuple", "list", "str", "Tensor"};
constexpr std::array<std::string_view, 8> kTorchTwins = {"sum", "min", "max", "abs", "round", "pow", "any", "all"};

struct RefusedName {
  std::string_view name, hint;
};
constexpr std::array kRefusedNames = {
    RefusedName{"print", "remove it; f.trace prints the values of one element"},
    RefusedName{"map", "write a comprehension: `[f(x) for x in xs]`"},
    RefusedName{"filter", "write a comprehension: `[x for x in xs if f(x)]`"},
    RefusedName{"next", "take the item by its index"},
    RefusedName{"iter", "loop over the values themselves"},
    RefusedName{"dict", "use a tuple or a list"},
    RefusedName{"set", "use a tuple or a list"},
    RefusedName{"type", "ask with isinstance()"},
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

std::span<const Builtin> python_builtins() { return kBuiltins; }

const Builtin* find_python_builtin(std::string_view name) {
  auto found = std::find_if(kBuiltins.begin(), kBuiltins.end(), [&](const Builtin& row) { return row.name == name; });
  return found == kBuiltins.end() ? nullptr : &*found;
}

bool has_torch_twin(const Builtin& builtin) {
  bool ours = &builtin >= kBuiltins.data() && &builtin < kBuiltins.data() + kBuiltins.size();
  return ours && std::find(kTorchTwins.begin(), kTorchTwins.end(), builtin.name) != kTorchTwins.end();
}

bool is_python_type(std::string_view name) { return std::find(kTypes.begin(), kTypes.end(), name) != kTypes.end(); }

std::string_view refused_python_name(std::string_view name) {
  for (const RefusedName& row : kRefusedNames)
    if (row.name == name) return row.hint;
  return {};
}

}  // namespace ingot::frontend
