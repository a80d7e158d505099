#include <algorithm>
#include <optional>

#include "ir/host/equal_sizes.h"
#include "ir/passes/canonical.h"

namespace ingot::ir {
namespace {

/// Whether an access over a shape maps each index to the element with the same index.
bool is_identity(const HostPool& host, const EqualSizes& same, const Access& access, const std::vector<HostId>& shape) {
  const auto is_int = [&](HostId id, int64_t value) { return host.is_int(id, value); };
  if (access.offsets.size() != shape.size() || access.dims.size() > shape.size() || !access.indirect.empty())
    return false;
  if (!std::ranges::all_of(access.offsets, [&](HostId offset) { return is_int(offset, 0); })) return false;
  const size_t missing = shape.size() - access.dims.size();
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (is_int(shape[dim], 1)) continue;
    if (dim < missing) return false;
    const AccessDim& access_dim = access.dims[dim - missing];
    if (!same(access_dim.size, shape[dim]) || access_dim.terms.size() != 1) return false;
    if (access_dim.terms[0].dim != dim || !is_int(access_dim.terms[0].coef, 1)) return false;
  }
  return true;
}

/// The parameter to which a result is equal, element for element; nullopt if there is none.
std::optional<uint32_t> param_of(const Graph& graph, const EqualSizes& same, const Result& result) {
  if (result.blocks.size() != 1 || result.mutates) return std::nullopt;
  const OutputBlock& block = result.blocks[0];
  if (graph[block.node].op != Op::Load || graph.reduction_read(block.node)) return std::nullopt;
  const Access& access = graph.access(block.node);
  const Param& param = graph.params[access.source.index];
  const bool is_whole =
      std::ranges::equal(param.shape, result.shape, same) && std::ranges::equal(block.domain, result.shape, same) &&
      is_identity(graph.host, same, block.store, result.shape) && is_identity(graph.host, same, access, result.shape);
  return is_whole ? std::optional(access.source.index) : std::nullopt;
}

}  // namespace

Graph forward_params(Graph graph) {
  const EqualSizes same(graph.host, graph.conditions);
  for (Result& result : graph.results) {
    result.forwards = param_of(graph, same, result);
    if (result.forwards) result.blocks.clear();
  }
  return canonical(std::move(graph));
}

}  // namespace ingot::ir
