#include "frontend/tensor/layouts.h"

#include <fmt/format.h>

namespace ingot::frontend {

using Kind = ir::LayoutStep::Kind;

LayoutId record_step(Builder& builder, ir::LayoutStep step) {
  if (builder.native) return 0;
  builder.graph.eager_layouts.push_back(std::move(step));
  return static_cast<LayoutId>(builder.graph.eager_layouts.size() - 1);
}

LayoutId record_param(Builder& builder, uint32_t param, Shape shape) {
  return record_step(builder, {.kind = Kind::Param, .param = param, .shape = std::move(shape)});
}

LayoutId record_pointwise(Builder& builder, std::vector<LayoutId> inputs, Shape shape) {
  return record_step(builder, {.kind = Kind::Pointwise, .inputs = std::move(inputs), .shape = std::move(shape)});
}

LayoutId record_view(Builder& builder, LayoutId input, std::vector<std::vector<ir::Term>> rows, Shape shape) {
  return record_step(builder,
                     {.kind = Kind::View, .inputs = {input}, .shape = std::move(shape), .rows = std::move(rows)});
}

LayoutId record_reshape(Builder& builder, LayoutId input, Shape shape) {
  return record_step(builder, {.kind = Kind::Reshape, .inputs = {input}, .shape = std::move(shape)});
}

LayoutId record_preserve(Builder& builder, LayoutId input, Shape shape) {
  return record_step(builder, {.kind = Kind::Preserve, .inputs = {input}, .shape = std::move(shape)});
}

LayoutId record_contiguous(Builder& builder, Shape shape) {
  return record_step(builder, {.kind = Kind::Contiguous, .shape = std::move(shape)});
}

LayoutId record_format(Builder& builder, MemoryFormat format, std::optional<LayoutId> input, Shape shape) {
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

LayoutId record_cat(Builder& builder, std::vector<LayoutId> inputs, Shape shape) {
  return record_step(builder, {.kind = Kind::Cat, .inputs = std::move(inputs), .shape = std::move(shape)});
}

LayoutId record_pad(Builder& builder, LayoutId kept, LayoutId input, Shape shape) {
  return record_step(builder, {.kind = Kind::Pad, .inputs = {kept, input}, .shape = std::move(shape)});
}

}  // namespace ingot::frontend
