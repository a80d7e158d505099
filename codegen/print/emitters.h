#pragma once

#include <string>

#include "codegen/kernel/plan_body.h"

// The plan decides, the emitters print: one skeleton a kind of kernel, in reading order.

namespace ingot::codegen {

/// One kernel, without the prelude.
std::string emit_cuda(const KernelPlan& plan);
std::string emit_cpu(const KernelPlan& plan);

}  // namespace ingot::codegen
