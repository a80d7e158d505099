#pragma once

#include <string>

#include "base/source.h"
#include "ir/host/host.h"

namespace ingot::ir {

/// A condition on the arguments, checked when a shape is new, or at each call if the condition involves a scalar.
struct Condition {
  enum class Kind : uint8_t {
    Equal,           ///< a == b: two sizes that must match
    Broadcasts,      ///< a == b, or one of them is 1
    InRange,         ///< 0 <= a < b: an index that is a host integer and already wrapped
    NonNegative,     ///< a >= 0
    True,            ///< a is true (an assert of the author, an exponent that must not be negative)
    NonEmpty,        ///< a > 0 or b == 0: a dim of size a, from which b indices gather, must not be empty
    RaisesNothing,   ///< the arithmetic of a raises none of Python's errors, even if its value is not used
    Affordable,      ///< a >= 0; if not, the op must be computed in another way: by another graph, or by the fallback
    GradientsExist,  ///< a is 1: PyTorch has all gradients that the call requests. If a is 0, the fallback reports it
  } kind;
  HostId a, b = {};
  Span span = {};
  /// The error message, in which {0} and {1} are replaced by the values of a and b; empty for the kind's default.
  std::string message = {};
};

/// Whether a condition of this kind holds for the values of a and b.
bool holds(Condition::Kind kind, const HostValue& a, const HostValue& b);

/// The error message of a condition that does not hold for these values.
std::string message_of(const Condition& condition, const HostValue& a, const HostValue& b);

}  // namespace ingot::ir
