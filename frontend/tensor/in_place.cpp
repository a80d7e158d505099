#include "frontend/tensor/in_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/tensor/indexing.h"
#include "frontend/tensor/overlap.h"
#include "frontend/tensor/pointwise.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/storage.h"
#include "frontend/tensor/views.h"

namespace ingot::frontend {
namespace {

/// The name of a dtype in eager's messages.
std::string_view eager_name(ir::DType type) {
  switch (type) {
    case ir::DType::Bool:
      return "Bool";
    case ir::DType::U8:
      return "Byte";
    case ir::DType::I8:
      return "Char";
    case ir::DType::I16:
      return "Short";
    case ir::DType::I32:
      return "Int";
    case ir::DType::I64:
      return "Long";
    case ir::DType::F16:
      return "Half";
    case ir::DType::BF16:
      return "BFloat16";
    case ir::DType::F32:
      return "Float";
    case ir::DType::F64:
      return "Double";
    default:
      return name_of(type);
  }
}

/// Broadcasts values to the shape of `x`; fails if `x` would have to grow.
Tensor fitted(Builder& builder, const Tensor& x, const Tensor& values) {
  const std::array<Shape, 2> shapes{shape_of(builder, x), shape_of(builder, values)};
  const Shape& shape = shapes[0];
  const Shape common = broadcast_shapes(builder, shapes);
  bool grows = common.size() > shape.size();
  for (size_t d = 0; !grows && d < shape.size(); ++d)
    grows = is_one(builder, shape[d]) && is_not_one(builder, common[d]);
  if (grows) {
    builder.fail(fmt::format("output with shape {} doesn't match the broadcast shape {}", print_shape(builder, shape),
                             print_shape(builder, common)),
                 "an in-place op keeps the shape of its tensor: make a new tensor");
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    builder.require(ir::Condition::Kind::Equal, shape[d], common[d],
                    fmt::format("output with size {{0}} doesn't match the broadcast size {{1}} at dimension {}", d));
  }
  return expanded(builder, values, shape);
}

Tensor in_dtype(Builder& builder, const Value& value, ir::DType type, NumberCast number_cast) {
  if (value.is_number()) {
    Tensor number = number_tensor(builder, value.number(), type, number_cast);
    number.handle = record_contiguous(builder, {});
    return number;
  }
  const Tensor& tensor = *value.tensor();
  return tensor.dtype == type ? tensor : cast(builder, tensor, type);
}

/// Raises an error for a write of GPU values to a CPU scalar.
void require_device(Builder& builder, const Tensor& target, const Tensor& values) {
  if (!target.on_host || values.on_host) return;
  builder.fail("a CUDA tensor is written to a CPU tensor in place", "an op runs on one device: make a new tensor");
}

/// Raises an error for a result whose dtype has a higher category than the dtype of the written tensor.
void require_castable(Builder& builder, const Tensor& target, ir::DType type) {
  if (ir::category(type) <= ir::category(target.dtype)) return;
  builder.fail(fmt::format("result type {} can't be cast to the desired output type {}", eager_name(type),
                           eager_name(target.dtype)),
               "an in-place op keeps the dtype of its tensor: make a new tensor");
}

void require_assignable(Builder& builder, const Value& x, const Value& value) {
  if (value.is_tensor() || value.is_number()) return;
  builder.fail(fmt::format("can't assign {} to {}", describe(value), describe(x)), "assign a tensor or a number");
}

std::vector<Value> items_of(const Value& index) { return index.is<Tuple>() ? *index.items() : std::vector{index}; }

/// Extends a mask over the first dims of `x` to x's rank.
Tensor aligned_mask(Builder& builder, const Tensor& x, const Value& index) {
  Tensor mask = *items_of(index).front().tensor();
  const Shape mask_shape = shape_of(builder, mask), shape = shape_of(builder, x);
  if (mask_shape.size() > shape.size()) {
    builder.fail(
        fmt::format("too many indices for a tensor of dimension {}: the mask has {}", shape.size(), mask_shape.size()));
  }
  for (size_t d = 0; d < mask_shape.size(); ++d) {
    builder.require(ir::Condition::Kind::Equal, mask_shape[d], shape[d],
                    fmt::format("the shape of the mask ({{0}}) at index {} does not match that of the indexed tensor "
                                "({{1}})",
                                d));
  }
  while (mask.rank() < x.rank()) mask = unsqueeze(builder, mask, mask.rank());
  return mask;
}

/// The cast of `x[…] = number`: eager checks the range, except for 16-bit floats.
NumberCast assigned_cast(const Tensor& target) {
  return ir::is_narrow_float(target.dtype) ? NumberCast::Rounded : NumberCast::Checked;
}

/// x[mask] = value, which has x's shape or is one number.
void write_masked(Builder& builder, const Value& x, const Value& mask, const Value& value) {
  const Tensor target = *x.tensor();
  const Value values = in_dtype(builder, value, target.dtype, assigned_cast(target)),
              is_written = aligned_mask(builder, target, mask);
  const std::array<Value, 2> operands{mask, values};
  write_in_place(builder, x, where(builder, is_written, values, target), operands);
}

}  // namespace

void write_in_place(Builder& builder, const Value& x, const Value& result, std::span<const Value> operands) {
  if (!x.is_tensor()) builder.fail(fmt::format("{} cannot be changed in place", describe(x)), "only tensors can");
  const Tensor target = *x.tensor(), values = *result.tensor();
  for (const Value& operand : operands) {
    if (const Tensor* read = operand.tensor()) refuse_overlap(builder, target, *read);
  }
  require_device(builder, target, values);
  const Tensor shaped = fitted(builder, target, values);
  require_castable(builder, target, values.dtype);
  write(builder, target, in_dtype(builder, shaped, target.dtype, NumberCast::Checked));
}

void copy_in_place(Builder& builder, const Value& x, const Value& source, NumberCast cast) {
  require_assignable(builder, x, source);
  const Tensor target = *x.tensor();
  if (const Tensor* read = source.tensor()) {
    refuse_overlap(builder, target, *read);
    require_device(builder, target, *read);
  }
  write(builder, target, fitted(builder, target, in_dtype(builder, source, target.dtype, cast)));
}

bool is_mask(const Value& index) {
  const std::vector<Value> items = items_of(index);
  const Tensor* mask = items.size() == 1 ? items.front().tensor() : nullptr;
  return mask && mask->dtype == ir::DType::Bool;
}

void require_view_index(Builder& builder, const Value& index) {
  if (std::ranges::none_of(items_of(index), [](const Value& item) { return item.is_tensor(); })) return;
  builder.fail("assignment to a tensor index is not supported, except for a single mask",
               "choose element by element with where(mask, a, b)");
}

void update_masked(Builder& builder, const Value& x, const Value& mask, const Value& result) {
  require_castable(builder, *x.tensor(), result.tensor()->dtype);
  write_masked(builder, x, mask, result);
}

void tensor_setitem(Builder& builder, const Value& x, const Value& index, const Value& value) {
  require_assignable(builder, x, value);
  if (is_mask(index)) {
    if (value.is_tensor() && value.tensor()->rank() > 0) {
      builder.fail("assignment to a mask takes one value: a number or a 0-dim tensor",
                   "choose element by element with where(mask, values, x)");
    }
    return write_masked(builder, x, index, value);
  }
  require_view_index(builder, index);
  const Value part = tensor_getitem(builder, x, index);
  if (!value.is_tensor()) return copy_in_place(builder, part, value, assigned_cast(*part.tensor()));
  // Leading dims of size 1 are removed, as in eager.
  Tensor source = *value.tensor();
  while (source.rank() > part.tensor()->rank() && is_one(builder, shape_of(builder, source).front())) {
    source = select(builder, source, 0, builder.integer(0));
  }
  copy_in_place(builder, part, source, NumberCast::Rounded);
}

}  // namespace ingot::frontend
