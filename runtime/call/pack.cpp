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

/// Nanoseconds·8, as LaunchInfo::weight counts: what a thread is worth waking for, about 8 µs.
constexpr int64_t kWeightOfThread = 65536;

/// The nodes of a program that change with a call's numbers, in a pool of their own.
class Numbers {
 public:
  Numbers(const Program& program, const Resolved& resolved) : program_(program), resolved_(resolved) {}

  ir::HostId take(ir::HostId id) {
    if (const auto found = new_ids_.find(id); found != new_ids_.end()) return found->second;
    ir::HostNode node = program_.host[id];
    if (!node.per_call) {
      node = {
          .op = ir::HostOp::Constant, .kind = node.kind, .value = resolved_.host[id.index], .args = {}, .coefs = {}};
    } else {
      for (ir::HostId& arg : node.args) arg = take(arg);
    }
    const ir::HostId taken = pool.append(std::move(node));
    new_ids_.emplace(id, taken);
    return taken;
  }

  ir::HostPool pool;

 private:
  const Program& program_;
  const Resolved& resolved_;
  std::map<ir::HostId, ir::HostId> new_ids_;
};

class Packer {
 public:
  Packer(const Program& program, const Resolved& resolved, Numbers& numbers)
      : program_(program), resolved_(resolved), numbers_(numbers) {}

  BoundKernel pack(const Kernel& kernel, uint32_t index) {
    const codegen::KernelOutline& outline = program_.outline.kernels[index];
    const codegen::KernelGeometry& geometry = resolved_.geometries[index];
    const codegen::LaunchInfo& info = kernel.info;
    bound_ = {.kernel = &kernel,
              .outline = index,
              .units = info.units(geometry.extents),
              .bytes = {},
              .offsets = {},
              .pointers = {},
              .numbers = {}};
    bound_.grain = grain_of(info.weight, geometry.numel, bound_.units);
    bound_.multiple = multiple_of(info);
    for (const KernelParameter& parameter : info.parameters) pack(parameter, outline, geometry);
    return std::move(bound_);
  }

 private:
  /// In units, of which each has as many elements as the others, but for those at the edges.
  static int64_t grain_of(uint32_t weight, int64_t numel, int64_t units) {
    const int64_t elements = kWeightOfThread / std::max<uint32_t>(1, weight);
    return std::max<int64_t>(1, elements / std::max<int64_t>(1, numel / units));
  }

  /// Elements, and rows of them, are shared out by 64: so a thread's vectors are aligned where the tensor is, and no
  /// two threads write one cache line. A tile is large enough.
  static int64_t multiple_of(const codegen::LaunchInfo& info) {
    constexpr int64_t kCacheLine = 64;
    return info.grid.size() == 1 && info.grid[0].step == 1 ? kCacheLine : 1;
  }

  /// Room for a value of that many bytes, aligned to them.
  uint32_t reserve(size_t size) {
    const size_t at = (bound_.bytes.size() + size - 1) / size * size;
    bound_.bytes.resize(at + size);
    bound_.offsets.push_back(static_cast<uint32_t>(at));
    return static_cast<uint32_t>(at);
  }

  void pack_size(int64_t value, ir::DType dtype) {
    const uint32_t at = reserve(static_cast<size_t>(ir::size_of(dtype)));
    write_scalar(ir::HostValue::of(value), dtype, &bound_.bytes[at]);
  }

  void pack(const KernelParameter& parameter, const codegen::KernelOutline& outline,
            const codegen::KernelGeometry& geometry) {
    switch (parameter.kind) {
      case KernelParameter::Kind::Pointer: {
        const codegen::AccessUse& use = outline.accesses[parameter.a];
        bound_.pointers.push_back({.at = reserve(sizeof(void*)),
                                   .tensor = use.tensor,
                                   .of_result = use.kind == codegen::AccessUse::Kind::Store,
                                   .shift = geometry.accesses[parameter.a].offset * ir::size_of(use.dtype)});
        return;
      }
      case KernelParameter::Kind::Extent:
        return pack_size(geometry.extents[parameter.b], parameter.dtype);
      case KernelParameter::Kind::Numel:
        return pack_size(geometry.numel, parameter.dtype);
      case KernelParameter::Kind::Stride:
        return pack_size(geometry.accesses[parameter.a].strides[parameter.b], parameter.dtype);
      case KernelParameter::Kind::LeadStride:
        return pack_size(geometry.accesses[parameter.a].lead_strides[parameter.b], parameter.dtype);
      case KernelParameter::Kind::LeadExtent:
        return pack_size(geometry.accesses[parameter.a].lead_extents[parameter.b], parameter.dtype);
      case KernelParameter::Kind::Scalar:
        return pack_scalar(outline.scalars[parameter.a].value, parameter.dtype);
      case KernelParameter::Kind::Status:
        bound_.status = reserve(sizeof(void*));
        return;
    }
    throw_internal("a kernel's argument of no kind");
  }

  void pack_scalar(ir::HostId value, ir::DType dtype) {
    const uint32_t at = reserve(static_cast<size_t>(ir::size_of(dtype)));
    if (program_.host[value].per_call)
      bound_.numbers.push_back({.at = at, .slot = numbers_.take(value).index, .dtype = dtype});
    else
      write_scalar(resolved_.host[value.index], dtype, &bound_.bytes[at]);
  }

  const Program& program_;
  const Resolved& resolved_;
  Numbers& numbers_;
  BoundKernel bound_;
};

/// Whether elements of the result are in none of its parts.
bool is_partial(const Program& program, const Resolved& resolved, uint32_t result) {
  int64_t stored = 0;
  for (size_t k = 0; k < resolved.geometries.size(); ++k) {
    const auto& parts = program.outline.kernels[k].parts;
    stored +=
        resolved.geometries[k].numel * std::ranges::count(parts, result, &codegen::KernelOutline::PartRef::result);
  }
  return stored < std::accumulate(resolved.results[result].sizes.begin(), resolved.results[result].sizes.end(),
                                  int64_t{1}, std::multiplies<>{});
}

}  // namespace

BoundCall pack(std::shared_ptr<const Program> program, std::shared_ptr<const Launch> launch, const Resolved& resolved) {
  BoundCall call;
  for (uint32_t r = 0; r < resolved.results.size(); ++r)
    call.results.push_back({resolved.destinations[r], scalar_type(program->results[r].dtype), resolved.results[r].sizes,
                            resolved.results[r].strides, is_partial(*program, resolved, r)});

  Numbers numbers(*program, resolved);
  for (const Program::Check& check : program->checks) {
    const ir::HostId a = check.condition.a, b = check.condition.b;
    if (!program->host[a].per_call && !program->host[b].per_call) continue;
    Program::Check moved = check;
    moved.condition.a = numbers.take(a);
    moved.condition.b = numbers.take(b);
    call.checks.push_back(std::move(moved));
  }
  if (launch) {
    Packer packer(*program, resolved, numbers);
    for (uint32_t k = 0; k < launch->kernels.size(); ++k)
      if (resolved.geometries[k].numel > 0) call.kernels.push_back(packer.pack(launch->kernels[k], k));
  }
  call.numbers = std::move(numbers.pool);
  call.program = std::move(program);
  call.launch = std::move(launch);
  return call;
}

}  // namespace ingot::runtime
