#include <fmt/format.h>

#include "base/error.h"
#include "frontend/tensor/lowering.h"
#include "runtime/bound_call.h"

namespace ingot::runtime {

bool holds(const ir::Condition& condition, ir::HostValue a, ir::HostValue b) {
  using Kind = ir::Condition::Kind;
  switch (condition.kind) {
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

void throw_check(const Program& program, const Program::Check& check, ir::HostValue a, ir::HostValue b) {
  const auto whole = [](ir::HostValue value) {
    return value.kind == ir::HostKind::Float ? static_cast<int64_t>(value.real) : value.as_int();
  };
  const std::string message = frontend::condition_message(check.condition, whole(a), whole(b));
  std::string rendered = "error: " + message;
  rendered += check.place.empty() ? fmt::format("\nin `{}`", program.name) : "\n" + check.place;
  throw Error(Fault::Author, message, rendered);
}

void throw_arithmetic(const Program& program, const std::string& words) {
  throw_author(Span{}, fmt::format("{}: {}", program.name, words),
               "the op computes this number from its arguments' sizes and numbers, as Python would");
}

}  // namespace ingot::runtime
