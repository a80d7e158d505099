#pragma once

#include <string>

#include "base/source.h"
#include "ir/host/host.h"

namespace ingot::ir {

/// What must hold of the arguments, checked when a shape is new (or at each call where a scalar takes part).
struct Condition {
  enum class Kind : uint8_t {
    Equal,        ///< a == b: sizes that meet
    Broadcasts,   ///< a == b, or one of them is 1
    InRange,      ///< 0 <= a < b: an index that is a host integer, already wrapped
    NonNegative,  ///< a >= 0
    True,         ///< a is true (an assert of the author's, an exponent that must not be negative)
    NonEmpty,     ///< a > 0 where something is gathered from it: by b indices
    Computes,     ///< a has a value: its arithmetic raises none of Python's errors, whether or not it is used
    Affordable,   ///< a >= 0: where it is not, this is no way to compute the op, and another may be
  } kind;
  HostId a, b = {};
  Span span = {};
  std::string message = {};  ///< with {0} and {1} where the values of a and b go; empty for the kind's own sentence
};

/// Whether it holds of the values of a and b.
bool holds(Condition::Kind kind, const HostValue& a, const HostValue& b);

/// The sentence of a condition that does not hold of these values.
std::string message_of(const Condition& condition, const HostValue& a, const HostValue& b);

}  // namespace ingot::ir
