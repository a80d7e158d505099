#pragma once

#include "ir/host/condition.h"

namespace ingot::ir {

/// Whether a condition is about the gradients that are asked of a call, which lowering knows where autograd records it:
/// then `a` and `b` are one constant, -1 where eager refuses what requires grad. Another Affordable condition whose `a`
/// is constant does not hold, and its `b` is a number of steps.
inline bool hangs_on_gradients(const Condition& condition, const HostPool& host) {
  return condition.kind == Condition::Kind::Affordable && condition.a == condition.b && host.is_constant(condition.a);
}

/// Whether it is one that does not hold.
inline bool refuses_gradients(const Condition& condition, const HostPool& host) {
  return hangs_on_gradients(condition, host) && host.value(condition.a).as_int() < 0;
}

}  // namespace ingot::ir
