#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>

#include "base/error.h"
#include "runtime/call/bound_call.h"
#include "runtime/call/dtypes.h"
#include "runtime/call/scalar_bytes.h"

namespace ingot::runtime {

namespace {

using codegen::KernelParameter;

/// The least work that justifies waking a thread, in eighths of a nanosecond, as LaunchInfo::weight counts
/// (docs/performance.md: cpu-element-cost).
constexpr int64_t kMinThreadWeight = 65536;

/// The nodes of a program that depend on a call's numbers, in a pool of their own.
class Numbers {
 public:
  Numbers(const Program& program, const Resolved& resolved) : program_(program), resolved_(resolved) {}

  ir::HostId copy_node(ir::HostId id) {
    if (const auto found = new_ids_.find(id); found != new_ids_.end()) return found->second;
    ir::HostNode node = program_.host[id];
    if (!node.per_call) {
      node = {
          .op = ir::HostOp::Constant, .kind = node.kind, .value = resolved_.host[id.index], .args = {}, .coefs = {}};
    } else {
      for (ir::HostId& arg : node.args) arg = copy_node(arg);
    }
    const ir::HostId copy = pool.append(std::move(node));
    new_ids_.emplace(id, copy);
    return copy;
  }

  ir::HostPool pool;

 private:
  const Program& program_;
  const Resolved& resolved_;
  std::map<ir::HostId, ir::HostId> new_ids_;
};

/// The offsets of workspace tensors, and of partial results, in the call's one allocation.
class WorkspaceMap {
 public:
  WorkspaceMap(const Program& program, const Resolved& resolved, const KernelSet* kernel_set) {
    const codegen::Outline& outline = program.outlines.of(resolved.strategy);
    for (size_t w = 0; w < resolved.workspaces.size(); ++w)
      tensors_.push_back(reserve(elements_of(resolved.workspaces[w]), outline.workspaces[w].dtype));
    if (kernel_set == nullptr) return;
    for (const Kernel& kernel : kernel_set->kernels) {
      const codegen::LaunchInfo& info = kernel.info;
      if (partials_.contains(info.partials_writer)) continue;
      const int64_t elements = codegen::count(info.partial_count, resolved.geometries[info.outline_kernel].extents);
      for (const ir::DType dtype : info.partials) partials_[info.partials_writer].push_back(reserve(elements, dtype));
    }
  }

  int64_t tensor(uint32_t workspace) const { return tensors_.at(workspace); }
  int64_t partials(uint32_t owner, uint32_t index) const { return partials_.at(owner).at(index); }
  int64_t bytes() const { return bytes_; }

 private:
  static int64_t elements_of(const ir::SizesAndStrides& extents) {
    return std::accumulate(extents.sizes.begin(), extents.sizes.end(), int64_t{1}, std::multiplies<>{});
  }
  int64_t reserve(int64_t elements, ir::DType dtype) {
    constexpr int64_t kAlignment = 256;
    const int64_t offset = bytes_;
    bytes_ += (elements * ir::size_of(dtype) + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }

  std::vector<int64_t> tensors_;
  std::map<uint32_t, std::vector<int64_t>> partials_;
  int64_t bytes_ = 0;
};

class Packer {
 public:
  Packer(const Program& program, const Resolved& resolved, const WorkspaceMap& workspace, Numbers& numbers)
      : program_(program), resolved_(resolved), workspace_(workspace), numbers_(numbers) {}

  BoundKernel pack(const Kernel& kernel) {
    const uint32_t index = kernel.info.outline_kernel;
    const codegen::KernelOutline& outline = program_.outlines.of(resolved_.strategy).kernels[index];
    const codegen::KernelGeometry& geometry = resolved_.geometries[index];
    const codegen::LaunchInfo& info = kernel.info;
    bound_ = {.kernel = &kernel,
              .outline = &outline,
              .units = info.units(geometry.extents),
              .bytes = {},
              .offsets = {},
              .pointers = {},
              .numbers = {}};
    bound_.shared_bytes = static_cast<uint32_t>(info.shared_bytes(geometry.extents));
    bound_.grain = grain_of(info.weight, geometry.numel, bound_.units);
    bound_.multiple = outline.reduces() ? 1 : multiple_of(info);
    for (const KernelParameter& parameter : info.parameters) pack(parameter, outline, geometry);
    return std::move(bound_);
  }

 private:
  /// The fewest units that justify a thread. Each unit has the same number of elements, except at the edges.
  static int64_t grain_of(uint32_t weight, int64_t numel, int64_t units) {
    const int64_t elements = kMinThreadWeight / std::max<uint32_t>(1, weight);
    return std::max<int64_t>(1, elements / std::max<int64_t>(1, numel / std::max<int64_t>(1, units)));
  }

  /// The number of which each thread's first unit is a multiple. If a unit is one element, or the elements at one
  /// index, this is 64, at least a cache line of elements: a thread's vectors are then aligned if the tensor is, and no
  /// two threads write one cache line. A tile is larger than a cache line.
  static int64_t multiple_of(const codegen::LaunchInfo& info) {
    constexpr int64_t kCacheLine = 64;
    return info.grid.size() == 1 && info.grid[0].step == 1 ? kCacheLine : 1;
  }

  /// Reserves space for a value of `size` bytes, aligned to its size.
  uint32_t reserve(size_t size) {
    const size_t offset = (bound_.bytes.size() + size - 1) / size * size;
    bound_.bytes.resize(offset + size);
    bound_.offsets.push_back(static_cast<uint32_t>(offset));
    return static_cast<uint32_t>(offset);
  }

  void pack_size(int64_t value, ir::DType dtype) {
    const uint32_t offset = reserve(static_cast<size_t>(ir::size_of(dtype)));
    write_scalar(ir::HostValue::of(value), dtype, &bound_.bytes[offset]);
  }

  void pack(const KernelParameter& parameter, const codegen::KernelOutline& outline,
            const codegen::KernelGeometry& geometry) {
    switch (parameter.kind) {
      case KernelParameter::Kind::Pointer: {
        const codegen::AccessUse& use = outline.accesses[parameter.a];
        using Source = BoundKernel::Pointer::Source;
        const int64_t shift = geometry.accesses[parameter.a].offset * ir::size_of(use.dtype);
        const bool is_seed = program_.uses_random && use.tensor + 1 == resolved_.params.size();
        bound_.pointers.push_back({.offset = reserve(sizeof(void*)),
                                   .source = use.in_workspace                              ? Source::Workspace
                                             : use.kind == codegen::AccessUse::Kind::Store ? Source::Result
                                             : is_seed                                     ? Source::Seed
                                                                                           : Source::Param,
                                   .tensor = use.tensor,
                                   .shift = shift + (use.in_workspace ? workspace_.tensor(use.tensor) : 0)});
        return;
      }
      case KernelParameter::Kind::Partials:
        bound_.pointers.push_back({.offset = reserve(sizeof(void*)),
                                   .source = BoundKernel::Pointer::Source::Workspace,
                                   .tensor = 0,
                                   .shift = workspace_.partials(bound_.kernel->info.partials_writer, parameter.a)});
        return;
      case KernelParameter::Kind::Extent:
      case KernelParameter::Kind::Numel:
      case KernelParameter::Kind::Stride:
      case KernelParameter::Kind::GatherStride:
      case KernelParameter::Kind::GatherExtent:
        return pack_size(codegen::size_argument(parameter, geometry).value(), parameter.dtype);
      case KernelParameter::Kind::Scalar:
        return pack_scalar(outline.scalars[parameter.a].value, parameter.dtype);
      case KernelParameter::Kind::Status:
        bound_.status_offset = reserve(sizeof(void*));
        return;
    }
    throw_internal("a kernel's argument of an unknown kind");
  }

  void pack_scalar(ir::HostId value, ir::DType dtype) {
    const uint32_t offset = reserve(static_cast<size_t>(ir::size_of(dtype)));
    if (program_.host[value].per_call)
      bound_.numbers.push_back({.offset = offset, .value_id = numbers_.copy_node(value).index, .dtype = dtype});
    else
      write_scalar(resolved_.host[value.index], dtype, &bound_.bytes[offset]);
  }

  const Program& program_;
  const Resolved& resolved_;
  const WorkspaceMap& workspace_;
  Numbers& numbers_;
  BoundKernel bound_;
};

/// Whether some elements of the result are in none of its output blocks.
bool is_partial(const Program& program, const Resolved& resolved, uint32_t result) {
  int64_t stored = 0;
  for (size_t k = 0; k < resolved.geometries.size(); ++k) {
    const codegen::KernelGeometry& geometry = resolved.geometries[k];
    for (const codegen::KernelOutline::OutputBlockRef& block :
         program.outlines.of(resolved.strategy).kernels[k].output_blocks)
      if (block.result == result) stored += block.is_per_row ? geometry.rows() : geometry.numel;
  }
  return stored < std::accumulate(resolved.results[result].sizes.begin(), resolved.results[result].sizes.end(),
                                  int64_t{1}, std::multiplies<>{});
}

}  // namespace

BoundCall pack(std::shared_ptr<const Program> program, std::shared_ptr<const KernelSet> kernel_set,
               const Resolved& resolved) {
  BoundCall call;
  for (uint32_t r = 0; r < resolved.results.size(); ++r)
    call.results.push_back({resolved.destinations[r], scalar_type(program->results[r].dtype), resolved.results[r].sizes,
                            resolved.results[r].strides, is_partial(*program, resolved, r),
                            program->results[r].forwards, !program->results[r].scatters.empty()});
  call.has_scatter_sums = has_scatter_sums(*program);

  Numbers numbers(*program, resolved);
  for (const Program::Check& check : program->checks) {
    const ir::HostId a = check.condition.a, b = check.condition.b;
    if (!program->host[a].per_call && !program->host[b].per_call) continue;
    Program::Check copy = check;
    copy.condition.a = numbers.copy_node(a);
    copy.condition.b = numbers.copy_node(b);
    call.checks.push_back(std::move(copy));
  }
  if (kernel_set) {
    const WorkspaceMap workspace(*program, resolved, kernel_set.get());
    call.workspace_bytes = workspace.bytes();
    Packer packer(*program, resolved, workspace, numbers);
    for (const Kernel& kernel : kernel_set->kernels)
      if (kernel.info.units(resolved.geometries[kernel.info.outline_kernel].extents) > 0)
        call.kernels.push_back(packer.pack(kernel));
  }
  call.numbers = std::move(numbers.pool);
  call.program = std::move(program);
  call.kernel_set = std::move(kernel_set);
  return call;
}

}  // namespace ingot::runtime
