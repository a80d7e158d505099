#pragma once

#include "runtime/call/bound_call.h"

namespace ingot::runtime {

/// Computes the results that are sums of scattered values, from the values and positions that the kernels have written.
///
/// Values for one element are added in the order of their occurrence, by PyTorch's own kernels, which sort positions if
/// they run in parallel: the same bits on every run. An op made with `atomics` adds on a GPU in no fixed order. Errors:
/// c10::Error of such an op under torch.use_deterministic_algorithms.
void add_up(const BoundCall& call, Written& written);

}  // namespace ingot::runtime
