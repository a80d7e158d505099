#include "frontend/tensor/layouts.h"

namespace ingot::frontend {

using Kind = ir::LayoutStep::Kind;

LayoutId record_step(Lowering& lowering, ir::LayoutStep step) {
  if (lowering.native_depth > 0) return 0;
  lowering.graph.eager_layouts.push_back(std::move(step));
  return static_cast<LayoutId>(lowering.graph.eager_layouts.size() - 1);
}

LayoutId record_param(Lowering& lowering, uint32_t param, Shape shape) {
  return record_step(lowering, {.kind = Kind::Param, .param = param, .shape = std::move(shape)});
}

LayoutId record_pointwise(Lowering& lowering, std::vector<LayoutId> inputs, Shape shape) {
  return record_step(lowering, {.kind = Kind::Pointwise, .inputs = std::move(inputs), .shape = std::move(shape)});
}

LayoutId record_view(Lowering& lowering, LayoutId input, std::vector<std::vector<ir::Term>> rows, Shape shape) {
  return record_step(lowering,
                     {.kind = Kind::View, .inputs = {input}, .shape = std::move(shape), .rows = std::move(rows)});
}

LayoutId record_reshape(Lowering& lowering, LayoutId input, Shape shape) {
  return record_step(lowering, {.kind = Kind::Reshape, .inputs = {input}, .shape = std::move(shape)});
}

LayoutId record_preserve(Lowering& lowering, LayoutId input, Shape shape) {
  return record_step(lowering, {.kind = Kind::Preserve, .inputs = {input}, .shape = std::move(shape)});
}

LayoutId record_contiguous(Lowering& lowering, Shape shape) {
  return record_step(lowering, {.kind = Kind::Contiguous, .shape = std::move(shape)});
}

LayoutId record_cat(Lowering& lowering, std::vector<LayoutId> inputs, Shape shape) {
  return record_step(lowering, {.kind = Kind::Cat, .inputs = std::move(inputs), .shape = std::move(shape)});
}

}  // namespace ingot::frontend
