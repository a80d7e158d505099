#pragma once

#include <string>

#include "frontend/tensor/builder.h"

// Devices in an op's source. An op runs on one device, that of its tensors. An op on CUDA may also have CPU scalars.

namespace ingot::frontend {

/// x.device: "cuda" or "cpu".
std::string device_of(const Builder& builder, const Tensor& tensor);
/// Whether a value can be a device: a string, or the index of a CUDA device.
bool is_device_value(const Builder& builder, const Value& value);
/// Whether `device` is the CPU although the op runs on CUDA. Errors (Author): PyTorch's message for an invalid device;
/// a device that the op does not run on.
bool is_host_device(Builder& builder, const Value& device);
/// Whether a newly created tensor is a CPU tensor in an op on CUDA; `device` may be None.
bool is_created_on_cpu(Builder& builder, const Tensor& created, const Value& device);
/// x.to(device): moves a CPU scalar to the CUDA device; a tensor that is already on the device stays.
Tensor to_device(Builder& builder, Tensor x, const Value& device);

}  // namespace ingot::frontend
