#include "codegen/shape/row_values.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "ir/rows.h"

namespace ingot::codegen {
namespace {

using ir::NodeId;
using ir::Op;

/// Whether the reduction of equal values is their value.
bool is_idempotent(ir::ReduceKind kind) { return kind == ir::ReduceKind::Max || kind == ir::ReduceKind::Any; }

/// What a node depends on.
struct Dependence {
  std::optional<NodeId> reduction;  ///< one of the reductions, which all have the same rows and are read row by row
  uint64_t dims = 0;                ///< the dims along which it varies, as bits; bit 0 is the innermost dim
  bool is_pure = true;              ///< no other reductions, and nothing that is checked when it is computed
};

/// Finds the nodes that have one value per row.
class RowValues {
 public:
  explicit RowValues(const ir::Graph& graph) : graph_(graph) {
    for (uint32_t i = 0; i < graph.count(); ++i) of_node_.push_back(dependence_of({i}));
  }

  /// A reduction on which the node depends, and whose rows have one value of the node each; nothing if there is none.
  std::optional<NodeId> rows_of(NodeId node) const {
    const Dependence& of = of_node_[node.index];
    if (!of.is_pure || !of.reduction) return std::nullopt;
    const ir::DimMarks& reduced = graph_.reduction(*of.reduction).reduced;
    for (size_t d = 0; d < reduced.size(); ++d)
      if (reduced[d] && (of.dims >> (reduced.size() - 1 - d) & 1)) return std::nullopt;
    return of.reduction;
  }

  /// The values per row that `root`, a function of the elements of `domain`, should load, each with a reduction of
  /// these rows: the outermost values that take more than a cast or a sign. None if the root would load more values
  /// than now.
  std::map<NodeId, NodeId> loaded_by(NodeId root, std::span<const ir::HostId> domain) const {
    std::map<NodeId, NodeId> values;
    std::set<NodeId> seen, replaced;
    std::vector<NodeId> pending = {root};
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (!seen.insert(id).second || graph_[id].op == Op::Reduce) continue;
      const std::optional<NodeId> reduction = rows_of(id);
      if (!reduction || !graph_.host.same(graph_.reduction(*reduction).domain, domain)) {
        std::ranges::copy(graph_[id].args, std::back_inserter(pending));
      } else if (graph_[id].op == Op::Cast || graph_[id].op == Op::Neg) {
        pending.push_back(graph_[id].args[0]);
      } else if (id != root && graph_[id].op != Op::Load) {
        values.emplace(id, *reduction);
        for (const NodeId node : nodes_of(graph_, {id}))
          if (ir::has_access(graph_[node].op)) replaced.insert(node);
      }
    }
    return values.size() <= replaced.size() ? values : std::map<NodeId, NodeId>();
  }

 private:
  Dependence dependence_of(NodeId id) const {
    const ir::Node& node = graph_[id];
    Dependence of;
    of.is_pure = node.op != Op::Gather && !may_divide_by_zero(graph_, id);
    const std::optional<NodeId> reduction = graph_.reduction_read(id);
    for (const NodeId arg : node.args)
      if (arg != reduction) add(of, of_node_[arg.index]);
    if (!ir::has_access(node.op)) return of;
    if (reduction) add(of, {reduction, 0, node.op == Op::Load && ir::reads_rows(graph_, id)});
    const std::vector<ir::AccessDim>& dims = graph_.access(id).dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (!dims[d].terms.empty()) of.dims |= uint64_t{1} << (dims.size() - 1 - d);
    return of;
  }

  void add(Dependence& of, const Dependence& other) const {
    of.dims |= other.dims;
    of.is_pure &= other.is_pure;
    if (of.reduction && other.reduction) of.is_pure &= ir::same_rows(graph_, *of.reduction, *other.reduction);
    if (!of.reduction) of.reduction = other.reduction;
  }

  const ir::Graph& graph_;
  std::vector<Dependence> of_node_;
};

/// Copies a graph, with loads in place of values per row where elements read them.
class Rewriter {
 public:
  Rewriter(const ir::Graph& graph, PartitionStrategy strategy)
      : graph_(graph), strategy_(strategy), out_{ir::GraphFrame(graph)}, values_(graph) {}

  ir::Graph run() {
    const std::vector<bool> live = graph_.live();
    for (uint32_t i = 0; i < graph_.count(); ++i)
      if (live[i]) add({i});
    for (ir::Result& result : out_.results)
      for (ir::OutputBlock& block : result.blocks) block.node = with_loads(block.node, block.domain);
    return std::move(out_);
  }

 private:
  void add(NodeId id) {
    std::vector<NodeId> args;
    for (const NodeId arg : graph_[id].args) args.push_back(new_ids_.at(arg));
    if (graph_[id].op == Op::Reduce && strategy_ == PartitionStrategy::PerPhase)
      args[0] = with_loads(graph_[id].args[0], graph_.reduction(id).domain);
    copy(id, std::move(args), new_ids_);
  }

  NodeId copy(NodeId id, std::vector<NodeId> args, std::map<NodeId, NodeId>& new_ids) {
    const NodeId new_id = out_.add(out_.transfer(graph_, id, std::move(args)));
    out_.copy_names_and_locations(graph_, id, new_id);
    return new_ids[id] = new_id;
  }

  /// The new node of a root over the elements of `domain`, which loads its values per row.
  NodeId with_loads(NodeId root, std::span<const ir::HostId> domain) {
    const std::map<NodeId, NodeId> values = values_.loaded_by(root, domain);
    std::map<NodeId, NodeId> rebuilt;
    for (const auto& [value, reduction] : values) rebuilt[value] = load_of(value, reduction);
    const auto new_id = [&](NodeId id) { return rebuilt.contains(id) ? rebuilt.at(id) : new_ids_.at(id); };
    for (const NodeId id : nodes_of(graph_, {root})) {
      const std::span<const NodeId> old_args = graph_[id].args;
      if (rebuilt.contains(id) || std::ranges::none_of(old_args, [&](NodeId arg) { return rebuilt.contains(arg); }))
        continue;
      std::vector<NodeId> args;
      for (const NodeId arg : old_args) args.push_back(new_id(arg));
      copy(id, std::move(args), rebuilt);
    }
    return new_id(root);
  }

  /// The load of a value per row, from the index space of the reduction's domain.
  NodeId load_of(NodeId value, NodeId reduction) {
    ir::Reduction rows = graph_.reduction(reduction);
    const ir::DType dtype = graph_[value].dtype;
    rows.kind = dtype == ir::DType::Bool ? ir::ReduceKind::Any : ir::ReduceKind::Max;
    const NodeId stored = out_.reduce(dtype, rows, new_ids_.at(value));
    ir::Access access = graph_.access(load_of_rows(value, reduction));
    access.source.index = 0;
    const NodeId load = out_.read(dtype, std::move(access), {stored});
    out_.copy_names_and_locations(graph_, value, stored);
    out_.copy_names_and_locations(graph_, value, load);
    return load;
  }

  /// A load of a reduction with these rows on which the value depends.
  NodeId load_of_rows(NodeId value, NodeId reduction) const {
    const std::vector<NodeId> loads = ir::loads_of_reductions(graph_, value);
    return *std::ranges::find_if(loads, [&](NodeId load) { return graph_.reduction_read(load) == reduction; });
  }

  const ir::Graph& graph_;
  PartitionStrategy strategy_;
  ir::Graph out_;
  RowValues values_;
  std::map<NodeId, NodeId> new_ids_;
};

}  // namespace

ir::Graph store_row_values(const ir::Graph& graph, PartitionStrategy strategy) {
  return graph.reduction_count() == 0 ? graph : Rewriter(graph, strategy).run();
}

std::set<NodeId> row_values(const ir::Graph& graph) {
  std::set<NodeId> found;
  const RowValues values(graph);
  for (uint32_t i = 0; i < graph.count(); ++i) {
    if (graph[{i}].op != Op::Reduce || !is_idempotent(graph.reduction({i}).kind)) continue;
    const std::optional<NodeId> rows = values.rows_of(graph[{i}].args[0]);
    if (rows && ir::same_rows(graph, *rows, {i})) found.insert({i});
  }
  return found;
}

}  // namespace ingot::codegen
