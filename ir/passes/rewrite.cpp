#include "ir/passes/rewrite.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include "ir/rows.h"

namespace ingot::ir {
namespace {

/// Reads or replaces the id of a host expression.
using HostVisitor = std::function<void(HostId& id)>;

void for_each_host(std::vector<Term>& terms, const HostVisitor& visit) {
  for (Term& term : terms) visit(term.coef);
}

void for_each_host(Access& access, const HostVisitor& visit) {
  for (HostId& offset : access.offsets) visit(offset);
  for (AccessDim& dim : access.dims) {
    visit(dim.size);
    for_each_host(dim.terms, visit);
  }
  for (IndirectIndex& indirect : access.indirect) {
    visit(indirect.extent);
    for_each_host(indirect.terms, visit);
  }
}

/// Visits the host expressions outside the nodes. Calls `visit_fact` for those that state facts about the symbols: the
/// sizes of parameters, the operands of conditions, the symbols that lowering fixed to a value (`statics`), and those
/// that it found not to be a special value (`unspecialized`). These must not be replaced by equal expressions. Calls
/// `visit` for all others.
void for_each_host(Graph& graph, const HostVisitor& visit, const HostVisitor& visit_fact) {
  for (Param& param : graph.params) {
    for (HostId& size : param.shape) visit_fact(size);
  }
  for (Condition& condition : graph.conditions) {
    visit_fact(condition.a);
    visit_fact(condition.b);
  }
  for (Static& fact : graph.statics) visit_fact(fact.symbol);
  for (HostId& symbol : graph.unspecialized) visit_fact(symbol);
  for (Result& result : graph.results) {
    for (HostId& size : result.shape) visit(size);
    for (OutputBlock& block : result.blocks) {
      for (HostId& size : block.domain) visit(size);
      for_each_host(block.store, visit);
    }
  }
  for (LayoutStep& step : graph.eager_layouts) {
    for (HostId& size : step.shape) visit(size);
    for (std::vector<Term>& row : step.stride_map) for_each_host(row, visit);
  }
}

/// Drops the layout steps that no result and no required view depends on.
void drop_unused_layouts(Graph& graph) {
  std::vector<LayoutStep>& steps = graph.eager_layouts;
  if (steps.empty()) return;
  std::vector<bool> needed(steps.size());
  for (const Result& result : graph.results) needed[result.layout] = true;
  for (const RequiredView& view : graph.required_views) needed[view.step] = true;
  for (size_t i = steps.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const uint32_t input : steps[i].inputs) needed[input] = true;
  }
  std::vector<uint32_t> new_index(steps.size());
  std::vector<LayoutStep> used_steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!needed[i]) continue;
    new_index[i] = static_cast<uint32_t>(used_steps.size());
    for (uint32_t& input : steps[i].inputs) input = new_index[input];
    used_steps.push_back(std::move(steps[i]));
  }
  steps = std::move(used_steps);
  for (Result& result : graph.results) result.layout = new_index[result.layout];
  for (RequiredView& view : graph.required_views) view.step = new_index[view.step];
}

}  // namespace

Graph rewrite(const Graph& graph, const NodeRule& rule) {
  Graph out{GraphFrame(graph)};
  const std::vector<bool> live = graph.live();
  std::vector<NodeId> new_ids(graph.count());
  for (uint32_t i = 0; i < graph.count(); ++i) {
    if (!live[i]) continue;
    std::vector<NodeId> args;
    for (const NodeId arg : graph[{i}].args) args.push_back(new_ids[arg.index]);
    new_ids[i] = rule(out, {i}, out.transfer(graph, {i}, std::move(args)));
    out.copy_names_and_locations(graph, {i}, new_ids[i]);
  }
  for (Result& result : out.results) {
    for (OutputBlock& block : result.blocks) block.node = new_ids[block.node.index];
  }
  return out;
}

std::vector<NodeId> rebuild(Graph& graph, const std::vector<NodeId>& roots,
                            const std::function<NodeId(NodeId old_id, Node node)>& rule) {
  std::unordered_map<NodeId, NodeId> rebuilt;
  for (const NodeId id : nodes_of(graph, roots)) {
    Node node = graph[id];
    const std::optional<NodeId> reduction = graph.reduction_read(id);
    for (NodeId& arg : node.args)
      if (arg != reduction) arg = rebuilt.at(arg);
    const NodeId new_id = rebuilt[id] = rule(id, std::move(node));
    if (new_id != id) graph.copy_names_and_locations(graph, id, new_id);
  }
  std::vector<NodeId> new_roots;
  for (const NodeId root : roots) new_roots.push_back(rebuilt.at(root));
  return new_roots;
}

Graph compact(const Graph& graph) {
  Graph out{GraphFrame(graph)};
  out.host = {};
  out.aliases.clear();  // alias queries are evaluated only before this pass
  drop_unused_layouts(out);
  const std::vector<bool> live = graph.live();

  std::vector<bool> needed(graph.host.count());
  const HostVisitor need_fact = [&](HostId& id) { needed[id.index] = true; };
  const HostVisitor need = [&](HostId& id) { needed[graph.host.resolve(id).index] = true; };
  for_each_host(out, need, need_fact);
  for (uint32_t i = 0; i < graph.count(); ++i) {
    if (!live[i]) continue;
    const Op op = graph[{i}].op;
    if (has_access(op)) {
      Access access = graph.access({i});
      for_each_host(access, need);
    }
    if (op == Op::Reduce)
      for (const HostId size : graph.reduction({i}).domain) needed[graph.host.resolve(size).index] = true;
    if (op == Op::Scalar) needed[graph.host.resolve(graph.host_of({i})).index] = true;
  }
  for (uint32_t i = static_cast<uint32_t>(needed.size()); i-- > 0;) {
    if (!needed[i]) continue;
    for (const HostId arg : graph.host[{i}].args) needed[arg.index] = true;
  }

  std::vector<HostId> new_host_ids(graph.host.count());
  for (uint32_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    HostNode node = graph.host[{i}];
    for (HostId& arg : node.args) arg = new_host_ids[arg.index];
    new_host_ids[i] = out.host.append(std::move(node));
  }
  if (graph.host.sizes_not_one()) out.host.assume_sizes_not_one();
  out.host_locations.clear();
  for (const auto& [id, span] : graph.host_locations)
    if (needed[id.index]) out.host_locations.emplace(new_host_ids[id.index], span);
  const HostVisitor renumber_fact = [&](HostId& id) { id = new_host_ids[id.index]; };
  const HostVisitor renumber = [&](HostId& id) { id = new_host_ids[graph.host.resolve(id).index]; };
  for_each_host(out, renumber, renumber_fact);
  for (const HostId symbol : out.unspecialized)
    if (out.host[symbol].op == HostOp::Size) out.host.assume_at_least(symbol, kSpecializedSize + 1);

  std::vector<NodeId> new_ids(graph.count());
  for (uint32_t i = 0; i < graph.count(); ++i) {
    if (!live[i]) continue;
    const Node& node = graph[{i}];
    std::vector<NodeId> args;
    for (const NodeId arg : node.args) args.push_back(new_ids[arg.index]);
    if (has_access(node.op)) {
      Access access = graph.access({i});
      for_each_host(access, renumber);
      new_ids[i] = out.read(node.dtype, std::move(access), std::move(args));
    } else if (node.op == Op::Reduce) {
      Reduction reduction = graph.reduction({i});
      for (HostId& size : reduction.domain) renumber(size);
      new_ids[i] = out.reduce(node.dtype, std::move(reduction), args[0]);
    } else if (node.op == Op::Scalar) {
      HostId value = graph.host_of({i});
      renumber(value);
      new_ids[i] = out.scalar(node.dtype, value);
    } else {
      new_ids[i] = out.add(out.transfer(graph, {i}, std::move(args)));
    }
    out.copy_names_and_locations(graph, {i}, new_ids[i]);
  }
  for (Result& result : out.results) {
    for (OutputBlock& block : result.blocks) block.node = new_ids[block.node.index];
  }
  return out;
}

}  // namespace ingot::ir
