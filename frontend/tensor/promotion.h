#pragma once

#include <span>

#include "frontend/tensor/builder.h"

// Types: PyTorch's promotion, casts, and the representation of 16-bit floats. A tensor's dtype is PyTorch's. The
// tensor's nodes have this dtype or, for a 16-bit float, float32, in which it is computed. `numerics = eager` rounds to
// the dtype after each of the author's ops.

namespace ingot::frontend {

/// The dtype of a tensor that is made from a Python number.
ir::DType type_of_number(const Builder& builder, ir::HostId number);

/// torch.promote_types; fails if PyTorch raises an error.
ir::DType promoted(Builder& builder, ir::DType a, ir::DType b);
/// torch.result_type: the dtype of values by PyTorch's three priorities (tensors with dims, 0-dim tensors, Python
/// numbers). A lower priority decides only if its type has a higher category.
ir::DType result_type(Builder& builder, std::span<const Value> values);

/// Casts a node to the dtype in which values of `type` are computed (ir::compute_type): float32 for 16-bit floats.
ir::NodeId in_compute_dtype(Builder& builder, ir::NodeId node, ir::DType type);
/// Casts a node to `type` itself: rounds a float32 value to float16. For other types the same as in_compute_dtype.
ir::NodeId rounded_to_dtype(Builder& builder, ir::NodeId node, ir::DType type);
/// The result of an op, of dtype `type`: rounded if `numerics = eager`, and always if float8, which is a storage type.
ir::NodeId rounded_result_node(Builder& builder, ir::NodeId node, ir::DType type);

/// How a value is converted to a dtype: a number, or a tensor of another dtype. Inside a native library function
/// nothing is rounded to 16-bit floats.
enum class NumberCast {
  Wrapped,  ///< integers wrap, and for 16-bit floats the value stays in float32
  Rounded,  ///< integers wrap, and the value is rounded to a 16-bit float
  Checked,  ///< like Rounded, but a number out of the dtype's range is an error
};
/// States that a number is in the range of a dtype, as PyTorch checks it when it converts a Scalar. For floats infinity
/// and NaN are in range. Negative numbers wrap to an unsigned integer.
void require_in_range(Builder& builder, ir::HostId number, ir::DType type);
/// A 0-dim tensor that holds a number.
Tensor number_tensor(Builder& builder, ir::HostId number, ir::DType type, NumberCast cast);
/// Whether PyTorch accepts a value as a number: a Python number, or a 0-dim tensor.
bool is_scalar(const Value& value);
/// The dtype of a tensor that is made from such a value alone.
ir::DType type_of_scalar(const Builder& builder, const Value& value);
/// A 0-dim tensor that holds such a value. No gradient flows through a tensor that is used as a number. The range of
/// the value is not checked, because the value is read when the kernel runs.
Tensor scalar_tensor(Builder& builder, const Value& value, ir::DType type, NumberCast cast);
/// A tensor filled with one number, converted as PyTorch does (NumberCast::Checked); the caller records its layout.
Tensor filled(Builder& builder, Shape shape, const Value& number, ir::DType type);
/// Converts a tensor or a number to a tensor of a dtype, as promotion converts operands.
Tensor operand_tensor(Builder& builder, const Value& value, ir::DType type, NumberCast cast);

/// x.to(type): always rounds to a 16-bit float. If x has that dtype already, returns the same tensor.
Tensor cast(Builder& builder, const Tensor& tensor, ir::DType type);
/// x.view(type): reinterprets the bits as a dtype of the same width.
Tensor bitcast(Builder& builder, const Tensor& tensor, ir::DType type);

/// Whether PyTorch's CUDA kernels take a value as a number: a Python number, or a CPU scalar in an op on CUDA, whose
/// value they read on the host.
bool is_host_number(const Value& value);
/// The value of such a number. A value that the op computes from a CPU scalar is unknown on the host and causes an
/// error.
ir::HostId host_number(const Builder& builder, const Value& value);

}  // namespace ingot::frontend
