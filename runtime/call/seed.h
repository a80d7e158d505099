#pragma once

#include <ATen/core/Tensor.h>

namespace ingot::runtime {

/// What a call draws its random numbers from: an int64 without dims on the device, that PyTorch's own generator fills
/// there. So what holds of PyTorch's random functions holds of ops: manual_seed, the states that checkpoint and
/// fork_rng keep, and CUDA graphs, each of whose replays fills it anew.
at::Tensor draw_seed(c10::Device device);

}  // namespace ingot::runtime
