#include "frontend/tensor/refused_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ir/host/gradient_condition.h"

namespace ingot::frontend {
namespace {

/// The parameters (a bit mask, as Result::gradients) with respect to which a tensor has a gradient: the tensor depends
/// on them through floating-point nodes that are not detached (like ir::find_gradients).
uint64_t params_with_gradient(const ir::Graph& graph, const Tensor& tensor) {
  std::vector<bool> is_seen(graph.count());
  std::vector<ir::NodeId> pending;
  for (const ConcatBlock& block : tensor.blocks) pending.push_back(block.node);
  uint64_t params = 0;
  while (!pending.empty()) {
    const ir::NodeId id = pending.back();
    pending.pop_back();
    const ir::Node& node = graph[id];
    if (is_seen[id.index] || ir::category(node.dtype) != ir::Category::Floating) continue;
    is_seen[id.index] = true;
    if (node.op == ir::Op::Call && graph.callee(id) == ir::kDetach) continue;
    pending.insert(pending.end(), node.args.begin(), node.args.end());
    const bool is_read = node.op == ir::Op::Load || node.op == ir::Op::Gather;
    if (is_read && !graph.reduction_read(id)) params |= ir::gradient_bit(graph.access(id).source.index);
  }
  return params;
}

}  // namespace

void refuse_gradient(Builder& builder, const Tensor& tensor, const std::string& what) {
  ir::Graph& graph = builder.graph;
  const uint64_t requested = builder.gradients;
  const auto already_recorded = [&](const ir::Condition& known) {
    return requested == 0 ? depends_on_gradients(known) : refuses_gradients(known, graph.host);
  };
  if (std::ranges::any_of(graph.conditions, already_recorded)) return;
  const uint64_t params = params_with_gradient(graph, tensor);
  if (params == 0) return;
  const ir::HostId exist = builder.integer((params & requested) == 0 ? 1 : 0);
  graph.conditions.push_back({.kind = ir::Condition::Kind::GradientsExist,
                              .a = exist,
                              .b = exist,
                              .span = builder.diagnostics.location(),
                              .message = fmt::format("PyTorch has no gradient of {}", what)});
}

void check_and_clear_missing_gradients(Builder& builder) {
  const ir::Graph& graph = builder.graph;
  const auto refused = std::ranges::find_if(
      graph.conditions, [&](const ir::Condition& condition) { return refuses_gradients(condition, graph.host); });
  if (refused != graph.conditions.end()) builder.fail(refused->message, "detach it: x.detach()");
  allow_gradients(builder.graph);
}

void allow_gradients(ir::Graph& graph) {
  std::erase_if(graph.conditions, [](const ir::Condition& condition) { return depends_on_gradients(condition); });
}

}  // namespace ingot::frontend
