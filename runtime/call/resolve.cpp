#include <algorithm>

#include "base/error.h"
#include "codegen/schedule/strategy.h"
#include "runtime/call/bound_call.h"
#include "runtime/call/host_run.h"

namespace ingot::runtime {

namespace {

using ArgumentKind = frontend::ArgumentSpec::Kind;

ir::SizesAndStrides extents_of(const at::Tensor& tensor) { return {tensor.sizes().vec(), tensor.strides().vec()}; }

/// Computes the host program and checks its conditions. If arithmetic fails, the message is that of a failed condition
/// on the values computed before, if there is one other than that of a gather from an empty dim.
std::vector<ir::HostValue> run_checked_host(const Program& program, const CallKey& key) {
  std::vector<ir::HostValue> host_values(program.host.count());
  std::string failure;
  const size_t computed_count = run_host(program.host, key, host_values, failure);
  for (const Program::Check& check : program.checks) {
    const ir::HostId a = check.condition.a, b = check.condition.b;
    if (std::max(a.index, b.index) >= computed_count ||
        ir::holds(check.condition.kind, host_values[a.index], host_values[b.index]))
      continue;
    const bool is_gather = check.condition.kind == ir::Condition::Kind::NonEmpty;
    if (!is_gather || failure.empty()) throw_check(program, check, host_values[a.index], host_values[b.index]);
  }
  if (!failure.empty()) throw_arithmetic(program, key);
  return host_values;
}

uintptr_t address_of(const at::Tensor& tensor) {
  return tensor.device().is_meta() ? 0 : reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
}

/// The address of the tensor of each access. The address is 0, as a multiple of any alignment, for new results and
/// workspaces: PyTorch's allocators align them to 64 bytes or more.
std::vector<uintptr_t> addresses_of(const codegen::KernelOutline& kernel, const CallKey& key,
                                    std::span<const Destination> destinations) {
  std::vector<uintptr_t> addresses;
  for (const codegen::AccessUse& use : kernel.accesses) {
    const at::Tensor* tensor = nullptr;
    if (use.in_workspace) {
      addresses.push_back(0);
      continue;
    }
    if (use.kind == codegen::AccessUse::Kind::Store) {
      const Destination& destination = destinations[use.tensor];
      if (!destination.needs_copy) tensor = destination.tensor(key);
    } else if (use.has_tensor() && use.tensor < key.arguments.size()) {  // after the parameters comes the seed
      tensor = key.arguments[use.tensor].tensor;
    }
    addresses.push_back(tensor == nullptr ? 0 : address_of(*tensor));
  }
  return addresses;
}

void check_views(const Program& program, std::span<const ir::SizesAndStrides> tensors) {
  for (const Program::RequiredView& view : program.required_views) {
    const ir::LayoutStep& step = program.layout_steps[view.step];
    if (!ir::has_view(tensors[step.inputs[0]], tensors[view.step].sizes)) throw_no_view(program, view);
  }
}

/// Checks required views, and computes the strides of new results.
void set_new_strides(const Program& program, bool all_row_major, Resolved& resolved) {
  const auto is_new = [](const Destination& destination) { return destination.kind == Destination::Kind::New; };
  const bool has_new_results = std::ranges::any_of(resolved.destinations, is_new);
  if (all_row_major && !program.may_have_other_layouts) {  // all required views exist
    if (!has_new_results) return;
    for (ir::SizesAndStrides& extents : resolved.results) extents.strides = ir::contiguous_strides(extents.sizes);
  } else if (has_new_results || !program.required_views.empty()) {
    const std::vector<ir::SizesAndStrides> tensors =
        ir::eager_tensors(program.layout_steps, resolved.host, resolved.params);
    check_views(program, tensors);
    for (size_t r = 0; r < resolved.results.size(); ++r)
      resolved.results[r].strides = tensors[program.results[r].layout].strides;
  }
}

/// The geometries of an outline's kernels, and the workspaces that it needs.
std::vector<codegen::KernelGeometry> geometries_of(const codegen::Outline& outline, Resolved& resolved) {
  std::vector<codegen::KernelGeometry> geometries;
  resolved.workspaces = codegen::workspace_extents(outline, resolved.host);
  const codegen::Shapes shapes{resolved.params, resolved.results, resolved.workspaces};
  for (const codegen::KernelOutline& kernel : outline.kernels)
    geometries.push_back(codegen::geometry(kernel, resolved.host, shapes));
  return geometries;
}

/// Uses the strides of the caller's tensors for the results written there.
void set_destination_strides(const CallKey& key, Resolved& resolved) {
  for (size_t r = 0; r < resolved.results.size(); ++r)
    if (const at::Tensor* tensor = resolved.destinations[r].tensor(key))
      resolved.results[r].strides = tensor->strides().vec();
}

/// The partition strategy of a call. One kernel for all phases can overwrite its own inputs. Kernels of other
/// strategies cannot if a later one reads the inputs again.
codegen::PartitionStrategy strategy_of(const Program& program, const CallKey& key, Resolved& resolved) {
  const auto geometries = [&](const codegen::Outline& outline) { return geometries_of(outline, resolved); };
  const auto can_write = [&](const codegen::Outline& outline) {
    return can_write_in_place(outline, key, geometries(outline), resolved.destinations);
  };
  const codegen::PartitionStrategy strategy =
      codegen::partition_strategy_of(program.outlines, resolved.host, key.device.is_cuda(), geometries);
  return codegen::stores_elements_apart(strategy) && !can_write(program.outlines.of(strategy)) &&
                 can_write(program.outlines.whole)
             ? codegen::PartitionStrategy::Whole
             : strategy;
}

/// Decides which results are written directly into the caller's tensors. The other results are computed in temporary
/// memory, which has the same order of strides but is dense, and are copied at the end. Returns whether results alias
/// arguments.
bool place_results(const Program& program, const CallKey& key, bool checks_indices, Resolved& resolved) {
  const codegen::Outline& outline = program.outlines.of(resolved.strategy);
  resolved.geometries = geometries_of(outline, resolved);
  const bool has_aliases =
      choose_in_place(program, outline, key, resolved.geometries, checks_indices, resolved.destinations);
  if (std::ranges::none_of(resolved.destinations, &Destination::needs_copy)) return has_aliases;
  for (size_t r = 0; r < resolved.results.size(); ++r)
    if (resolved.destinations[r].needs_copy) resolved.results[r].strides = ir::preserve_strides(resolved.results[r]);
  resolved.geometries = geometries_of(outline, resolved);
  return has_aliases;
}

}  // namespace

Resolved resolve(const Program& program, const CallKey& key, const codegen::Options& options) {
  Resolved resolved;
  resolved.host = run_checked_host(program, key);
  // is_contiguous() would not be enough for this flag: results inherit the strides of dims of size 1, and dims of
  // size 0 have rules of their own.
  bool all_row_major = true;
  for (const BoundArgument& argument : key.arguments) {
    ir::SizesAndStrides& extents = resolved.params.emplace_back();
    if (argument.kind != ArgumentKind::Tensor) continue;
    extents = extents_of(*argument.tensor);
    all_row_major &= argument.tensor->numel() > 0 && extents.strides == ir::contiguous_strides(extents.sizes);
  }
  if (program.uses_random) resolved.params.emplace_back();  // the seed, which has no dims
  for (const Program::Result& result : program.results) {
    ir::SizesAndStrides& extents = resolved.results.emplace_back();
    for (const ir::HostId size : result.shape) extents.sizes.push_back(resolved.host[size.index].as_int());
  }
  resolved.destinations = destinations_of(program, key);
  check_destinations(program, key, resolved.destinations, resolved.results);
  set_new_strides(program, all_row_major, resolved);
  set_destination_strides(key, resolved);
  resolved.strategy = strategy_of(program, key, resolved);
  const bool has_aliases = place_results(program, key, options.check_indices, resolved);
  const codegen::Outline& outline = program.outlines.of(resolved.strategy);
  for (size_t k = 0; k < resolved.geometries.size(); ++k) {
    const codegen::KernelOutline& kernel = outline.kernels[k];
    resolved.layouts.push_back(codegen::classify(kernel, resolved.geometries[k],
                                                 addresses_of(kernel, key, resolved.destinations), has_aliases));
  }
  return resolved;
}

}  // namespace ingot::runtime
