#include "codegen/schedule/regions.h"

#include <algorithm>

#include "codegen/schedule/cost.h"

namespace ingot::codegen {
namespace {

/// A node that depends on a gather is computed separately in at most this many regions. If it has more, regions are
/// merged.
constexpr size_t kMostRegions = 8;

/// Whether any of the nodes depends on `node`.
bool depend_on(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, ir::NodeId node) {
  std::vector<bool> is_visited(graph.count());
  std::vector<ir::NodeId> pending = nodes;
  while (!pending.empty()) {
    const ir::NodeId id = pending.back();
    pending.pop_back();
    if (id == node) return true;
    if (id < node || is_visited[id.index]) continue;  // a node's number is above its arguments' numbers
    is_visited[id.index] = true;
    pending.insert(pending.end(), graph[id].args.begin(), graph[id].args.end());
  }
  return false;
}

}  // namespace

Regions::Regions(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout,
                 const std::vector<ir::NodeId>& roots, const std::vector<ir::NodeId>& lazy)
    : gathers_(graph.count()) {
  if (lazy.empty()) return;
  std::vector<bool> is_lazy(graph.count());
  for (const ir::NodeId id : lazy) is_lazy[id.index] = true;
  const std::vector<ir::NodeId> nodes = nodes_of(graph, roots);
  for (const ir::NodeId id : nodes) {
    const ir::Node& node = graph[id];
    gathers_[id.index] = node.op == ir::Op::Gather ||
                         std::ranges::any_of(node.args, [&](ir::NodeId arg) { return gathers_[arg.index]; });
  }
  for (const ir::NodeId root : roots) need(root, kAlways);
  const std::set<ir::NodeId> varying = varying_in_rows(graph, kernel, layout);
  // In reverse order, so that all uses of a node are visited before the node.
  for (size_t n = nodes.size(); n-- > 0;) {
    const ir::NodeId id = nodes[n];
    const ir::Node& node = graph[id];
    // A division by zero is an error in either arm, as in eager. Values that a row shares are cheap.
    const bool is_always = may_divide_by_zero(graph, id) || !varying.contains(id);
    if (is_always && !gathers_[id.index]) need(id, kAlways);
    for (const Region region : of(id)) {
      if (!is_lazy[id.index]) {
        for (const ir::NodeId arg : node.args)
          if (graph[arg].op != ir::Op::Reduce) need(arg, region);
        continue;
      }
      const uint32_t decision = decide(graph, id, region);
      need(node.args[0], region);
      need(node.args[1], taken(decision));
      need(node.args[2], otherwise(decision));
    }
  }
}

const std::vector<Region>& Regions::of(ir::NodeId node) const {
  static const std::vector<Region> always = {kAlways};
  const auto entry = regions_.find(node);
  return entry == regions_.end() ? always : entry->second;
}

Region Regions::common(Region a, Region b) const {
  while (a != b) (a > b ? a : b) = outer(std::max(a, b));  // an inner decision has a higher number than its outer one
  return a;
}

void Regions::need(ir::NodeId node, Region region) {
  const auto [entry, is_new] = regions_.try_emplace(node, 1, region);
  if (is_new) return;
  std::vector<Region>& regions = entry->second;
  if (gathers_[node.index])
    regions = merged(added(std::move(regions), region));
  else
    regions = {common(regions.front(), region)};
}

/// The list with this region added. The new region may contain regions of the list, be contained in one, or complete a
/// decision whose other arm is in the list.
std::vector<Region> Regions::added(std::vector<Region> regions, Region region) const {
  if (std::ranges::any_of(regions, [&](Region other) { return contains(other, region); })) return regions;
  std::erase_if(regions, [&](Region other) { return contains(region, other); });
  if (region != kAlways) {
    const uint32_t decision = decision_of(region);
    const Region other_arm = region == taken(decision) ? otherwise(decision) : taken(decision);
    if (std::ranges::find(regions, other_arm) != regions.end()) return added(std::move(regions), outer(region));
  }
  regions.push_back(region);
  return regions;
}

/// Merges regions until at most kMostRegions are left, beginning with the pair whose common region is innermost, as
/// that decision was made last.
std::vector<Region> Regions::merged(std::vector<Region> regions) const {
  while (regions.size() > kMostRegions) {
    Region innermost = kAlways;
    for (size_t a = 0; a < regions.size(); ++a)
      for (size_t b = 0; b < a; ++b) innermost = std::max(innermost, common(regions[a], regions[b]));
    regions = added(std::move(regions), innermost);
  }
  return regions;
}

/// The decision that a `where` joins in a region: the last one there, if it has the same condition and none of its
/// results depends on this `where`. Joining an earlier decision could violate a dependency.
uint32_t Regions::decide(const ir::Graph& graph, ir::NodeId where, Region region) {
  const ir::NodeId condition = graph[where].args[0];
  const auto last = last_.find(region);
  uint32_t decision;
  if (last != last_.end() && decisions_[last->second].condition == condition &&
      !depend_on(graph, decisions_[last->second].wheres, where)) {
    decision = last->second;
  } else {
    decision = static_cast<uint32_t>(decisions_.size());
    decisions_.push_back({region, condition, {}});
    last_[region] = decision;
  }
  decisions_[decision].wheres.insert(decisions_[decision].wheres.begin(), where);
  return decision;
}

std::vector<std::vector<Region>> regions_of_accesses(const Regions& regions, const ir::Graph& graph,
                                                     const KernelOutline& outline, const KernelLayout& layout) {
  std::vector<std::vector<Region>> all;
  for (const ir::NodeId id : nodes_of(graph, outline))
    if (is_access(graph, outline, id)) all.push_back(regions.of(id));
  all.resize(outline.accesses.size(), {kAlways});
  const auto leader_of = [&](size_t a) { return layout.accesses[a].leader; };
  for (size_t a = 0; a < all.size(); ++a)
    if (leader_of(a) != a) all[leader_of(a)] = {regions.common(all[leader_of(a)].front(), all[a].front())};
  for (size_t a = 0; a < all.size(); ++a) all[a] = all[leader_of(a)];
  return all;
}

std::optional<HoistedPredicate> hoisted_predicate(const Regions& regions, const std::vector<Region>& of_access,
                                                  const ir::Graph& graph, const KernelOutline& outline) {
  if (of_access.size() != 1 || of_access.front() == kAlways) return std::nullopt;
  const Region region = of_access.front();
  const uint32_t number = Regions::decision_of(region);
  const Decision& decision = regions.decisions()[number];
  const auto is_known = [&](ir::NodeId id) {
    const ir::Op op = graph[id].op;
    return op == ir::Op::Scalar || op == ir::Op::Cast || op == ir::Op::Bitcast ||
           (op == ir::Op::Load && is_access(graph, outline, id) && regions.of(id) == std::vector<Region>{kAlways}) ||
           (ir::is_primitive(op) && op != ir::Op::Where && ir::info(op).cost == 1);
  };
  if (decision.region != kAlways || !std::ranges::all_of(nodes_of(graph, {decision.condition}), is_known))
    return std::nullopt;
  return HoistedPredicate{decision.condition, region == Regions::taken(number)};
}

}  // namespace ingot::codegen
