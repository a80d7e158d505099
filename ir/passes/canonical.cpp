#include "ir/passes/canonical.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace ingot::frontend {
namespace {

/// Moves nodes from one graph to another as they are needed.
class Mover {
 public:
  Mover(const ir::Graph& from, ir::Graph& to) : from_(from), to_(to), moved_(from.count()) {}

  ir::NodeId move(ir::NodeId root) {
    std::vector<ir::NodeId> pending{root};
    while (!pending.empty()) {
      const ir::NodeId id = pending.back();
      if (moved_[id.index]) {
        pending.pop_back();
        continue;
      }
      const std::vector<ir::NodeId>& args = from_[id].args;
      const auto missing = std::ranges::find_if(args, [&](ir::NodeId arg) { return !moved_[arg.index].has_value(); });
      if (missing != args.end()) {
        pending.push_back(*missing);
        continue;
      }
      std::vector<ir::NodeId> now;
      for (const ir::NodeId arg : args) now.push_back(*moved_[arg.index]);
      moved_[id.index] = to_.add(to_.transfer(from_, id, std::move(now)));
      to_.carry(from_, id, *moved_[id.index]);
      pending.pop_back();
    }
    return *moved_[root.index];
  }

 private:
  const ir::Graph& from_;
  ir::Graph& to_;
  std::vector<std::optional<ir::NodeId>> moved_;
};

}  // namespace

ir::Graph canonical(ir::Graph graph) {
  ir::Graph result;
  Mover mover(graph, result);
  for (ir::Result& one : graph.results) {
    for (ir::Part& part : one.parts) part.node = mover.move(part.node);
  }
  std::ranges::stable_sort(graph.conditions, {}, [](const ir::Condition& condition) {
    return std::tuple(condition.a, condition.b, condition.kind);
  });
  result.name = std::move(graph.name);
  result.params = std::move(graph.params);
  result.results = std::move(graph.results);
  result.conditions = std::move(graph.conditions);
  result.statics = std::move(graph.statics);
  result.touched = std::move(graph.touched);
  result.eager_layouts = std::move(graph.eager_layouts);
  result.functions = std::move(graph.functions);
  result.host = std::move(graph.host);
  return result;
}

}  // namespace ingot::frontend
