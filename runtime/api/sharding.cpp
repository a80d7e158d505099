#include "runtime/api/sharding.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "runtime/api/op_state.h"
#include "runtime/cache/fork_guard.h"
#include "runtime/call/dtypes.h"

namespace ingot {

namespace {

using runtime::CallKey;

/// For each parameter, the index of its tensor in the request.
std::vector<std::optional<size_t>> tensor_indices_of(const CallKey& key, std::span<const at::Tensor> tensors) {
  std::vector<std::optional<size_t>> tensor_indices;
  for (const runtime::BoundArgument& argument : key.arguments) {
    const auto found = std::ranges::find_if(tensors, [&](const at::Tensor& tensor) {
      return argument.tensor != nullptr && tensor.is_same(*argument.tensor);
    });
    tensor_indices.push_back(found == tensors.end() ? std::nullopt : std::optional<size_t>(found - tensors.begin()));
  }
  return tensor_indices;
}

bool is_cut(const ir::ShardedDims& cuts) {
  return std::ranges::any_of(cuts, [](const auto& cut) { return cut.has_value(); });
}

}  // namespace

std::optional<ShardedCall> OpState::shard(std::span<const Argument> arguments, const ShardingRequest& request,
                                          bool& depends_on_numbers) const {
  std::vector<Argument> leaves;
  if (const auto op = op_of_leaves(arguments, leaves)) return op->shard(leaves, request, depends_on_numbers);
  if (request.is_recorded && definition_->derivative()) return std::nullopt;  // a custom backward may compute anything
  const runtime::ForkGuard guard;
  const auto key_of = [&](std::span<const Argument> shard_arguments) {
    CallKey key;
    runtime::make_call_key(*definition_, shard_arguments, {}, {}, runtime::Purpose::Show, key);
    key.device = request.device;
    key.autocast = runtime::autocast_of(*definition_, request.device);
    return key;
  };
  const CallKey key = key_of(arguments);
  const runtime::ProgramCache::Match match = programs_.find(key);
  depends_on_numbers = match.keyed.values != 0;
  if (match.keyed.written != 0) return std::nullopt;
  const runtime::Program& program = *match.program;
  const std::shared_ptr<const ir::Graph> graph = programs_.graph_of(match.program, key);

  const std::vector<std::optional<size_t>> tensor_indices = tensor_indices_of(key, request.tensors);
  const runtime::Resolved resolved = runtime::resolve(program, key, codegen_options(request.device.is_cuda()));
  ShardedCall call;
  for (size_t r = 0; r < resolved.results.size(); ++r)
    call.results.push_back(
        {runtime::scalar_type(program.results[r].dtype), resolved.results[r].sizes, resolved.results[r].strides, {}});
  std::vector<ir::ShardedDims> unit_cuts;  // of the mesh dims along which some shard has size 1
  for (const MeshCut& mesh_cut : request.mesh) {
    call.tensors.push_back(mesh_cut.tensors);
    for (ShardedCall::Result& result : call.results) result.cuts.emplace_back();
    if (!is_cut(mesh_cut.tensors)) continue;
    ir::ShardedDims cuts;
    for (const auto& index : tensor_indices) cuts.push_back(index ? mesh_cut.tensors[*index] : std::nullopt);
    const std::optional<ir::Sharding> sharding = ir::shard(*graph, cuts);
    if (!sharding || (sharding->needs_elements && mesh_cut.has_empty_shards)) return std::nullopt;
    for (size_t p = 0; p < tensor_indices.size(); ++p)
      if (tensor_indices[p]) call.tensors.back()[*tensor_indices[p]] = sharding->params[p];
    for (size_t r = 0; r < call.results.size(); ++r) call.results[r].cuts.back() = sharding->results[r];
    if (mesh_cut.has_unit_shards) unit_cuts.push_back(sharding->params);
  }

  // A process may have shards of size 1 along any combination of these dims.
  for (size_t subset = 1; subset < size_t{1} << unit_cuts.size(); ++subset) {
    std::vector<ir::ShardedDims> subset_cuts;
    for (size_t k = 0; k < unit_cuts.size(); ++k)
      if (subset >> k & 1) subset_cuts.push_back(unit_cuts[k]);
    std::vector<at::Tensor> shards(arguments.size());
    std::vector<Argument> shard_arguments(arguments.begin(), arguments.end());
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!tensor_indices[i]) continue;
      shards[i] = *arguments[i].tensor();
      for (const ir::ShardedDims& cuts : subset_cuts)
        if (cuts[i]) shards[i] = shards[i].narrow(*cuts[i], 0, 1);
      shard_arguments[i] = Argument(std::as_const(shards[i]));
    }
    if (!ir::matches_unit_shard(*graph, subset_cuts, *programs_.graph(key_of(shard_arguments)))) return std::nullopt;
  }
  return call;
}

}  // namespace ingot
