#include "codegen/shape/list_accesses.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace ingot::codegen {
namespace {

using ir::Op;

/// The author's expression for an operand that is read.
std::string text_of(const ir::Graph& graph, ir::NodeId node) {
  if (const Span span = graph.span(node)) return std::string(span.text());
  return graph[node].op == Op::Reduce || graph.reduction_read(node)
             ? "a reduction"
             : graph.params[graph.access(node).source.index].name;
}

/// Adds the access, scalar argument or division of a node, if any, to the kernel.
void add_node(const ir::Graph& graph, ir::NodeId id, const std::map<ReducedValue, uint32_t>& workspace_of,
              KernelOutline& kernel) {
  const ir::Node& node = graph[id];
  switch (node.op) {
    case Op::Load:
    case Op::Gather: {
      if (!is_access(graph, kernel, id)) break;
      const ir::Access& access = graph.access(id);
      const std::optional<ir::NodeId> reduction = graph.reduction_read(id);
      kernel.accesses.push_back(
          {.kind = node.op == Op::Load ? AccessUse::Kind::Load : AccessUse::Kind::Gather,
           .tensor = reduction ? workspace_of.at({*reduction, access.source.index}) : access.source.index,
           .dtype = node.dtype,
           .access = access,
           .text = text_of(graph, id),
           .in_workspace = reduction.has_value()});
      break;
    }
    case Op::Index:
      kernel.accesses.push_back(
          {.kind = AccessUse::Kind::Index, .dtype = node.dtype, .access = graph.access(id), .text = {}});
      break;
    case Op::Scalar: {
      const ScalarUse scalar{graph.host_of(id), ir::compute_type(node.dtype)};
      const auto is_same = [&](const ScalarUse& use) { return use.value == scalar.value && use.dtype == scalar.dtype; };
      if (!graph.host.is_constant(scalar.value) && std::ranges::none_of(kernel.scalars, is_same))
        kernel.scalars.push_back(scalar);
      break;
    }
    case Op::Call:
      throw_internal("a call reached code generation: inline_calls has not run", print(graph));
    default:
      if (may_divide_by_zero(graph, id))
        kernel.divisions.push_back(graph.span(id) ? std::string(graph.span(id).text()) : "an integer division");
      break;
  }
}

}  // namespace

void list_accesses(const ir::Graph& graph, const std::vector<Workspace>& workspaces,
                   const std::map<ReducedValue, uint32_t>& workspace_of, KernelOutline& kernel) {
  for (const ir::NodeId node : nodes_of(graph, kernel)) add_node(graph, node, workspace_of, kernel);
  for (const KernelOutline::OutputBlockRef& ref : kernel.output_blocks) {
    const ir::Result& result = graph.results[ref.result];
    kernel.accesses.push_back({.kind = AccessUse::Kind::Store,
                               .tensor = ref.result,
                               .dtype = result.dtype,
                               .access = result.blocks[ref.block].store,
                               .text = result.name});
  }
  for (const KernelOutline::WorkspaceStore& ref : kernel.workspace_stores)
    kernel.accesses.push_back({.kind = AccessUse::Kind::Store,
                               .tensor = ref.workspace,
                               .dtype = workspaces[ref.workspace].dtype,
                               .access = {},
                               .text = text_of(graph, ref.node),
                               .in_workspace = true});
}

}  // namespace ingot::codegen
