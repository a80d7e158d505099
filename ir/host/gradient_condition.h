#pragma once

#include "ir/host/condition.h"

namespace ingot::ir {

/// Whether a condition depends on the gradients that a call requests. Lowering knows these gradients, so the operand of
/// the condition is a constant.
inline bool depends_on_gradients(const Condition& condition) {
  return condition.kind == Condition::Kind::GradientsExist;
}

/// Whether a condition depends on the requested gradients and does not hold.
inline bool refuses_gradients(const Condition& condition, const HostPool& host) {
  return depends_on_gradients(condition) && !host.value(condition.a).truthy();
}

}  // namespace ingot::ir
