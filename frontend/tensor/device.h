#pragma once

#include <string>

#include "frontend/tensor/builder.h"

// Devices as authors write them. An op runs on one device, its tensors'; beside CUDA tensors there may be CPU scalars.

namespace ingot::frontend {

/// "cuda" or "cpu": x.device.
std::string device_of(const Builder& builder, const Tensor& tensor);
/// Whether a value can be a device: a string, or the index of a CUDA device.
bool names_device(const Builder& builder, const Value& value);
/// Whether a device is the CPU beside CUDA tensors. Errors (Author) in PyTorch's words for what is no device, and for
/// one that the op does not run on.
bool is_host_device(Builder& builder, const Value& device);
/// Whether a tensor that is made from nothing stands on the CPU beside CUDA tensors; `device` may be None.
bool made_on_host(Builder& builder, const Tensor& made, const Value& device);
/// x.to(device): a CPU scalar may be moved to the CUDA tensors; what is there already stays.
Tensor moved_to(Builder& builder, Tensor x, const Value& device);

}  // namespace ingot::frontend
