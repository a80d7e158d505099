#pragma once

#include <functional>
#include <initializer_list>
#include <span>

#include "frontend/tensor/layouts.h"
#include "frontend/tensor/promotion.h"
#include "frontend/tensor/tensors.h"

// Pointwise ops on values, with the meaning of PyTorch's functions of the same names: promotion, broadcasting,
// rounding, and one layout step (the strides that eager gives the result: ir/eager_layout.h).

namespace ingot::frontend {

/// Applies a primitive of ops.def. Operands are tensors and numbers, at least one of them a tensor.
Value pointwise(Builder& builder, ir::Op op, std::span<const Value> operands);
inline Value pointwise(Builder& builder, ir::Op op, std::initializer_list<Value> operands) {
  return pointwise(builder, op, std::span(operands.begin(), operands.size()));
}

/// Records how eager lays out the result of an op over these operands of a common dtype, as TensorIterator sees them,
/// and sets the result's handle. An operand that is None was omitted.
void record_layout(Builder& builder, Tensor& result, std::span<const Value> operands, ir::DType common);

// Functions whose formula depends on more than their operands' types.

/// a / b as Python's operator: if `a` is a number, the reciprocal of b times the number, except in a native function,
/// which divides.
Value divide_operator(Builder& builder, const Value& a, const Value& b);
/// torch.div without a rounding mode.
Value divide(Builder& builder, const Value& a, const Value& b);
/// Whether eager's kernel for a floating-point quotient a / b multiplies by the reciprocal of b: on CUDA, if b is a
/// number.
bool multiplies_by_reciprocal(Builder& builder, const Value& a, const Value& b);
/// Whether eager's kernel for a quotient with a rounding mode rounds each step to 16 bits. The CPU kernel computes in
/// float32 if the divisor has one element, the CUDA kernel if it is a number.
bool divides_in_16_bits(Builder& builder, const Value& a, const Value& b);
/// a + alpha * b, or a - alpha * b.
Value add_scaled(Builder& builder, ir::Op op, const Value& a, const Value& b, const Value& alpha);
Value power(Builder& builder, const Value& base, const Value& exponent);
/// The effect of NaN as the only limit of a clamp, if the limit is a number.
enum class NanLimit : uint8_t { Ignored, Propagates };
/// Each limit may be None. NaN in `x` stays NaN. NaN in a limit makes the result NaN, except if only one limit is given
/// and it is a number: then `nan_in_single_limit` decides.
Value clamp(Builder& builder, const Value& x, const Value& low, const Value& high,
            NanLimit nan_in_single_limit = NanLimit::Ignored);
Value where(Builder& builder, const Value& condition, const Value& a, const Value& b);

}  // namespace ingot::frontend
