#include "ir/passes/canonical.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace ingot::ir {
namespace {

/// Copies nodes, after the nodes that they depend on, from one graph to another.
class Mover {
 public:
  Mover(const Graph& from, Graph& to) : from_(from), to_(to), moved_(from.count()) {}

  NodeId move(NodeId root) {
    std::vector<NodeId> pending{root};
    while (!pending.empty()) {
      const NodeId id = pending.back();
      if (moved_[id.index]) {
        pending.pop_back();
        continue;
      }
      const std::vector<NodeId>& args = from_[id].args;
      const auto missing = std::ranges::find_if(args, [&](NodeId arg) { return !moved_[arg.index].has_value(); });
      if (missing != args.end()) {
        pending.push_back(*missing);
        continue;
      }
      std::vector<NodeId> moved_args;
      for (const NodeId arg : args) moved_args.push_back(*moved_[arg.index]);
      moved_[id.index] = to_.add(to_.transfer(from_, id, std::move(moved_args)));
      to_.copy_names_and_locations(from_, id, *moved_[id.index]);
      pending.pop_back();
    }
    return *moved_[root.index];
  }

 private:
  const Graph& from_;
  Graph& to_;
  std::vector<std::optional<NodeId>> moved_;
};

}  // namespace

Graph canonical(Graph graph) {
  Graph result{static_cast<GraphFrame&&>(graph)};  // everything but the nodes, which stay in `graph`
  Mover mover(graph, result);
  for (Result& output : result.results) {
    for (OutputBlock& block : output.blocks) block.node = mover.move(block.node);
  }
  std::ranges::stable_sort(result.conditions, {}, [](const Condition& condition) {
    return std::tuple(condition.a, condition.b, condition.kind);
  });
  return result;
}

}  // namespace ingot::ir
