#pragma once

#include "runtime/call/bound_call.h"

namespace ingot::runtime {

/// Computes the results that are sums of scattered values, from the values and positions that the kernels have written.
///
/// The result has the same bits on every run: PyTorch's own kernels add the values for one element in the order of
/// their occurrence, and sort the positions if they run in parallel. With the op's option `atomics`, the order on a GPU
/// is not fixed. Errors: c10::Error for an op with `atomics` under torch.use_deterministic_algorithms.
void add_scatter_sums(const BoundCall& call, Results& results);

}  // namespace ingot::runtime
