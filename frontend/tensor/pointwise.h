#pragma once

#include <functional>
#include <initializer_list>
#include <span>

#include "frontend/tensor/layouts.h"
#include "frontend/tensor/promotion.h"
#include "frontend/tensor/tensors.h"

// Pointwise ops on values, as PyTorch's functions of the same names do them: promotion, broadcasting, rounding, and one
// step in the account of eager's strides.

namespace ingot::frontend {

/// A primitive of ops.def. Operands are tensors and numbers, at least one a tensor. What a dtype makes trivial is
/// folded: floor of integers, isnan of integers, …
Value pointwise(Builder& builder, ir::Op op, std::span<const Value> operands);
inline Value pointwise(Builder& builder, ir::Op op, std::initializer_list<Value> operands) {
  return pointwise(builder, op, std::span(operands.begin(), operands.size()));
}

/// Records the step of an op over these operands of a common dtype, as TensorIterator sees them; null operands were
/// left out. Sets the result's layout.
void record_operands(Builder& builder, Tensor& result, std::span<const Value> operands, ir::DType common);

// The functions whose formula depends on more than their operands' types.

/// a / b of Python's operator: of a number it is the reciprocal times the number.
Value divide_operator(Builder& builder, const Value& a, const Value& b);
/// torch.div without a rounding mode.
Value divide(Builder& builder, const Value& a, const Value& b);
/// Whether eager's kernel of a floating quotient a / b multiplies by the reciprocal of b: on CUDA, where b is a number.
bool multiplies_by_reciprocal(Builder& builder, const Value& a, const Value& b);
/// Whether eager's kernel of a whole quotient rounds each step to 16 bits. The host's computes in float32 where the
/// divisor is one element, CUDA's where it is a number.
bool divides_in_16_bits(Builder& builder, const Value& a, const Value& b);
/// a + alpha * b, or a - alpha * b.
Value add_scaled(Builder& builder, ir::Op op, const Value& a, const Value& b, const Value& alpha);
Value power(Builder& builder, const Value& base, const Value& exponent);
/// What NaN does that is the only limit of a clamp, and a number.
enum class NanLimit : uint8_t { Ignored, Propagates };
/// Each limit may be None. NaN in `x` stays, and NaN in any other limit makes the result NaN.
Value clamp(Builder& builder, const Value& x, const Value& low, const Value& high, NanLimit lone = NanLimit::Ignored);
Value where(Builder& builder, const Value& condition, const Value& a, const Value& b);

}  // namespace ingot::frontend
