#pragma once

#include "ir/host/condition.h"

namespace ingot::ir {

/// Whether a condition depends on the gradients that a call requests. Lowering knows these and states the answer: `a`
/// and `b` are the same constant, -1 if eager PyTorch refuses a requested gradient, else 0. In every other Affordable
/// condition with a constant `a`, that constant is negative and `b` is a number of steps.
inline bool depends_on_gradients(const Condition& condition, const HostPool& host) {
  return condition.kind == Condition::Kind::Affordable && condition.a == condition.b && host.is_constant(condition.a);
}

/// Whether a condition depends on the requested gradients and does not hold.
inline bool refuses_gradients(const Condition& condition, const HostPool& host) {
  return depends_on_gradients(condition, host) && host.value(condition.a).as_int() < 0;
}

}  // namespace ingot::ir
