#include "frontend/interpret/python_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frontend/interpret/dicts.h"
#include "frontend/interpret/interpreter.h"
#include "frontend/interpret/sequences.h"
#include "frontend/tensor/storage.h"

namespace ingot::frontend {

namespace {

using ir::HostId;
using ir::HostKind;
using ir::HostOp;
using ir::HostValue;

constexpr int kMaxDepth = 100;  // nesting depth of compared sequences

std::optional<HostOp> host_op(Operator op) {
  switch (op) {
    case Operator::Add:
      return HostOp::Add;
    case Operator::Sub:
      return HostOp::Sub;
    case Operator::Mult:
      return HostOp::Mul;
    case Operator::Div:
      return HostOp::TrueDiv;
    case Operator::FloorDiv:
      return HostOp::FloorDiv;
    case Operator::Mod:
      return HostOp::Mod;
    case Operator::Pow:
      return HostOp::Pow;
    case Operator::Lt:
      return HostOp::Lt;
    case Operator::LtE:
      return HostOp::Le;
    case Operator::Gt:
      return HostOp::Gt;
    case Operator::GtE:
      return HostOp::Ge;
    case Operator::Eq:
      return HostOp::Eq;
    case Operator::NotEq:
      return HostOp::Ne;
    case Operator::Neg:
      return HostOp::Neg;
    default:
      return std::nullopt;
  }
}

/// Python's name of a value's type, for messages that repeat Python's.
std::string type_name(Evaluation& evaluation, const Value& value) {
  if (!value.is_number()) {
    if (value.is<Tuple>()) return "tuple";
    if (value.is<List>()) return "list";
    if (value.is<Dict>()) return "dict";
    if (value.is<std::string>()) return "str";
    return describe(value);
  }
  switch (evaluation.graph.host.kind(value.number())) {
    case HostKind::Bool:
      return "bool";
    case HostKind::Int:
      return "int";
    case HostKind::Float:
      return "float";
  }
  throw_internal("a number of no kind");
}

[[noreturn]] void fail_unsupported(Evaluation& evaluation, Operator op, std::span<const Value> operands) {
  std::string hint;
  for (const Value& operand : operands) {
    if (operand.is_none()) hint = "`None` is not a number: give it a value, or test for it with `is None`";
    if (operand.is<const Builtin*>() || operand.is<const PythonFunction*>() ||
        operand.is<std::shared_ptr<const Function>>())
      hint = "this is a function: call it with `(…)`";
  }
  if (operands.size() == 1)
    evaluation.fail(fmt::format("`{}` does not take {}", operator_text(op), type_name(evaluation, operands[0])), hint);
  evaluation.fail(fmt::format("`{}` does not take {} and {}", operator_text(op), type_name(evaluation, operands[0]),
                              type_name(evaluation, operands[1])),
                  hint);
}

[[noreturn]] void fail_too_large(Evaluation& evaluation) {
  evaluation.fail("the integer does not fit in 64 bits", "integers range from -2**63 to 2**63 - 1; use a float");
}

int64_t shifted_left(Evaluation& evaluation, int64_t value, int64_t count) {
  if (value == 0) return 0;
  if (count >= 63) fail_too_large(evaluation);
  int64_t result = 0;
  if (__builtin_mul_overflow(value, int64_t{1} << count, &result)) fail_too_large(evaluation);
  return result;
}

bool is_bitwise(Operator op) {
  return op == Operator::BitAnd || op == Operator::BitOr || op == Operator::BitXor || op == Operator::LShift ||
         op == Operator::RShift || op == Operator::Invert;
}

Value bitwise(Evaluation& evaluation, Operator op, std::span<const Value> operands) {
  std::vector<HostValue> values;
  for (const Value& operand : operands) {
    if (evaluation.graph.host.kind(operand.number()) == HostKind::Float) fail_unsupported(evaluation, op, operands);
    values.push_back(evaluation.static_number(operand.number()));
  }
  int64_t a = values[0].as_int();
  if (op == Operator::Invert) return number(evaluation.integer(~a));
  int64_t b = values[1].as_int();
  if (op == Operator::LShift || op == Operator::RShift) {
    if (b < 0) evaluation.fail("negative shift count", "shift the other way");
    return number(
        evaluation.integer(op == Operator::LShift ? shifted_left(evaluation, a, b) : a >> std::min<int64_t>(b, 63)));
  }
  int64_t result = op == Operator::BitAnd ? a & b : op == Operator::BitOr ? a | b : a ^ b;
  if (values[0].kind == HostKind::Bool && values[1].kind == HostKind::Bool) return boolean(evaluation, result != 0);
  return number(evaluation.integer(result));
}

Value number_operator(Evaluation& evaluation, Operator op, std::span<const Value> operands) {
  if (is_bitwise(op)) return bitwise(evaluation, op, operands);
  std::vector<HostId> ids;
  for (const Value& operand : operands) ids.push_back(operand.number());
  if (op == Operator::Pos) {
    bool is_bool = evaluation.graph.host.kind(ids[0]) == HostKind::Bool;
    return number(is_bool ? evaluation.host(HostOp::Int, std::move(ids)) : ids[0]);
  }
  if (auto host = host_op(op)) return number(host_operation(evaluation, *host, std::move(ids)));
  fail_unsupported(evaluation, op, operands);
}

/// Concatenates two sequences of the same kind.
Value concatenated(Evaluation& evaluation, const Value& a, const Value& b) {
  evaluation.budget.spend_items(a.items()->size() + b.items()->size());
  std::vector<Value> items = *a.items();
  items.insert(items.end(), b.items()->begin(), b.items()->end());
  return a.is<Tuple>() ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Value repeated(Evaluation& evaluation, const Value& sequence, const Value& count) {
  int64_t times = std::max<int64_t>(0, evaluation.static_int(count, "the repeat count of a sequence"));
  const std::vector<Value>& items = *sequence.items();
  if (items.empty()) times = 0;
  uint64_t total = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(times), items.size(), &total)) total = UINT64_MAX;
  evaluation.budget.spend_items(total);
  std::vector<Value> result;
  for (int64_t i = 0; i < times; ++i) result.insert(result.end(), items.begin(), items.end());
  return sequence.is<Tuple>() ? Value::tuple(std::move(result)) : Value::list(std::move(result));
}

/// `a and b` of two host booleans, without specialising on their values.
HostId logical_and(Evaluation& evaluation, HostId a, HostId b) {
  return evaluation.host(HostOp::Select, {a, b, evaluation.graph.host.boolean(false)});
}

HostId equal(Evaluation& evaluation, const Value& a, const Value& b, int depth);

HostId equal_dicts(Evaluation& evaluation, const Dict& a, const Dict& b, int depth) {
  HostId result = evaluation.graph.host.boolean(a.keys->size() == b.keys->size());
  for (size_t i = 0; i < a.keys->size() && a.keys->size() == b.keys->size(); ++i) {
    const std::optional<size_t> index = find_item(evaluation, b, (*a.keys)[i]);
    if (!index) return evaluation.graph.host.boolean(false);
    result = logical_and(evaluation, result, equal(evaluation, (*a.values)[i], (*b.values)[*index], depth + 1));
  }
  return result;
}

HostId equal(Evaluation& evaluation, const Value& a, const Value& b, int depth) {
  auto constant = [&](bool value) { return evaluation.graph.host.boolean(value); };
  if (a.is_number() && b.is_number()) {
    if (evaluation.graph.host.same(a.number(), b.number()) && evaluation.graph.host.kind(a.number()) != HostKind::Float)
      return constant(true);
    return evaluation.host(HostOp::Eq, {a.number(), b.number()});
  }
  if (a.is_tensor() || b.is_tensor()) {
    if (identical(a, b)) return constant(true);
    evaluation.fail("tensors inside tuples or lists are not compared", "compare the tensors themselves, one by one");
  }
  if (a.is<DictView>() && b.is<DictView>() && a.as<DictView>().part != DictView::Part::Values)
    evaluation.fail("views of dicts are not compared", "compare the dicts, or lists: `list(d)`");
  const bool are_dicts = a.is<Dict>() && b.is<Dict>();
  bool are_sequences = (a.is<Tuple>() && b.is<Tuple>()) || (a.is<List>() && b.is<List>());
  if (!are_sequences && !are_dicts) {
    if (a.is<Range>() && b.is<Range>()) {
      const Range &x = a.as<Range>(), &y = b.as<Range>();
      return constant(x.start == y.start && x.stop == y.stop && x.step == y.step);
    }
    return constant(identical(a, b));
  }
  if (depth == kMaxDepth) evaluation.fail("the tuples or lists are nested too deeply to compare");
  if (are_dicts) return equal_dicts(evaluation, a.as<Dict>(), b.as<Dict>(), depth);
  const std::vector<Value>&x = *a.items(), &y = *b.items();
  if (&x == &y) return constant(true);
  if (x.size() != y.size()) return constant(false);
  HostId result = constant(true);
  for (size_t i = 0; i < x.size(); ++i) {
    evaluation.step();
    result = logical_and(evaluation, result, equal(evaluation, x[i], y[i], depth + 1));
  }
  return result;
}

bool contains(Evaluation& evaluation, const Value& container, const Value& item) {
  if (container.is<std::string>() && item.is<std::string>())
    return container.as<std::string>().find(item.as<std::string>()) != std::string::npos;
  Sequence sequence(evaluation, container, "`in`");
  for (size_t i = 0; i < sequence.size(); ++i) {
    evaluation.step();
    if (evaluation.static_number(equal(evaluation, sequence[i], item)).truthy()) return true;
  }
  return false;
}

/// Compares tuples or lists in Python's order: by the first items that differ, else by length.
bool holds_in_order(Evaluation& evaluation, Operator op, const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (evaluation.static_number(equal(evaluation, a[i], b[i])).truthy()) continue;
    const Value pair[] = {a[i], b[i]};
    return truth(evaluation, operate(evaluation, op, pair), "a comparison of sequences");
  }
  switch (op) {
    case Operator::Lt:
      return a.size() < b.size();
    case Operator::LtE:
      return a.size() <= b.size();
    case Operator::Gt:
      return a.size() > b.size();
    default:
      return a.size() >= b.size();
  }
}

bool is_order(Operator op) {
  return op == Operator::Lt || op == Operator::LtE || op == Operator::Gt || op == Operator::GtE;
}

bool holds_in_order(Operator op, const std::string& a, const std::string& b) {
  switch (op) {
    case Operator::Lt:
      return a < b;
    case Operator::LtE:
      return a <= b;
    case Operator::Gt:
      return a > b;
    default:
      return a >= b;
  }
}

}  // namespace

Value number(HostId id) { return Number{id}; }
Value boolean(Evaluation& evaluation, bool value) { return Number{evaluation.graph.host.boolean(value)}; }

namespace {

/// Whether Python can raise an error for this operation. An integer power whose exponent may be negative is checked as
/// a power of floats, because Python computes it in floats.
bool may_raise(const ir::HostPool& host, HostOp op, std::span<const HostId> operands) {
  std::vector<HostKind> kinds;
  for (const HostId operand : operands) kinds.push_back(host.kind(operand));
  if (op == HostOp::Pow && !host.known_nonnegative(operands[1])) kinds.push_back(HostKind::Float);
  return ir::python_may_raise(op, kinds);
}

/// Adds the condition that a divisor is not zero, as `assert divisor != 0` does. The division cannot check this,
/// because folding may remove it.
void require_divisor(Evaluation& evaluation, HostOp op, std::span<const HostId> operands) {
  ir::HostPool& host = evaluation.graph.host;
  const bool is_float = std::ranges::any_of(operands, [&](HostId id) { return host.kind(id) == HostKind::Float; });
  const HostId is_zero = evaluation.host(HostOp::Eq, {operands[1], evaluation.integer(0)});
  const HostId is_nonzero = evaluation.host(HostOp::Not, {is_zero});
  evaluation.require(ir::Condition::Kind::True, is_nonzero, ir::division_by_zero_message(op, is_float));
}

}  // namespace

HostId host_operation(Evaluation& evaluation, HostOp op, std::vector<HostId> operands) {
  ir::HostPool& host = evaluation.graph.host;
  if (host.kind_depends_on_value(op, operands))
    for (HostId& operand : operands) operand = host.constant(evaluation.static_number(operand));
  // PyTorch's functions have their own errors, so library functions skip Python's checks.
  if (evaluation.diagnostics.in_library()) return evaluation.host(op, std::move(operands));
  const bool can_raise = may_raise(host, op, operands);
  const bool divides = op == HostOp::TrueDiv || op == HostOp::FloorDiv || op == HostOp::Mod;
  if (divides) require_divisor(evaluation, op, operands);
  const HostId result = evaluation.host(op, std::move(operands));
  if (host.is_constant(result)) return result;
  if (can_raise && !divides) evaluation.require(ir::Condition::Kind::RaisesNothing, result);
  if (can_raise || host[result].per_call)
    evaluation.graph.host_locations.emplace(result, evaluation.diagnostics.location());
  return result;
}

HostId require_number(Evaluation& evaluation, const Value& value, std::string_view what) {
  if (value.is_number()) return value.number();
  if (value.is_tensor())
    evaluation.fail(fmt::format("{} takes numbers, not {}", what, describe(value)),
                    "the functions of torch take tensors");
  evaluation.fail(fmt::format("{} takes numbers, not {}", what, describe(value)));
}

HostId equal(Evaluation& evaluation, const Value& a, const Value& b) { return equal(evaluation, a, b, 0); }

namespace {

/// Whether two handles refer to the same eager tensor.
bool is_same_tensor(const TensorHandle& a, const TensorHandle& b) {
  return a.storage && a.storage == b.storage && a.step == b.step && a.view == b.view && a.history == b.history;
}

/// Python's `is`; an error for two tensor arguments of the op, because one kernel serves calls with the same tensor and
/// calls with different tensors.
bool is_same_object(Evaluation& evaluation, const Value& a, const Value& b) {
  const auto parameter = [](const Value& value) {
    const Tensor* tensor = value.tensor();
    return tensor && tensor->handle.storage && !tensor->handle.view ? tensor->handle.storage->param : std::nullopt;
  };
  const std::optional<uint32_t> first = parameter(a), second = parameter(b);
  if (first && second && *first != *second) {
    evaluation.fail("whether two arguments are the same tensor is not known when the op is compiled",
                    "add a parameter that says so: shared: bool");
  }
  return identical(a, b);
}

}  // namespace

bool identical(const Value& a, const Value& b) {
  if (a.variant().index() != b.variant().index()) return false;
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        const T& y = b.as<T>();
        if constexpr (std::is_same_v<T, None> || std::is_same_v<T, Ellipsis>) {
          return true;
        } else if constexpr (std::is_same_v<T, Number>) {
          return x.id == y.id;
        } else if constexpr (std::is_same_v<T, Tuple> || std::is_same_v<T, List>) {
          return x.items == y.items;
        } else if constexpr (std::is_same_v<T, Dict>) {
          return x.keys == y.keys;
        } else if constexpr (std::is_same_v<T, DictView>) {
          return false;  // each call of d.keys() makes a new view
        } else if constexpr (std::is_same_v<T, Slice>) {
          return x.bounds == y.bounds;
        } else if constexpr (std::is_same_v<T, Range>) {
          return x.start == y.start && x.stop == y.stop && x.step == y.step;
        } else if constexpr (std::is_same_v<T, std::shared_ptr<Tensor>>) {
          return x == y || is_same_tensor(x->handle, y->handle);
        } else if constexpr (std::is_same_v<T, NumberLimits>) {
          return x.type == y.type;
        } else if constexpr (std::is_same_v<T, InPlace>) {
          return identical(*x.function, *y.function);
        } else if constexpr (std::is_same_v<T, BoundMethod>) {
          return identical(*x.function, *y.function) && identical(*x.self, *y.self);
        } else {
          return x == y;
        }
      },
      a.variant());
}

Value static_operator(Evaluation& evaluation, Operator op, std::span<const Value> operands) {
  const Value& a = operands[0];
  if (op == Operator::Not) return boolean(evaluation, !truth(evaluation, a, "the operand of `not`"));
  if (operands.size() == 1) {
    if (!a.is_number()) fail_unsupported(evaluation, op, operands);
    return number_operator(evaluation, op, operands);
  }
  const Value& b = operands[1];
  switch (op) {
    case Operator::Is:
      return boolean(evaluation, is_same_object(evaluation, a, b));
    case Operator::IsNot:
      return boolean(evaluation, !is_same_object(evaluation, a, b));
    case Operator::In:
      return boolean(evaluation, contains(evaluation, b, a));
    case Operator::NotIn:
      return boolean(evaluation, !contains(evaluation, b, a));
    case Operator::Eq:
      return number(equal(evaluation, a, b));
    case Operator::NotEq:
      return number(evaluation.host(HostOp::Not, {equal(evaluation, a, b)}));
    default:
      break;
  }
  if (a.is_number() && b.is_number()) return number_operator(evaluation, op, operands);
  bool are_sequences = (a.is<Tuple>() && b.is<Tuple>()) || (a.is<List>() && b.is<List>());
  if (op == Operator::Add && are_sequences) return concatenated(evaluation, a, b);
  if (op == Operator::Add && a.is<std::string>() && b.is<std::string>()) {
    evaluation.budget.spend_string_bytes(a.as<std::string>().size() + b.as<std::string>().size());
    return a.as<std::string>() + b.as<std::string>();
  }
  if (op == Operator::BitOr && a.is<Dict>() && b.is<Dict>()) {
    Value result = Value::dict();
    update(evaluation, result.as<Dict>(), a);
    update(evaluation, result.as<Dict>(), b);
    return result;
  }
  if (op == Operator::Mult && a.items() && b.is_number()) return repeated(evaluation, a, b);
  if (op == Operator::Mult && a.is_number() && b.items()) return repeated(evaluation, b, a);
  if (is_order(op) && are_sequences) return boolean(evaluation, holds_in_order(evaluation, op, *a.items(), *b.items()));
  if (is_order(op) && a.is<std::string>() && b.is<std::string>())
    return boolean(evaluation, holds_in_order(op, a.as<std::string>(), b.as<std::string>()));
  fail_unsupported(evaluation, op, operands);
}

}  // namespace ingot::frontend
