#include "ir/flop_count.h"

#include <algorithm>
#include <vector>

namespace ingot::ir {

namespace {

class Counter {
 public:
  Counter(const Graph& graph, std::span<const HostValue> host) : graph_(graph), host_(host), elements_(graph.count()) {}

  /// Records, for each node that `root` depends on, the number of elements for which it is computed when `root` is
  /// computed over `domain`.
  void add_elements(NodeId root, std::span<const HostId> domain) {
    std::vector<bool> needed(root.index + 1);
    needed[root.index] = true;
    for (uint32_t i = root.index + 1; i-- > 0;)
      if (needed[i])
        for (const NodeId arg : operands({i})) needed[arg.index] = true;
    std::vector<DimMarks> varies(root.index + 1, DimMarks(domain.size()));
    for (uint32_t i = 0; i <= root.index; ++i) {
      if (!needed[i]) continue;
      mark_access({i}, varies[i]);
      for (const NodeId arg : operands({i}))
        std::ranges::transform(varies[i], varies[arg.index], varies[i].begin(), std::bit_or<>());
      int64_t elements = 1;
      for (size_t d = 0; d < domain.size(); ++d)
        if (varies[i][d]) elements *= size_of(domain[d]);
      elements_[i] = std::max(elements_[i], elements);
    }
  }

  /// The floating-point operations of all nodes that add_elements recorded.
  int64_t sum() const {
    int64_t operations = 0;
    for (uint32_t i = 0; i < graph_.count(); ++i) {
      const Node& node = graph_[{i}];
      const bool is_on_floats = is_floating(node.dtype) ||
                                std::ranges::any_of(node.args, [&](NodeId a) { return is_floating(graph_[a].dtype); });
      if (is_primitive(node.op) && node.op != Op::Cast && is_on_floats) operations += info(node.op).cost * elements_[i];
    }
    return operations;
  }

  int64_t elements_of(std::span<const HostId> domain) const {
    int64_t elements = 1;
    for (const HostId size : domain) elements *= size_of(size);
    return elements;
  }

 private:
  int64_t size_of(HostId size) const { return host_[size.index].as_int(); }

  /// The args of a node that are evaluated at the node's own index. A reduction that the node reads is not among them.
  std::span<const NodeId> operands(NodeId id) const {
    return graph_.reduction_read(id) ? graph_.indices(id) : std::span(graph_[id].args);
  }

  /// Marks the dims along which a node's access moves. The dims of an access are aligned at the last one.
  void mark_access(NodeId id, DimMarks& varies) const {
    const Op op = graph_[id].op;
    if (op != Op::Load && op != Op::Gather && op != Op::Index) return;
    const std::vector<AccessDim>& dims = graph_.access(id).dims;
    for (size_t d = dims.size(), varying_dim = varies.size(); d-- > 0 && varying_dim-- > 0;)
      if (!dims[d].terms.empty()) varies[varying_dim] = 1;
  }

  const Graph& graph_;
  std::span<const HostValue> host_;
  std::vector<int64_t> elements_;  ///< for each node, the number of elements for which it is computed
};

}  // namespace

int64_t count_operations(const Graph& graph, std::span<const HostValue> host) {
  Counter counter(graph, host);
  int64_t additions = 0;
  for (const Result& result : graph.results) {
    for (const OutputBlock& block : result.blocks) counter.add_elements(block.node, block.domain);
    if (!is_floating(result.dtype)) continue;
    for (const ScatterAdd& scatter : result.scatters)
      additions += counter.elements_of(graph.results[scatter.values].shape);
  }
  const std::vector<bool> live = graph.live();
  for (uint32_t i = 0; i < graph.count(); ++i) {
    if (!live[i] || graph[{i}].op != Op::Reduce) continue;
    const NodeId operand = graph[{i}].args[0];
    counter.add_elements(operand, graph.reduction({i}).domain);
    if (is_floating(graph[operand].dtype)) additions += counter.elements_of(graph.reduction({i}).domain);
  }
  return counter.sum() + additions;
}

}  // namespace ingot::ir
