#include "frontend/tensor/concat.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/tensor/layouts.h"
#include "frontend/tensor/promotion.h"
#include "frontend/tensor/tensors.h"
#include "frontend/tensor/views.h"

namespace ingot::frontend {
namespace {

/// The common dtype. Unlike operands of arithmetic, tensors of all ranks have the same weight in promotion.
ir::DType common_type(Builder& builder, std::span<const Tensor> tensors) {
  ir::DType type = tensors.front().dtype;
  for (const Tensor& tensor : tensors) type = promoted(builder, type, tensor.dtype);
  return type;
}

/// Whether torch.cat skips a tensor: for historical reasons, torch.cat ignores tensors of shape [0] among any other
/// tensors. A vector among tensors of other ranks is valid only if its shape is [0].
bool is_skipped(Builder& builder, const Tensor& tensor, bool have_equal_rank) {
  if (tensor.rank() != 1) return false;
  if (!have_equal_rank) return builder.static_number(shape_of(builder, tensor).front()).as_int() == 0;
  return builder.graph.host.is_int(builder.graph.host.resolve(tensor.grid.front()), 0);
}

std::vector<LayoutId> layouts_of(std::span<const Tensor> tensors) {
  std::vector<LayoutId> layouts;
  for (const Tensor& tensor : tensors) layouts.push_back(tensor.handle);
  return layouts;
}

/// Concatenates; the caller records the layout.
Tensor concatenated_parts(Builder& builder, std::span<const Tensor> tensors, ir::DType type, size_t dim,
                          std::string_view function) {
  require_same_device(builder, tensors);
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    parts.push_back(operand_tensor(builder, tensor, type, NumberCast::Rounded));
    const Shape first = shape_of(builder, parts.front()), shape = shape_of(builder, parts.back());
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d == dim) continue;
      builder.require(ir::Condition::Kind::Equal, first[d], shape[d],
                      fmt::format("{}: sizes of tensors must match except in dimension {}, but are {{0}} and {{1}} "
                                  "in dimension {}",
                                  function, dim, d));
      if (!builder.graph.host.is_constant(shape[d])) builder.graph.host.unify(first[d], shape[d]);
    }
  }
  return concatenated(builder, parts, dim);
}

}  // namespace

Tensor cat(Builder& builder, std::span<const Tensor> tensors, const Value& dim) {
  std::vector<Tensor> parts;
  const bool have_equal_rank =
      std::ranges::all_of(tensors, [&](const Tensor& tensor) { return tensor.rank() == tensors.front().rank(); });
  for (const Tensor& tensor : tensors) {
    if (!is_skipped(builder, tensor, have_equal_rank)) parts.push_back(tensor);
  }
  const ir::DType type = common_type(builder, tensors);  // including skipped tensors
  if (parts.empty()) return copied(builder, cast(builder, tensors.front(), type));
  const size_t rank = parts.front().rank();
  if (rank == 0) builder.fail("zero-dimensional tensors cannot be concatenated", "stack them");
  for (const Tensor& part : parts) {
    if (part.rank() == rank) continue;
    builder.fail(fmt::format("tensors must have the same number of dimensions: got {} and {}", rank, part.rank()));
  }
  Tensor result = concatenated_parts(builder, parts, type, resolve_dim(builder, dim, rank), "cat");
  result.handle = record_cat(builder, layouts_of(parts), shape_of(builder, result));
  return result;
}

Tensor stack(Builder& builder, std::span<const Tensor> tensors, const Value& dim) {
  const size_t rank = tensors.front().rank();
  const size_t new_dim = resolve_dim(builder, dim, rank + 1);
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    if (tensor.rank() != rank) {
      builder.fail(
          fmt::format("stack expects each tensor to be equal size, but got ranks {} and {}", rank, tensor.rank()));
    }
    parts.push_back(unsqueeze(builder, tensor, new_dim));
  }
  Tensor result = concatenated_parts(builder, parts, common_type(builder, parts), new_dim, "stack");
  const Shape shape = shape_of(builder, result);
  if (new_dim == rank) {
    result.handle = record_cat(builder, layouts_of(parts), shape);
    return result;
  }
  // Eager concatenates along the dim that follows the new one, and then splits that dim in two.
  const std::array new_and_next{shape[new_dim], shape[new_dim + 1]};
  Shape cat_shape = shape_of(builder, tensors.front());
  cat_shape[new_dim] = product(builder, new_and_next);
  const LayoutId cat_step = record_cat(builder, layouts_of(tensors), std::move(cat_shape));
  result.handle = record_step(builder, {.kind = ir::LayoutStep::Kind::Reshape, .inputs = {cat_step}, .shape = shape});
  return result;
}

}  // namespace ingot::frontend
