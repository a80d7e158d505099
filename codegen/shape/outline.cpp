#include "codegen/shape/outline.h"

#include <algorithm>
#include <optional>

#include "ir/types/constant.h"

namespace ingot::codegen {

bool may_divide_by_zero(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph[id];
  const bool is_division = node.op == ir::Op::FloorDivide || node.op == ir::Op::TruncDivide ||
                           node.op == ir::Op::Remainder || node.op == ir::Op::Fmod;
  if (!is_division || ir::is_floating(node.dtype)) return false;
  const std::optional<ir::Constant> divisor = ir::constant_of(graph, node.args[1]);
  return !divisor || divisor->integer == 0;
}

uint32_t KernelOutline::phases() const {
  uint32_t last = 0;
  for (const ReductionRef& reduction : reductions) last = std::max(last, reduction.phase);
  for (const OutputBlockRef& part : output_blocks)
    if (!part.is_per_row) last = std::max(last, part.phase);
  for (const ReductionRef& reduction : column_reductions) last = std::max(last, reduction.phase);
  return last + 1;
}

bool is_access(const ir::Graph& graph, const KernelOutline& kernel, ir::NodeId id) {
  if (!ir::has_access(graph[id].op)) return false;
  const std::optional<ir::NodeId> reduction = graph.reduction_read(id);
  return !reduction || std::ranges::count(kernel.reductions, *reduction, &KernelOutline::ReductionRef::node) == 0;
}

std::vector<ir::NodeId> roots_of(const ir::Graph& graph, const KernelOutline& kernel) {
  std::vector<ir::NodeId> roots;
  for (const KernelOutline::OutputBlockRef& ref : kernel.output_blocks)
    roots.push_back(graph.results[ref.result].blocks[ref.block].node);
  if (!kernel.partials_writer)
    for (const KernelOutline::ReductionRef& ref : kernel.reductions) roots.push_back(graph[ref.node].args[0]);
  for (const KernelOutline::ReductionRef& ref : kernel.column_reductions) roots.push_back(graph[ref.node].args[0]);
  for (const ir::NodeId value : kernel.row_values) roots.push_back(graph[value].args[0]);
  return roots;
}

std::vector<ir::NodeId> nodes_of(const ir::Graph& graph, const KernelOutline& kernel) {
  return nodes_of(graph, roots_of(graph, kernel));
}

std::vector<ir::NodeId> nodes_of_accesses(const ir::Graph& graph, const KernelOutline& kernel) {
  std::vector<ir::NodeId> nodes;
  for (const ir::NodeId id : nodes_of(graph, kernel))
    if (is_access(graph, kernel, id)) nodes.push_back(id);
  for (const KernelOutline::OutputBlockRef& ref : kernel.output_blocks)
    nodes.push_back(graph.results[ref.result].blocks[ref.block].node);
  for (const KernelOutline::WorkspaceStore& ref : kernel.workspace_stores) nodes.push_back(ref.node);
  return nodes;
}

}  // namespace ingot::codegen
