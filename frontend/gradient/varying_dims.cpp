#include "frontend/gradient/varying_dims.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "frontend/tensor/shapes.h"

namespace ingot::frontend {

void add_varying(VaryingDims& varying, const VaryingDims& more) {
  if (varying.size() < more.size()) varying.resize(more.size());
  for (size_t j = 0; j < more.size(); ++j)
    if (!varying[j]) varying[j] = more[j];
}

bool same_dims(const VaryingDims& a, const VaryingDims& b) {
  const auto varies = [](const VaryingDims& dims, size_t j) { return j < dims.size() && dims[j].has_value(); };
  for (size_t j = 0; j < std::max(a.size(), b.size()); ++j)
    if (varies(a, j) != varies(b, j)) return false;
  return true;
}

VaryingDims varying_dims_of(const Builder& builder, const ir::Access& access) {
  VaryingDims varying;
  for (size_t from_last = 0; from_last < access.dims.size(); ++from_last) {
    const ir::AccessDim& dim = access.dims[access.dims.size() - 1 - from_last];
    varying.push_back(dim.terms.empty() || is_one(builder, dim.size) ? std::nullopt : std::optional(dim.size));
  }
  return varying;
}

VaryingDims varying_dims_of(const Builder& builder, ir::NodeId node) {
  const ir::Graph& graph = builder.graph;
  VaryingDims varying;
  std::set<ir::NodeId> seen;
  std::vector<ir::NodeId> pending{node};
  while (!pending.empty()) {
    const ir::NodeId id = pending.back();
    pending.pop_back();
    if (graph[id].op == ir::Op::Reduce || !seen.insert(id).second) continue;
    if (ir::has_access(graph[id].op)) add_varying(varying, varying_dims_of(builder, graph.access(id)));
    std::ranges::copy(operands(graph, id), std::back_inserter(pending));
  }
  return varying;
}

std::span<const ir::NodeId> operands(const ir::Graph& graph, ir::NodeId id) {
  const std::span<const ir::NodeId> args(graph[id].args);
  return graph[id].op == ir::Op::Call ? args.first(1) : args;
}

}  // namespace ingot::frontend
