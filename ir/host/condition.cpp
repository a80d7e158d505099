#include "ir/host/condition.h"

#include <fmt/format.h>

#include "base/error.h"

namespace ingot::ir {
namespace {

/// The integer that a message prints for a value.
int64_t printable(const HostValue& value) {
  return value.kind == HostKind::Float ? static_cast<int64_t>(value.as_double()) : value.as_int();
}

/// Replaces {0} and {1} in the message.
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

}  // namespace

bool holds(Condition::Kind kind, const HostValue& a, const HostValue& b) {
  using Kind = Condition::Kind;
  switch (kind) {
    case Kind::Equal:
      return a.as_int() == b.as_int();
    case Kind::Broadcasts:
      return a.as_int() == b.as_int() || a.as_int() == 1 || b.as_int() == 1;
    case Kind::InRange:
      return 0 <= a.as_int() && a.as_int() < b.as_int();
    case Kind::NonNegative:
    case Kind::Affordable:
      return a.as_int() >= 0;
    case Kind::True:
    case Kind::GradientsExist:
      return a.truthy();
    case Kind::NonEmpty:
      return a.as_int() > 0 || b.as_int() == 0;
    case Kind::RaisesNothing:
      return true;  // the value has been computed, so it exists
  }
  throw_internal("a condition of unknown kind");
}

std::string message_of(const Condition& condition, const HostValue& a, const HostValue& b) {
  using Kind = Condition::Kind;
  const int64_t x = printable(a), y = printable(b);
  if (!condition.message.empty()) return with_values(condition.message, x, y);
  switch (condition.kind) {
    case Kind::Equal:
      return fmt::format("two sizes must be equal, but are {} and {}", x, y);
    case Kind::Broadcasts:
      return fmt::format("sizes {} and {} do not broadcast", x, y);
    case Kind::InRange:
      return fmt::format("index {} is out of bounds for a dimension of size {}", x, y);
    case Kind::NonNegative:
      return fmt::format("a size must not be negative, but is {}", x);
    case Kind::True:
      return "an assertion of the op failed";
    case Kind::Affordable:
      return "this computation takes too many steps";
    case Kind::GradientsExist:
      return "PyTorch has no such gradient";
    case Kind::NonEmpty:
      return "cannot gather from a dimension of size 0";
    case Kind::RaisesNothing:
      return "a number cannot be computed";
  }
  throw_internal("a condition of unknown kind");
}

}  // namespace ingot::ir
