#include "codegen/schedule/regions.h"

#include <algorithm>

namespace ingot::codegen {

Regions::Regions(const ir::Graph& graph, const KernelOutline& kernel, const std::vector<ir::NodeId>& lazy) {
  if (lazy.empty()) return;
  std::vector<bool> is_lazy(graph.count());
  for (const ir::NodeId id : lazy) is_lazy[id.index] = true;
  for (const KernelOutline::PartRef& ref : kernel.parts) need(graph.results[ref.result].parts[ref.part].node, kAlways);
  const std::vector<ir::NodeId> nodes = nodes_of(graph, kernel);
  std::vector<bool> gathers(graph.count());
  for (const ir::NodeId id : nodes) {
    const ir::Node& node = graph[id];
    gathers[id.index] =
        node.op == ir::Op::Gather || std::ranges::any_of(node.args, [&](ir::NodeId arg) { return gathers[arg.index]; });
  }
  // Backwards, so that all uses of a node are known before the node.
  for (size_t n = nodes.size(); n-- > 0;) {
    const ir::NodeId id = nodes[n];
    const ir::Node& node = graph[id];
    // A division by zero is an error in either arm, as it is for eager.
    if (may_divide_by_zero(graph, id) && !gathers[id.index]) need(id, kAlways);
    const Region region = of(id);
    if (!is_lazy[id.index]) {
      for (const ir::NodeId arg : node.args) need(arg, region);
      continue;
    }
    const uint32_t decision = decide(graph, id);
    need(node.args[0], region);
    need(node.args[1], taken(decision));
    need(node.args[2], otherwise(decision));
  }
}

Region Regions::of(ir::NodeId node) const {
  const auto found = regions_.find(node);
  return found == regions_.end() ? kAlways : found->second;
}

Region Regions::common(Region a, Region b) const {
  while (a != b) (a > b ? a : b) = outer(std::max(a, b));  // an inner decision is made after its outer one
  return a;
}

void Regions::need(ir::NodeId node, Region region) {
  const auto [known, is_new] = regions_.try_emplace(node, region);
  if (!is_new) known->second = common(known->second, region);
}

/// The decision that a `where` is part of: the last one of its region, if the condition is the same and no result of it
/// depends on this one. An earlier one might need what this one waits for.
uint32_t Regions::decide(const ir::Graph& graph, ir::NodeId where) {
  const Region region = of(where);
  const ir::NodeId condition = graph[where].args[0];
  const auto last = last_.find(region);
  uint32_t decision;
  if (last != last_.end() && decisions_[last->second].condition == condition && !needed_[last->second][where.index]) {
    decision = last->second;
  } else {
    decision = static_cast<uint32_t>(decisions_.size());
    decisions_.push_back({region, condition, {}});
    needed_.emplace_back(graph.count());
    last_[region] = decision;
  }
  decisions_[decision].wheres.insert(decisions_[decision].wheres.begin(), where);
  std::vector<bool>& needed = needed_[decision];
  std::vector<ir::NodeId> rest(graph[where].args.begin(), graph[where].args.end());
  while (!rest.empty()) {
    const ir::NodeId id = rest.back();
    rest.pop_back();
    if (needed[id.index]) continue;
    needed[id.index] = true;
    rest.insert(rest.end(), graph[id].args.begin(), graph[id].args.end());
  }
  return decision;
}

std::vector<Region> regions_of_accesses(const Regions& regions, const ir::Graph& graph, const KernelOutline& outline,
                                        const KernelLayout& layout) {
  std::vector<Region> all;
  for (const ir::NodeId id : nodes_of(graph, outline))
    if (is_access(graph[id].op)) all.push_back(regions.of(id));
  all.resize(outline.accesses.size(), kAlways);
  const auto leader_of = [&](size_t a) { return layout.accesses[a].leader; };
  for (size_t a = 0; a < all.size(); ++a) all[leader_of(a)] = regions.common(all[leader_of(a)], all[a]);
  for (size_t a = 0; a < all.size(); ++a) all[a] = all[leader_of(a)];
  return all;
}

}  // namespace ingot::codegen
