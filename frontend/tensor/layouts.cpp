#include "frontend/tensor/layouts.h"

#include <fmt/format.h>

#include "frontend/tensor/tensors.h"

namespace ingot::frontend {

using Kind = ir::LayoutStep::Kind;
using StrideMap = std::vector<std::vector<ir::Term>>;

namespace {

LayoutId append(Builder& builder, ir::LayoutStep step) {
  if (builder.native) return 0;
  builder.graph.eager_layouts.push_back(std::move(step));
  return static_cast<LayoutId>(builder.graph.eager_layouts.size() - 1);
}

/// A handle on a tensor that may be a view of `input`. Its elements overlap one another if those of `input` do.
TensorHandle sharing_storage(Builder& builder, LayoutId step, const TensorHandle& input) {
  TensorHandle handle = storage_to_be_queried(builder, step, input);
  if (handle.storage) handle.storage->overlaps_itself = overlaps_itself(input);
  return handle;
}

LayoutId append_view(Builder& builder, LayoutId input, StrideMap stride_map, Shape shape) {
  return append(
      builder, {.kind = Kind::View, .inputs = {input}, .shape = std::move(shape), .stride_map = std::move(stride_map)});
}

}  // namespace

TensorHandle record_step(Builder& builder, ir::LayoutStep step) {
  return new_storage(builder, append(builder, std::move(step)));
}

TensorHandle record_param(Builder& builder, uint32_t param, Shape shape) {
  const LayoutId step = append(builder, {.kind = Kind::Param, .param = param, .shape = std::move(shape)});
  return parameter_storage(builder, step, param);
}

TensorHandle record_pointwise(Builder& builder, std::vector<LayoutId> inputs, Shape shape) {
  return record_step(builder, {.kind = Kind::Pointwise, .inputs = std::move(inputs), .shape = std::move(shape)});
}

TensorHandle record_preserve(Builder& builder, LayoutId input, Shape shape) {
  return record_step(builder, {.kind = Kind::Preserve, .inputs = {input}, .shape = std::move(shape)});
}

TensorHandle record_contiguous(Builder& builder, Shape shape) {
  return record_step(builder, {.kind = Kind::Contiguous, .shape = std::move(shape)});
}

TensorHandle record_format(Builder& builder, MemoryFormat format, std::optional<LayoutId> input, Shape shape) {
  if (format == MemoryFormat::Preserve) {
    return input ? record_preserve(builder, *input, std::move(shape)) : record_contiguous(builder, std::move(shape));
  }
  const Kind kind = format == MemoryFormat::Contiguous ? Kind::Contiguous : Kind::ChannelsLast;
  const size_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
  if (kind == Kind::ChannelsLast && shape.size() != rank) {
    builder.fail(fmt::format("required rank {} tensor to use channels_last{} format", rank, rank == 4 ? "" : "_3d"));
  }
  std::vector<LayoutId> inputs;
  if (input) inputs.push_back(*input);
  return record_step(builder, {.kind = kind, .inputs = std::move(inputs), .shape = std::move(shape)});
}

TensorHandle record_cat(Builder& builder, std::vector<LayoutId> inputs, Shape shape) {
  return record_step(builder, {.kind = Kind::Cat, .inputs = std::move(inputs), .shape = std::move(shape)});
}

TensorHandle record_pad(Builder& builder, LayoutId cropped, LayoutId input, Shape shape) {
  return record_step(builder, {.kind = Kind::Pad, .inputs = {cropped, input}, .shape = std::move(shape)});
}

TensorHandle record_view(Builder& builder, const Tensor& x, StrideMap stride_map, Shape shape, View view) {
  return view_storage(x, append_view(builder, x.handle, std::move(stride_map), std::move(shape)), std::move(view));
}

TensorHandle record_view(Builder& builder, const TensorHandle& input, StrideMap stride_map, Shape shape) {
  return sharing_storage(builder, append_view(builder, input, std::move(stride_map), std::move(shape)), input);
}

TensorHandle record_reshape(Builder& builder, const Tensor& x, Shape shape) {
  const LayoutId step = append(builder, {.kind = Kind::Reshape, .inputs = {x.handle}, .shape = shape});
  return shared_or_new_storage(builder, x, step, std::move(shape));
}

TensorHandle record_format_conversion(Builder& builder, MemoryFormat format, const Tensor& x) {
  const Shape shape = shape_of(builder, x);
  return shared_or_new_storage(builder, x, record_format(builder, format, x.handle, shape).step, shape);
}

TensorHandle record_unformatted(Builder& builder, const Tensor& x) {
  const Shape shape = shape_of(builder, x);
  const LayoutId step = append(builder, {.kind = Kind::Unformatted, .inputs = {x.handle}, .shape = shape});
  return shared_or_new_storage(builder, x, step, shape);
}

}  // namespace ingot::frontend
