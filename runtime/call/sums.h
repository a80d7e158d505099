#pragma once

#include "runtime/call/bound_call.h"

namespace ingot::runtime {

/// Makes the results that are sums of values scattered, of what the kernels have written of these.
///
/// What meets at an element is added in the order in which it stands among the values, by PyTorch's own kernels, which
/// sort positions where they run in parallel: the same bits on every run. An op made with `atomics` adds on a GPU as
/// threads come. Errors: c10::Error of such an op under torch.use_deterministic_algorithms.
void add_up(const BoundCall& call, Written& written);

}  // namespace ingot::runtime
