#include "ir/rows.h"

#include <algorithm>
#include <set>

namespace ingot::ir {
namespace {

/// Completes the map of a block's domain. Unmapped dims of size 1 stay unmapped; the other unmapped dims are mapped, in
/// order, to the reduced dims. Returns false if sizes differ, or if only some of the reduced dims are mapped.
bool complete_map(const HostPool& host, const std::vector<HostId>& domain, const Reduction& reduction, RowMap& map) {
  std::vector<size_t> unmatched;
  for (size_t d = 0; d < reduction.domain.size(); ++d)
    if (reduction.reduced[d] && !host.is_int(reduction.domain[d], 1)) unmatched.push_back(d);
  size_t next = 0;
  for (size_t d = 0; d < domain.size(); ++d) {
    if (map[d] != kUnmapped) {
      if (!host.same(domain[d], reduction.domain[map[d]])) return false;
      continue;
    }
    if (host.is_int(domain[d], 1)) continue;
    if (next == unmatched.size() || !host.same(domain[d], reduction.domain[unmatched[next]])) return false;
    map[d] = unmatched[next++];
  }
  return next == 0 || next == unmatched.size();
}

}  // namespace

std::vector<NodeId> nodes_of(const Graph& graph, const std::vector<NodeId>& roots) {
  if (roots.empty()) return {};
  const uint32_t last = std::ranges::max(roots).index;
  std::vector<bool> needed(last + 1);
  for (const NodeId root : roots) needed[root.index] = true;
  std::vector<NodeId> nodes;
  for (uint32_t index = last + 1; index-- > 0;) {
    if (!needed[index]) continue;
    nodes.push_back(NodeId{index});
    for (const NodeId arg : graph[nodes.back()].args)
      if (graph[arg].op != Op::Reduce) needed[arg.index] = true;
  }
  std::ranges::reverse(nodes);
  return nodes;
}

std::vector<NodeId> loads_of_reductions(const Graph& graph, NodeId root) {
  std::vector<NodeId> loads = nodes_of(graph, {root});
  std::erase_if(loads, [&](NodeId id) { return !graph.reduction_read(id); });
  return loads;
}

std::optional<RowMap> row_map_of(const Graph& graph, NodeId load, size_t rank) {
  const HostPool& host = graph.host;
  const Access& access = graph.access(load);
  const Reduction& reduction = graph.reduction(graph[load].args[0]);
  if (graph[load].op != Op::Load || access.dims.size() > rank) return std::nullopt;
  const auto is_zero = [&](HostId id) { return host.is_int(id, 0); };
  if (!std::ranges::all_of(access.offsets, is_zero)) return std::nullopt;
  RowMap map(rank, kUnmapped);
  std::vector<bool> is_read(reduction.domain.size());
  for (size_t j = 0; j < access.dims.size(); ++j) {
    const AccessDim& dim = access.dims[j];
    if (dim.terms.empty()) continue;
    const size_t domain_dim = dim.terms[0].dim;
    if (dim.terms.size() > 1 || !host.is_int(dim.terms[0].coef, 1) || is_read[domain_dim]) return std::nullopt;
    if (!host.same(dim.size, reduction.domain[domain_dim])) return std::nullopt;
    map[rank - access.dims.size() + j] = domain_dim;
    is_read[domain_dim] = true;
  }
  for (size_t d = 0; d < is_read.size(); ++d)
    if (!is_read[d] && !reduction.reduced[d] && !host.is_int(reduction.domain[d], 1)) return std::nullopt;
  return map;
}

bool reads_rows(const Graph& graph, NodeId load) {
  const size_t rank = graph.reduction(*graph.reduction_read(load)).domain.size();
  const std::optional<RowMap> map = row_map_of(graph, load, rank);
  return map && is_aligned(*map, rank);
}

bool same_rows(const Graph& graph, NodeId a, NodeId b) {
  const Reduction &x = graph.reduction(a), &y = graph.reduction(b);
  return x.reduced == y.reduced && graph.host.same(x.domain, y.domain);
}

bool is_aligned(const RowMap& map, size_t rank) {
  if (map.size() != rank) return false;
  for (size_t d = 0; d < rank; ++d)
    if (map[d] != kUnmapped && map[d] != d) return false;
  return true;
}

std::optional<Alignment> alignment_of(const Graph& graph, const std::vector<HostId>& domain,
                                      const std::vector<NodeId>& reads) {
  std::set<NodeId> reductions;
  for (const NodeId load : reads) reductions.insert(*graph.reduction_read(load));
  for (auto reduction = reductions.rbegin(); reduction != reductions.rend(); ++reduction) {
    std::optional<RowMap> map;
    bool maps_agree = true;
    for (const NodeId load : reads) {
      if (graph.reduction_read(load) != *reduction) continue;
      const std::optional<RowMap> load_map = row_map_of(graph, load, domain.size());
      maps_agree &= load_map && (!map || *map == *load_map);
      map = load_map;
    }
    if (maps_agree && complete_map(graph.host, domain, graph.reduction(*reduction), *map))
      return Alignment{*reduction, *std::move(map)};
  }
  return std::nullopt;
}

}  // namespace ingot::ir
