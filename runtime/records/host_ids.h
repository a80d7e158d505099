#pragma once

#include "codegen/shape/outline.h"
#include "ir/graph.h"
#include "runtime/records/program.h"

// Visits every reference to a host expression. Marking, renumbering and collecting all use these functions.

namespace ingot::runtime {

template <typename F>
void for_each_id(ir::Access& access, F&& f) {
  const auto terms = [&](std::vector<ir::Term>& list) {
    for (ir::Term& term : list) f(term.coef);
  };
  for (ir::HostId& offset : access.offsets) f(offset);
  for (ir::AccessDim& dim : access.dims) f(dim.size), terms(dim.terms);
  for (ir::IndirectIndex& index : access.indirect) f(index.extent), terms(index.terms);
}

template <typename F>
void for_each_id(ir::LayoutStep& step, F&& f) {
  for (ir::HostId& size : step.shape) f(size);
  for (std::vector<ir::Term>& row : step.stride_map)
    for (ir::Term& term : row) f(term.coef);
}

template <typename F>
void for_each_id(codegen::KernelOutline& kernel, F&& f) {
  for (ir::HostId& extent : kernel.domain) f(extent);
  for (codegen::AccessUse& use : kernel.accesses) for_each_id(use.access, f);
  if (kernel.row_order) for_each_id(kernel.row_order->access, f);
  for (codegen::ScalarUse& scalar : kernel.scalars) f(scalar.value);
}

template <typename F>
void for_each_id(codegen::Outline& outline, F&& f) {
  for (codegen::KernelOutline& kernel : outline.kernels) for_each_id(kernel, f);
  for (codegen::Workspace& workspace : outline.workspaces)
    for (ir::HostId& size : workspace.domain) f(size);
}

template <typename F>
void for_each_id(Program& program, F&& f) {
  for_each_id(program.outlines.whole, f);
  if (program.outlines.stores_apart) for_each_id(*program.outlines.stores_apart, f);
  if (program.outlines.per_phase) for_each_id(*program.outlines.per_phase, f);
  if (program.outlines.fused_columns) for_each_id(*program.outlines.fused_columns, f);
  for (Program::Check& check : program.checks) f(check.condition.a), f(check.condition.b);
  for (Program::Result& result : program.results)
    for (ir::HostId& size : result.shape) f(size);
  for (ir::LayoutStep& step : program.layout_steps) for_each_id(step, f);
}

}  // namespace ingot::runtime
