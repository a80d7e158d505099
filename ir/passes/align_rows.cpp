#include <algorithm>
#include <optional>

#include "ir/passes/canonical.h"
#include "ir/passes/rewrite.h"
#include "ir/rows.h"

// An output block may read a reduction row by row from another index space: without the reduced dims, or with its dims
// in another order. This pass rewrites the block over the reduction's domain. The block and the reduction's operand are
// then functions of the same index, so that one kernel can compute both. The pass also moves a block that reads no
// reduction if its domain differs from a reduction's domain only by dims of size 1. An example is a gradient next to
// its loss, which reads the same elements.

namespace ingot::ir {
namespace {

/// Moves nodes from one index space to another of rank `rank`. The map has the new position of each dim; kUnmapped
/// drops the dim.
class Mover {
 public:
  Mover(Graph& graph, RowMap map, size_t rank) : graph_(graph), map_(std::move(map)), rank_(rank) {}

  NodeId move(NodeId root) {
    return rebuild(graph_, {root}, [&](NodeId id, Node node) {
      if (!has_access(node.op)) return graph_.add(std::move(node));
      Access access = graph_.access(id);
      access.dims = dims(access.dims);
      return graph_.read(node.dtype, std::move(access), std::move(node.args));
    })[0];
  }

  /// The domain in the other index space.
  std::vector<HostId> domain(const std::vector<HostId>& domain) {
    std::vector<HostId> sizes(rank_, graph_.host.integer(1));
    for (size_t d = 0; d < domain.size(); ++d)
      if (map_[d] != kUnmapped) sizes[map_[d]] = domain[d];
    return sizes;
  }

  /// Moves the dims of an access to the other index space.
  std::vector<AccessDim> dims(const std::vector<AccessDim>& dims) {
    std::vector<AccessDim> result(rank_, {graph_.host.integer(1), {}});
    for (size_t j = 0; j < dims.size(); ++j) {
      const size_t d = map_[map_.size() - dims.size() + j];
      if (d != kUnmapped) result[d] = dims[j];
    }
    const auto first = std::ranges::find_if(result, [](const AccessDim& dim) { return !dim.terms.empty(); });
    result.erase(result.begin(), first);
    return result;
  }

 private:
  Graph& graph_;
  RowMap map_;
  size_t rank_;
};

void move(Graph& graph, OutputBlock& block, RowMap map, const Reduction& to) {
  Mover mover(graph, std::move(map), to.domain.size());
  block.node = mover.move(block.node);
  block.domain = mover.domain(block.domain);
  block.store.dims = mover.dims(block.store.dims);
}

/// Maps the dims of a domain to those of another that has the same sizes except for dims of size 1. Returns nullopt if
/// the domains differ otherwise.
std::optional<RowMap> map_except_unit_dims(const HostPool& host, const std::vector<HostId>& from,
                                           const std::vector<HostId>& to) {
  RowMap map(from.size(), kUnmapped);
  size_t next = 0;
  const auto skip_ones = [&] {
    while (next < to.size() && host.is_int(to[next], 1)) ++next;
  };
  for (size_t d = 0; d < from.size(); ++d) {
    if (host.is_int(from[d], 1)) continue;
    skip_ones();
    if (next == to.size() || !host.same(from[d], to[next])) return std::nullopt;
    map[d] = next++;
  }
  skip_ones();
  return next == to.size() ? std::optional(map) : std::nullopt;
}

/// Moves a block that reads no reduction to the domain of a reduction, if the two domains differ only by dims of size
/// 1. Returns whether it moved the block.
bool align_without_reads(Graph& graph, OutputBlock& block) {
  for (uint32_t i = 0; i < graph.count(); ++i) {
    if (graph[{i}].op != Op::Reduce) continue;
    const Reduction reduction = graph.reduction({i});
    std::optional<RowMap> map = map_except_unit_dims(graph.host, block.domain, reduction.domain);
    if (!map) continue;
    if (is_aligned(*map, reduction.domain.size())) return false;
    move(graph, block, *std::move(map), reduction);
    return true;
  }
  return false;
}

/// Moves a block to the domain of a reduction that it reads row by row. Returns whether it moved the block.
bool align(Graph& graph, OutputBlock& block) {
  const std::vector<NodeId> loads = loads_of_reductions(graph, block.node);
  if (loads.empty()) return align_without_reads(graph, block);
  std::optional<Alignment> alignment = alignment_of(graph, block.domain, loads);
  if (!alignment) return false;
  const Reduction target = graph.reduction(alignment->reduction);
  if (is_aligned(alignment->map, target.domain.size())) return false;
  move(graph, block, std::move(alignment->map), target);
  return true;
}

}  // namespace

Graph align_rows(const Graph& graph) {
  if (graph.reduction_count() == 0) return graph;
  Graph out = graph;
  bool has_moved = false;
  for (Result& result : out.results)
    for (OutputBlock& block : result.blocks) has_moved |= align(out, block);
  return has_moved ? compact(canonical(std::move(out))) : graph;
}

}  // namespace ingot::ir
