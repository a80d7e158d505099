#include "frontend/tensor/lowering.h"

#include <fmt/format.h>

#include "frontend/library/library.h"

namespace ingot::frontend {
namespace {

constexpr size_t kMaxSteps = 2'000'000;
constexpr size_t kStaticAboveNodes = 5'000;
constexpr size_t kMaxNodes = 50'000;
constexpr size_t kMaxNotes = 8;

bool in_library(const Span& span) { return span && span.source->name() == kLibraryName; }

std::string with_values(std::string_view message, int64_t a, int64_t b) {
  std::string text;
  for (size_t i = 0; i < message.size(); ++i) {
    const std::string_view rest = message.substr(i);
    if (rest.starts_with("{0}") || rest.starts_with("{1}")) {
      text += std::to_string(rest[1] == '0' ? a : b);
      i += 2;
    } else {
      text += message[i];
    }
  }
  return text;
}

int64_t printable(const ir::HostValue& value) {
  return value.kind == ir::HostKind::Float ? static_cast<int64_t>(value.as_double()) : value.as_int();
}

bool holds(ir::Condition::Kind kind, const ir::HostValue& a, const ir::HostValue& b) {
  using Kind = ir::Condition::Kind;
  switch (kind) {
    case Kind::Equal:
      return a.as_int() == b.as_int();
    case Kind::Broadcasts:
      return a.as_int() == b.as_int() || a.as_int() == 1 || b.as_int() == 1;
    case Kind::InRange:
      return 0 <= a.as_int() && a.as_int() < b.as_int();
    case Kind::NonNegative:
      return a.as_int() >= 0;
    case Kind::True:
      return a.truthy();
    case Kind::NonEmpty:
      return a.as_int() > 0;
  }
  throw_internal("a condition of no kind");
}

}  // namespace

std::string condition_message(const ir::Condition& condition, int64_t a, int64_t b) {
  using Kind = ir::Condition::Kind;
  if (!condition.message.empty()) return with_values(condition.message, a, b);
  switch (condition.kind) {
    case Kind::Equal:
      return fmt::format("two sizes must be equal, but are {} and {}", a, b);
    case Kind::Broadcasts:
      return fmt::format("sizes {} and {} do not broadcast", a, b);
    case Kind::InRange:
      return fmt::format("index {} is out of bounds for a dimension of size {}", a, b);
    case Kind::NonNegative:
      return fmt::format("a size must not be negative, but is {}", a);
    case Kind::True:
      return "an assertion of the op does not hold";
    case Kind::NonEmpty:
      return "nothing can be gathered from a dimension of size 0";
  }
  throw_internal("a condition of no kind");
}

Lowering::Lowering(const Signature& s, const Actuals& a) : signature(s), actuals(a) {}

Span Lowering::place() const { return authors_place().span; }

Lowering::Place Lowering::authors_place() const {
  Place place{here, call_stack.size()};
  while (place.depth > 0 && (!place.span || in_library(place.span))) {
    place.span = call_stack[--place.depth].span;
  }
  return place;
}

void Lowering::fail(std::string message, std::string hint) const {
  const Place place = authors_place();
  if (in_library(here) && place.depth < call_stack.size()) {
    message = fmt::format("{}: {}", call_stack[place.depth].callee, message);
  }
  Diagnostic diagnostic{.message = std::move(message), .span = place.span, .hint = std::move(hint), .notes = {}};
  for (size_t calls = place.depth; calls > 0 && diagnostic.notes.size() < kMaxNotes; --calls) {
    const CallSite& site = call_stack[calls - 1];
    diagnostic.notes.push_back({fmt::format("in `{}`, called here", site.callee), site.span});
  }
  throw_author(std::move(diagnostic));
}

ir::HostId Lowering::host(ir::HostOp op, std::vector<ir::HostId> args, uint32_t b) {
  try {
    return graph.host.make(op, std::move(args), b);
  } catch (const std::domain_error& error) {
    fail(error.what());
  }
}

ir::HostValue Lowering::static_number(ir::HostId id) {
  id = graph.host.resolve(id);
  if (graph.host.is_constant(id)) return graph.host.value(id);
  throw NeedStatic{graph.host.symbols(id)};
}

ir::HostValue Lowering::static_number(const Value& value, std::string_view what) {
  if (value.is_number()) return static_number(value.number());
  if (value.is_tensor()) {
    fail(fmt::format("{} must be a number known when the op is compiled, and the values of a tensor are not", what),
         "pass it as a parameter annotated `int` or `float`");
  }
  fail(fmt::format("{} must be a number, not {}", what, describe(value)));
}

int64_t Lowering::static_int(const Value& value, std::string_view what) {
  const ir::HostValue number = static_number(value, what);
  if (number.kind == ir::HostKind::Float) fail(fmt::format("{} must be an integer, not a float", what));
  return number.as_int();
}

bool Lowering::static_bool(const Value& value, std::string_view what) {
  if (value.is_none()) return false;
  if (value.is_tensor()) {
    fail(fmt::format("{} depends on the values of a tensor, which are not known when the op is compiled", what),
         "choose element by element with where(condition, a, b)");
  }
  if (const auto* items = value.items()) return !items->empty();
  if (value.is<std::string>()) return !value.as<std::string>().empty();
  return static_number(value, what).truthy();
}

void Lowering::require(ir::Condition::Kind kind, ir::HostId a, ir::HostId b, std::string message) {
  a = graph.host.resolve(a);
  b = graph.host.resolve(b);
  if (kind == ir::Condition::Kind::Equal && a == b) return;
  ir::Condition condition{.kind = kind, .a = a, .b = b, .span = place(), .message = std::move(message)};
  if (graph.host.is_constant(a) && graph.host.is_constant(b)) {
    const ir::HostValue x = graph.host.value(a), y = graph.host.value(b);
    if (!holds(kind, x, y)) fail(condition_message(condition, printable(x), printable(y)));
    return;
  }
  if (required_.insert({kind, a, b}).second) graph.conditions.push_back(std::move(condition));
}

void Lowering::step() {
  if (++steps_ > kMaxSteps) {
    fail(fmt::format("the op did not finish in {} steps", kMaxSteps),
         "loops are unrolled when the op is compiled, so their bounds must be small");
  }
}

void Lowering::name(const Value& value, std::string_view name) {
  const Tensor* tensor = value.tensor();
  if (!tensor || in_library(here)) return;
  for (const Tile& tile : tensor->tiles) graph.name_node(tile.node, std::string(name));
}

ir::NodeId Lowering::placed(ir::NodeId node) {
  graph.place_node(node, place());
  check_limits();
  return node;
}

void Lowering::check_limits() {
  if (graph.count() <= kStaticAboveNodes) return;
  if (graph.count() > kMaxNodes) {
    fail(fmt::format("the op is larger than {} nodes", kMaxNodes),
         "loops are unrolled when the op is compiled: make them shorter, or split the op in two");
  }
  std::vector<ir::HostId> sizes;
  for (const ir::Param& param : graph.params) {
    for (const ir::HostId size : param.shape) {
      if (!graph.host.is_constant(size)) sizes.push_back(size);
    }
  }
  if (!sizes.empty()) throw NeedStatic{std::move(sizes)};
}

}  // namespace ingot::frontend
