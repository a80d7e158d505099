#pragma once

#include <ATen/core/Tensor.h>

namespace ingot::runtime {

/// Returns the seed of a call's random numbers: an int64 without dims on the device, filled there by PyTorch's own
/// generator. Ops therefore follow the rules of PyTorch's random functions: manual_seed, the states that checkpoint and
/// fork_rng save, and CUDA graphs, in which each replay fills the seed again.
at::Tensor make_seed(c10::Device device);

}  // namespace ingot::runtime
