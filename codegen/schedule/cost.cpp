#include "codegen/schedule/cost.h"

#include <algorithm>

namespace ingot::codegen {

uint32_t cost_of(ir::Op op, ir::DType work) {
  if (!ir::is_primitive(op)) return 0;
  const uint32_t cost = ir::info(op).cost;
  const bool wide = work == ir::DType::F64 || work == ir::DType::I64;
  return wide && cost > 1 ? 2 * cost : cost;
}

namespace {

uint32_t cost_of_node(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph[id];
  return cost_of(node.op, node.args.empty() ? node.dtype : graph[node.args[0]].dtype);
}

}  // namespace

uint32_t cost_of(const ir::Graph& graph, const KernelOutline& kernel) {
  uint32_t sum = 0;
  for (const ir::NodeId id : nodes_of(graph, kernel)) sum += cost_of_node(graph, id);
  return sum;
}

bool moves_in_rows(const KernelLayout& layout, const AccessLayout& access) {
  const size_t axes = layout.reduces ? layout.reduced_axes : std::min(layout.rank, 1u);
  return std::any_of(access.axes.end() - static_cast<ptrdiff_t>(axes), access.axes.end(),
                     [](StrideClass stride) { return stride != StrideClass::Zero; });
}

std::set<ir::NodeId> varying_in_rows(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout) {
  uint32_t access = 0;
  std::set<ir::NodeId> varying;
  for (const ir::NodeId id : nodes_of(graph, kernel)) {
    const ir::Node& node = graph[id];
    bool varies = std::ranges::any_of(node.args, [&](ir::NodeId arg) { return varying.contains(arg); });
    if (is_access(graph, kernel, id)) varies |= moves_in_rows(layout, layout.accesses[access++]);
    if (varies) varying.insert(id);
  }
  return varying;
}

uint32_t cost_of_row(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout) {
  const std::set<ir::NodeId> varying = varying_in_rows(graph, kernel, layout);
  uint32_t sum = 0;
  for (const ir::NodeId id : nodes_of(graph, kernel))
    if (!varying.contains(id)) sum += cost_of_node(graph, id);
  return sum;
}

}  // namespace ingot::codegen
