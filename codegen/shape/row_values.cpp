#include "codegen/shape/row_values.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "ir/passes/rewrite.h"
#include "ir/rows.h"

namespace ingot::codegen {
namespace {

using ir::NodeId;
using ir::Op;

/// The reductions and the dims on which a node depends.
struct Dependence {
  std::optional<NodeId> reduction;  ///< one of the reductions, which all have the same rows and are read row by row
  uint64_t dims = 0;                ///< the dims along which it varies, as bits; bit 0 is the innermost dim
  /// It reads no other reductions, and computing it checks nothing, neither an index nor a divisor.
  bool can_be_stored = true;
};

/// Finds the nodes that are row values.
class RowValues {
 public:
  explicit RowValues(const ir::Graph& graph) : graph_(graph) {
    for (uint32_t i = 0; i < graph.count(); ++i) dependences_.push_back(dependence_of({i}));
  }

  /// For a row value, a reduction of the row that it reads; otherwise nothing.
  std::optional<NodeId> reduction_of(NodeId node) const {
    const Dependence& of = dependences_[node.index];
    if (!of.can_be_stored || !of.reduction) return std::nullopt;
    const ir::DimMarks& reduced = graph_.reduction(*of.reduction).reduced;
    for (size_t d = 0; d < reduced.size(); ++d)
      if (reduced[d] && ((of.dims >> (reduced.size() - 1 - d)) & 1) != 0) return std::nullopt;
    return of.reduction;
  }

  /// Whether `domain` has the elements of this reduction's rows, and a row may have several. A reader of a row's only
  /// element can be in the kernel of the reduction.
  bool has_elements_of(NodeId id, std::span<const ir::HostId> domain) const {
    const ir::Reduction& reduction = graph_.reduction(id);
    bool has_several = false;
    for (size_t d = 0; d < reduction.domain.size(); ++d)
      has_several |= reduction.reduced[d] && !graph_.host.is_int(reduction.domain[d], 1);
    return has_several && graph_.host.same(reduction.domain, domain);
  }

  /// The row values that `root`, a function of the elements of `domain`, should load, each with a reduction of its row:
  /// the outermost ones. A cast or a sign takes less time than another load; a load is one already; and a root that is
  /// a row value is only stored. None if these are more values than the accesses with which they are computed.
  std::map<NodeId, NodeId> loaded_by(NodeId root, std::span<const ir::HostId> domain) const {
    std::map<NodeId, NodeId> values;
    std::set<NodeId> seen, accesses;
    std::vector<NodeId> pending = {root};
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (!seen.insert(id).second || graph_[id].op == Op::Reduce) continue;
      const std::optional<NodeId> reduction = reduction_of(id);
      if (!reduction || !has_elements_of(*reduction, domain)) {
        std::ranges::copy(graph_[id].args, std::back_inserter(pending));
      } else if (graph_[id].op == Op::Cast || graph_[id].op == Op::Neg) {
        pending.push_back(graph_[id].args[0]);
      } else if (id != root && graph_[id].op != Op::Load) {
        values.emplace(id, *reduction);
        for (const NodeId node : nodes_of(graph_, {id}))
          if (ir::has_access(graph_[node].op)) accesses.insert(node);
      }
    }
    return values.size() <= accesses.size() ? values : std::map<NodeId, NodeId>();
  }

 private:
  Dependence dependence_of(NodeId id) const {
    const ir::Node& node = graph_[id];
    Dependence of;
    of.can_be_stored = node.op != Op::Gather && !may_divide_by_zero(graph_, id);
    const std::optional<NodeId> reduction = graph_.reduction_read(id);
    for (const NodeId arg : node.args)
      if (arg != reduction) add(of, dependences_[arg.index]);
    if (!ir::has_access(node.op)) return of;
    if (reduction) add(of, {reduction, 0, node.op == Op::Load && ir::reads_rows(graph_, id)});
    const std::vector<ir::AccessDim>& dims = graph_.access(id).dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (!dims[d].terms.empty()) of.dims |= uint64_t{1} << (dims.size() - 1 - d);
    return of;
  }

  void add(Dependence& of, const Dependence& other) const {
    of.dims |= other.dims;
    of.can_be_stored &= other.can_be_stored;
    if (of.reduction && other.reduction) of.can_be_stored &= ir::same_rows(graph_, *of.reduction, *other.reduction);
    if (!of.reduction) of.reduction = other.reduction;
  }

  const ir::Graph& graph_;
  std::vector<Dependence> dependences_;
};

/// Copies a graph, with loads in place of row values where elements read them.
class Rewriter {
 public:
  Rewriter(const ir::Graph& graph, PartitionStrategy strategy)
      : graph_(graph), strategy_(strategy), out_{ir::GraphFrame(graph)}, values_(graph) {}

  /// Returns the new graph, without the nodes that are no longer needed.
  ir::Graph run() {
    const std::vector<bool> live = graph_.live();
    for (uint32_t i = 0; i < graph_.count(); ++i)
      if (live[i]) add({i});
    for (ir::Result& result : out_.results)
      for (ir::OutputBlock& block : result.blocks) block.node = with_loads(block.node, block.domain);
    return ir::rewrite(out_, [](ir::Graph& out, NodeId, ir::Node node) { return out.add(std::move(node)); });
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

  /// The new node of a root over the elements of `domain`, which loads its row values.
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

  /// The load of a row value, from the index space of the reduction's domain.
  NodeId load_of(NodeId value, NodeId reduction) {
    ir::Reduction rows = graph_.reduction(reduction);
    const ir::DType dtype = graph_[value].dtype;
    rows.kind = ir::ReduceKind::Max, rows.is_row_value = true;
    const NodeId stored = out_.reduce(dtype, rows, new_ids_.at(value));
    ir::Access access = graph_.access(load_of_reduction(value, reduction));
    access.source.index = 0;  // of the only value; the copied access may be of the index of an ArgMax
    const NodeId load = out_.read(dtype, std::move(access), {stored});
    out_.copy_names_and_locations(graph_, value, stored);
    out_.copy_names_and_locations(graph_, value, load);
    return load;
  }

  /// The value's load of the reduction.
  NodeId load_of_reduction(NodeId value, NodeId reduction) const {
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

}  // namespace ingot::codegen
