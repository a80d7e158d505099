#pragma once

#include <span>

#include "frontend/tensor/builder.h"
#include "frontend/tensor/promotion.h"

// In-place ops write their result to the tensor's elements (storage.h), in the tensor's dtype and shape.

namespace ingot::frontend {

/// x.name_(…) and x += y: `result` is the function's result, `operands` are its arguments other than x. Raises eager's
/// errors for a result of another dtype or shape than x, and for operands that partly overlap x.
void write_in_place(Builder& builder, const Value& x, const Value& result, std::span<const Value> operands);

/// x.copy_(source): a tensor of any dtype that broadcasts to x, or a number, which is converted as `cast` says.
void copy_in_place(Builder& builder, const Value& x, const Value& source, NumberCast cast);

/// x[index] = value; `index` as Python passes it.
void tensor_setitem(Builder& builder, const Value& x, const Value& index, const Value& value);
/// Whether an index is a boolean mask.
bool is_mask(const Value& index);
/// x[mask] op= operand: `result` is x op operand, of x's shape.
void update_masked(Builder& builder, const Value& x, const Value& mask, const Value& result);
/// Fails if x[index] is not a view of x: nothing can be written through such an index.
void require_view_index(Builder& builder, const Value& index);

}  // namespace ingot::frontend
