#pragma once

#include <span>

#include "frontend/tensor/builder.h"
#include "frontend/tensor/promotion.h"

// Ops in place: what they compute is written where a tensor lies (memory.h), in its own dtype and shape.

namespace ingot::frontend {

/// x.name_(…) and x += y: `result` is what the function gave, `operands` what it was given beside x. Refuses in eager's
/// words a dtype or a shape that x has not, and operands that overlap x in part.
void write_in_place(Builder& builder, const Value& x, const Value& result, std::span<const Value> operands);

/// x.copy_(source): a tensor of any dtype that broadcasts to x, or a number, which is cast as `cast` says.
void copy_in_place(Builder& builder, const Value& x, const Value& source, NumberCast cast);

/// x[index] = value; `index` as Python gives it.
void tensor_setitem(Builder& builder, const Value& x, const Value& index, const Value& value);
/// Whether x[index] is what a mask chooses.
bool is_mask(const Value& index);
/// x[mask] op= operand: `result` is x op operand, of x's shape.
void change_masked(Builder& builder, const Value& x, const Value& mask, const Value& result);
/// Fails where x[index] is no view of x, so that nothing can be written through it.
void require_view_index(Builder& builder, const Value& index);

}  // namespace ingot::frontend
