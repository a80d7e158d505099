#include "ir/passes/unroll_reductions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "ir/passes/combine_elements.h"
#include "ir/passes/reindex.h"
#include "ir/passes/rewrite.h"
#include "ir/rows.h"

namespace ingot::ir {
namespace {

/// How often the operand of a reduction may be evaluated for one of its values. Each reader evaluates the operand for
/// each element of the row; and again for each index along which it does not vary. For example, three coordinates of a
/// force all read one distance.
constexpr int64_t kMaxEvaluations = kSpecializedSize;
/// How many nodes unrolling may add to a graph, and a single reduction. In a chain of reductions, each of which reads
/// the one before it, the first one adds a few nodes for each element, and the next one a multiple of these.
constexpr int64_t kMaxAddedNodes = 2000, kMaxNodesOfReduction = 400;

/// The rows of the kernel that computes a reader: those of a reduction, and the map of the reader's dims to its domain.
struct KernelRows {
  NodeId reduction;
  RowMap map;
};

/// How a reader reads a reduction.
struct Read {
  NodeId load;
  bool is_reduced = false;           ///< the reader is the operand of a reduction
  bool shares_kernel = false;        ///< the reader can be in the reduction's kernel
  std::vector<HostId> repeats = {};  ///< the sizes of the reader's dims along which the value stays the same
};

/// Whether an access from an index space of this rank varies along dim `d`.
bool varies_along(const Access& access, size_t rank, size_t d) {
  const size_t skipped = rank - access.dims.size();
  return d >= skipped && !access.dims[d - skipped].terms.empty();
}

/// The reads of all reductions.
class Reads {
 public:
  explicit Reads(const Graph& graph) : graph_(graph) {
    const std::vector<bool> live = graph.live();
    for (uint32_t i = 0; i < graph.count(); ++i)
      if (live[i] && graph[{i}].op == Op::Reduce) add_operand({i});
    for (const Result& result : graph.results)
      for (const OutputBlock& block : result.blocks) add_block(block);
  }

  const std::map<NodeId, std::vector<Read>>& by_reduction() const { return reads_; }

 private:
  void add_operand(NodeId reduction) {
    const std::vector<HostId>& domain = graph_.reduction(reduction).domain;
    KernelRows rows{reduction, RowMap(domain.size())};
    std::iota(rows.map.begin(), rows.map.end(), size_t{0});
    for (const NodeId load : loads_of_reductions(graph_, graph_[reduction].args[0])) add({load, true}, domain, rows);
  }

  void add_block(const OutputBlock& block) {
    const std::vector<NodeId> loads = loads_of_reductions(graph_, block.node);
    std::optional<KernelRows> rows;
    if (std::optional<Alignment> alignment = alignment_of(graph_, block.domain, loads))
      rows = {alignment->reduction, std::move(alignment->map)};
    for (const NodeId load : loads) add({load, false}, block.domain, rows);
  }

  void add(Read read, const std::vector<HostId>& domain, const std::optional<KernelRows>& rows) {
    read.shares_kernel = rows && shares_kernel(read.load, domain.size(), *rows);
    for (size_t d = 0; d < domain.size(); ++d)
      if (!graph_.host.is_int(domain[d], 1) && !varies_along(graph_.access(read.load), domain.size(), d))
        read.repeats.push_back(domain[d]);
    reads_[*graph_.reduction_read(read.load)].push_back(std::move(read));
  }

  /// Whether the load reads, at each index, the value of the kernel's row that contains the index.
  bool shares_kernel(NodeId load, size_t rank, const KernelRows& rows) const {
    if (!same_rows(graph_, *graph_.reduction_read(load), rows.reduction)) return false;
    const std::optional<RowMap> map = row_map_of(graph_, load, rank);
    if (!map) return false;
    for (size_t d = 0; d < rank; ++d)
      if ((*map)[d] != kUnmapped && (*map)[d] != rows.map[d]) return false;
    return true;
  }

  const Graph& graph_;
  std::map<NodeId, std::vector<Read>> reads_;
};

/// Whether a load reads elements at indices that are computed. An index without terms is only checked.
bool gathers(const Graph& graph, NodeId load) {
  return std::ranges::any_of(graph.access(load).indirect, [](const IndirectIndex& i) { return !i.terms.empty(); });
}

/// Whether the loads of the operand can check the indices that a load of the reduction checks.
bool can_check_indices(const Graph& graph, NodeId load) {
  if (graph.access(load).indirect.empty()) return true;
  const NodeId operand = graph[*graph.reduction_read(load)].args[0];
  return std::ranges::any_of(nodes_of(graph, {operand}),
                             [&](NodeId id) { return graph[id].op == Op::Load || graph[id].op == Op::Gather; });
}

/// Whether unrolling avoids a workspace: some reader would be in another kernel. A value that is gathered is read any
/// number of times, so it keeps its workspace. A value that another reduction of the same rows reads is computed in the
/// kernel of that reduction.
bool has_avoidable_workspace(const Graph& graph, std::span<const Read> reads) {
  return std::ranges::any_of(reads, [](const Read& read) { return !read.shares_kernel; }) &&
         std::ranges::all_of(reads, [&](const Read& read) {
           return !gathers(graph, read.load) && can_check_indices(graph, read.load) &&
                  !(read.is_reduced && read.shares_kernel);
         });
}

/// The sizes of the dims that are reduced.
std::vector<HostId> reduced_sizes(const Reduction& reduction) {
  std::vector<HostId> sizes;
  for (size_t d = 0; d < reduction.domain.size(); ++d)
    if (reduction.reduced[d]) sizes.push_back(reduction.domain[d]);
  return sizes;
}

/// The product of the sizes, if all are constant and the product is at most kMaxEvaluations. Sizes that are equal to
/// `unknown` count as 1.
std::optional<int64_t> small_product(const HostPool& host, std::span<const HostId> sizes,
                                     std::optional<HostId> unknown = {}) {
  int64_t product = 1;
  for (const HostId size : sizes) {
    const HostId known = host.resolve(size);
    if (unknown && host.same(*unknown, size)) continue;
    if (!host.is_constant(known) || host.value(known).as_int() < 1) return std::nullopt;
    if (host.value(known).as_int() > kMaxEvaluations / product) return std::nullopt;
    product *= host.value(known).as_int();
  }
  return product;
}

/// Whether the workspace of a reduction would be larger than every tensor that its operand loads.
class WorkspaceSizes {
 public:
  explicit WorkspaceSizes(const Graph& graph) : graph_(graph) {}

  /// Whether each load of the operand is broadcast along some dim of the values, or reads another such workspace.
  bool is_largest(NodeId reduction) {
    const auto known = is_largest_.find(reduction);
    if (known != is_largest_.end()) return known->second;
    const bool result = std::ranges::all_of(nodes_of(graph_, {graph_[reduction].args[0]}), [&](NodeId id) {
      if (graph_[id].op != Op::Load && graph_[id].op != Op::Gather) return true;
      const std::optional<NodeId> other = graph_.reduction_read(id);
      return is_broadcast(id, graph_.reduction(reduction)) || (other && is_largest(*other));
    });
    return is_largest_[reduction] = result;
  }

 private:
  bool is_broadcast(NodeId load, const Reduction& rows) const {
    const size_t rank = rows.domain.size();
    for (size_t d = 0; d < rank; ++d)
      if (!rows.reduced[d] && !graph_.host.is_int(rows.domain[d], 1) && !varies_along(graph_.access(load), rank, d))
        return true;
    return false;
  }

  const Graph& graph_;
  std::map<NodeId, bool> is_largest_;
};

/// Whether a transcendental function is computed for each element of a row.
bool computes_functions(const Graph& graph, NodeId reduction) {
  const Reduction& rows = graph.reduction(reduction);
  const size_t rank = rows.domain.size();
  std::set<NodeId> varying;  // nodes that depend on the element's index in the row
  for (const NodeId id : nodes_of(graph, {graph[reduction].args[0]})) {
    bool varies = std::ranges::any_of(graph[id].args, [&](NodeId arg) { return varying.contains(arg); });
    for (size_t d = 0; d < rank && has_access(graph[id].op); ++d)
      varies |= rows.reduced[d] && varies_along(graph.access(id), rank, d);
    if (varies && is_primitive(graph[id].op) && info(graph[id].op).accuracy == Accuracy::Ulp) return true;
    if (varies) varying.insert(id);
  }
  return false;
}

/// Whether all readers should compute the values themselves. No transcendental function may be computed for each
/// element, because short loops over rows compute these faster. A workspace that is smaller than an operand costs
/// little: it is avoided only if no value is read at several indices, or if the readers are reduced, so that they have
/// no large result either. `unknown`: a size that may still become a small constant.
bool should_unroll(const Graph& graph, WorkspaceSizes& workspaces, NodeId reduction, std::span<const Read> reads,
                   std::optional<HostId> unknown = {}) {
  if (!has_avoidable_workspace(graph, reads) || computes_functions(graph, reduction)) return false;
  const bool is_largest = workspaces.is_largest(reduction);
  const auto length = small_product(graph.host, reduced_sizes(graph.reduction(reduction)), unknown);
  return length && std::ranges::all_of(reads, [&](const Read& read) {
           if (!is_largest && !read.is_reduced && !read.repeats.empty()) return false;
           const auto repeats = small_product(graph.host, read.repeats, unknown);
           return repeats && *length * *repeats <= kMaxEvaluations;
         });
}

/// Maps the index of a load of a reduction to the index of an element in the row that the load reads. `element`: the
/// row-major offset of the element in its row.
AffineMap map_of_element(Graph& graph, const Access& access, std::span<const NodeId> indices,
                         const Reduction& reduction, int64_t element) {
  AffineMap map{{}, reduction.domain, {}, access.indirect, {indices.begin(), indices.end()}};
  for (const HostId offset : access.offsets) map.coordinates.push_back({offset});
  for (uint32_t j = 0; j < access.dims.size(); ++j) {
    map.new_sizes.push_back(access.dims[j].size);
    for (const Term& term : access.dims[j].terms) map.coordinates[term.dim].terms.push_back({j, term.coef});
  }
  for (size_t d = reduction.domain.size(); d-- > 0;) {
    if (!reduction.reduced[d]) continue;
    const int64_t size = graph.host.value(graph.host.resolve(reduction.domain[d])).as_int();
    map.coordinates[d] = {graph.host.integer(element % size)};
    element /= size;
  }
  return map;
}

/// The value of a load of a reduction, computed from the elements of the row. The load belongs to `graph`, too.
NodeId unrolled(Graph& graph, const Node& load, const Access& access, const ReductionOrder& order) {
  const NodeId id = load.args[0];
  const Reduction reduction = graph.reduction(id);
  const std::span<const NodeId> indices = std::span(load.args).subspan(1);
  const bool has_factors = order.fuses_products && is_sum_of_products(graph, id);
  const NodeId operand = graph[id].args[0];
  const std::vector<NodeId> roots = has_factors ? graph[operand].args : std::vector{operand};
  const int64_t length = small_product(graph.host, reduced_sizes(reduction)).value();
  std::vector<Element> elements;
  for (int64_t i = 0; i < length; ++i)
    elements.push_back(reindex(graph, roots, map_of_element(graph, access, indices, reduction, i)));
  return combine_elements(graph, {reduction.kind, access.source.index, graph[id].dtype}, elements, order);
}

Graph with_unrolled(const Graph& graph, NodeId reduction, const ReductionOrder& order) {
  return simplify(rewrite(graph, [&](Graph& out, NodeId old_id, Node node) {
    if (graph.reduction_read(old_id) != reduction) return out.add(std::move(node));
    return unrolled(out, node, graph.access(old_id), order);
  }));
}

int64_t live_nodes(const Graph& graph) { return std::ranges::count(graph.live(), true); }

/// The graph with one more reduction unrolled; nothing if there is none, or if the graph would have more nodes.
std::optional<Graph> with_one_unrolled(const Graph& graph, const ReductionOrder& order, int64_t max_nodes) {
  max_nodes = std::min(max_nodes, live_nodes(graph) + kMaxNodesOfReduction);
  const Reads all_reads(graph);
  WorkspaceSizes workspaces(graph);
  for (const auto& [reduction, reads] : all_reads.by_reduction()) {
    if (!should_unroll(graph, workspaces, reduction, reads)) continue;
    Graph next = with_unrolled(graph, reduction, order);
    if (live_nodes(next) <= max_nodes) return next;
  }
  return std::nullopt;
}

}  // namespace

// After a reduction is unrolled, its readers make the loads of its operand. So another reduction may have to be
// unrolled next: the maximum of a softmax, after the sum that reads it.
Graph unroll_reductions(const Graph& graph, const ReductionOrder& order) {
  Graph out = graph;
  const int64_t max_nodes = live_nodes(graph) + kMaxAddedNodes;
  while (std::optional<Graph> next = with_one_unrolled(out, order, max_nodes)) out = *std::move(next);
  return out;
}

std::vector<ParamDim> sizes_to_unroll(const Graph& graph) {
  if (graph.reduction_count() == 0) return {};
  const Graph simple = simplify(inline_calls(graph));  // as the pass sees the graph
  std::set<ParamDim> sizes;
  const Reads all_reads(simple);
  WorkspaceSizes workspaces(simple);
  for (const auto& [reduction, reads] : all_reads.by_reduction()) {
    std::vector<HostId> unknown = reduced_sizes(simple.reduction(reduction));
    std::erase_if(unknown, [&](HostId size) { return simple.host.is_constant(simple.host.resolve(size)); });
    if (unknown.size() != 1 || !should_unroll(simple, workspaces, reduction, reads, unknown[0])) continue;
    // The first dim usually is that of a batch: each batch size would have a program of its own, to save little.
    if (simple.reduction(reduction).reduced[0] && !workspaces.is_largest(reduction)) continue;
    const HostNode& node = simple.host[simple.host.resolve(unknown[0])];
    if (node.op == HostOp::Size) sizes.insert({node.a, node.b});
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace ingot::ir
