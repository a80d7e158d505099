#pragma once

#include <vector>

#include "codegen/kernel/accesses.h"
#include "codegen/kernel/values.h"

namespace ingot::codegen {

/// Fills in plan.before, body and after: which values get a name of their own, where each is computed, and the loads
/// and stores around them.
void write_statements(const KernelContext& context, const Accesses& accesses, const Values& values, Names& names,
                      KernelPlan& plan);

}  // namespace ingot::codegen
