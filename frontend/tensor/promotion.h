#pragma once

#include <span>

#include "frontend/tensor/builder.h"

// Types: PyTorch's promotion, casts, and how 16-bit floats are held. A tensor's dtype is PyTorch's; its nodes have that
// dtype or, where it is a 16-bit float, float32, in which it is computed. `numerics = eager` rounds to the dtype after
// each of the author's ops.

namespace ingot::frontend {

/// The dtype of a tensor that is made of a Python number.
ir::DType type_of_number(const Builder& builder, ir::HostId number);

/// torch.promote_types; fails where PyTorch refuses.
ir::DType promoted(Builder& builder, ir::DType a, ir::DType b);
/// torch.result_type: the dtype of values by PyTorch's three ranks (tensors with dims, 0-dim tensors, Python numbers),
/// a higher rank losing to a lower one only where that is of a higher category.
ir::DType result_type(Builder& builder, std::span<const Value> values);

/// A node's value in the type in which `type` is computed.
ir::NodeId work_node(Builder& builder, ir::NodeId node, ir::DType type);
/// A node's value rounded to `type` itself: float32 to float16, the rest as work_node.
ir::NodeId exact_node(Builder& builder, ir::NodeId node, ir::DType type);
/// What an op leaves of its result of dtype `type`: rounded where `numerics = eager` rounds, and to float8 always,
/// which is a type to store.
ir::NodeId finished_node(Builder& builder, ir::NodeId node, ir::DType type);

/// How a number, or a tensor of another dtype, becomes one of a dtype. Inside a native library function nothing is
/// rounded to 16-bit floats.
enum class NumberCast {
  Wrapped,  ///< integers wrap, and for 16-bit floats the value stays in float32
  Rounded,  ///< integers wrap, and the value is rounded to a 16-bit float
  Checked,  ///< as Rounded, but a number out of the dtype's range is an error
};
/// States that a number is within the range of a dtype, as PyTorch's conversion of a Scalar has it: infinity and NaN
/// are in that of floats, and what is negative wraps to an unsigned integer.
void require_in_range(Builder& builder, ir::HostId number, ir::DType type);
/// A tensor of rank 0 that holds a number.
Tensor number_tensor(Builder& builder, ir::HostId number, ir::DType type, NumberCast cast);
/// Whether PyTorch takes a value as a number: a Python number, or a tensor without dims.
bool is_scalar(const Value& value);
/// The dtype of a tensor that is made of such a value alone.
ir::DType type_of_scalar(const Builder& builder, const Value& value);
/// A tensor of rank 0 that holds such a value. No gradient flows through a tensor that stands for a number, nor is its
/// range checked: it is read where the kernel runs.
Tensor scalar_tensor(Builder& builder, const Value& value, ir::DType type, NumberCast cast);
/// A tensor of one number, converted as PyTorch fills (NumberCast::Checked); its layout is the caller's.
Tensor filled(Builder& builder, Shape shape, const Value& number, ir::DType type);
/// A tensor or a number as a tensor of a dtype, as promotion makes operands.
Tensor operand_tensor(Builder& builder, const Value& value, ir::DType type, NumberCast cast);

/// x.to(type): always rounds to a 16-bit float; of the tensor's own dtype it gives the same tensor.
Tensor cast(Builder& builder, const Tensor& tensor, ir::DType type);
/// x.view(type): the same bits as a dtype of the same width.
Tensor bitcast(Builder& builder, const Tensor& tensor, ir::DType type);

/// Whether PyTorch's CUDA kernels take a value as a number: a Python number, or a CPU scalar beside CUDA tensors, whose
/// value they read on the host.
bool is_host_number(const Value& value);
/// The value of such a one; what the op computes from a CPU scalar is not known on the host, which is an error.
ir::HostId host_number(const Builder& builder, const Value& value);

}  // namespace ingot::frontend
