#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/error.h"
#include "runtime/api/runtime.h"
#include "runtime/call/bound_call.h"
#include "runtime/call/host_run.h"
#include "runtime/call/inline_buffer.h"
#include "runtime/call/scalar_bytes.h"
#include "runtime/call/scatter_sums.h"

// The part of a call that runs every time. This part allocates the results, and one workspace if kernels need it. It
// takes no lock, and computes nothing again that the key determines.

namespace ingot::runtime {

namespace {

using HostValues = InlineBuffer<ir::HostValue, 32>;

void compute_numbers(const BoundCall& call, const CallKey& key, HostValues& host_values) {
  if (host_values.size() == 0) return;
  std::string failure;
  const size_t computed_count = run_host(call.numbers, key, host_values, failure);
  for (const Program::Check& check : call.checks) {
    const uint32_t a = check.condition.a.index, b = check.condition.b.index;
    if (std::max(a, b) < computed_count && !ir::holds(check.condition.kind, host_values[a], host_values[b]))
      throw_check(*call.program, check, host_values[a], host_values[b]);
  }
  if (!failure.empty()) throw_arithmetic(*call.program, key);
}

at::Tensor allocate(const BoundCall::Result& result, c10::Device device) {
  if (device.is_cuda()) return cuda_backend().empty_strided(result.sizes, result.strides, result.dtype, device.index());
  return at::Tensor(at::detail::empty_strided_cpu(result.sizes, result.strides, result.dtype));
}

/// Copies without autograd; `VersionBumps` increments the version counters.
void copy_values(const at::Tensor& to, const at::Tensor& from) {
  const at::AutoDispatchBelowADInplaceOrView raw;
  to.copy_(from);
}

at::Tensor allocate_result(const BoundCall::Result& result, const CallKey& key, AtomicCounters& counters) {
  if (result.is_scatter_sum) return {};
  if (result.forwards) {
    // With a destination of the caller's, copies the argument first, because another result may overwrite it.
    const at::Tensor& argument = *key.arguments[*result.forwards].tensor;
    return result.destination.needs_copy ? argument.clone() : argument;
  }
  const at::Tensor* destination = result.destination.tensor(key);
  if (destination != nullptr && !result.destination.needs_copy) return *destination;
  at::Tensor tensor = allocate(result, key.device);
  AtomicCounters::add(counters.allocations);
  if (result.is_partial) copy_values(tensor, *destination);
  return tensor;
}

/// Allocates the workspace on the call's stream, for the call's duration.
at::Tensor allocate_workspace(const BoundCall& call, c10::Device device, AtomicCounters& counters) {
  if (call.workspace_bytes == 0) return {};
  AtomicCounters::add(counters.allocations);
  const std::array sizes{call.workspace_bytes}, strides{int64_t{1}};
  if (device.is_cuda()) return cuda_backend().empty_strided(sizes, strides, c10::ScalarType::Byte, device.index());
  return at::Tensor(at::detail::empty_strided_cpu(sizes, strides, c10::ScalarType::Byte));
}

/// Increments version counters, so that autograd detects overwritten saved values. Does so even after an error, because
/// a part of the values may be overwritten by then.
class VersionBumps {
 public:
  VersionBumps(const BoundCall& call, const CallKey& key) : call_(call), key_(key) {}
  ~VersionBumps() {
    for (const BoundCall::Result& result : call_.results)
      if (const at::Tensor* destination = result.destination.tensor(key_);
          destination != nullptr && !is_untouched(result))
        destination->unsafeGetTensorImpl()->bump_version();
  }
  VersionBumps(const VersionBumps&) = delete;
  VersionBumps& operator=(const VersionBumps&) = delete;

  void begin_copies() { has_begun_copies_ = true; }

 private:
  bool is_untouched(const BoundCall::Result& result) const {
    return result.destination.needs_copy && !has_begun_copies_;
  }

  const BoundCall& call_;
  const CallKey& key_;
  bool has_begun_copies_ = false;
};

/// The tensors that the kernels of a call write.
struct KernelOutputs {
  std::span<const at::Tensor> results;
  at::Tensor workspace;  ///< undefined if the call needs none
};

/// The arguments of one kernel launch, and their addresses in the form that a launch takes.
class PackedArguments {
 public:
  PackedArguments(const BoundKernel& kernel, const CallKey& key, const KernelOutputs& outputs,
                  const HostValues& host_values, void* status)
      : bytes_(kernel.bytes.size()), arguments_(kernel.offsets.size()) {
    std::memcpy(bytes_.data(), kernel.bytes.data(), kernel.bytes.size());
    for (const BoundKernel::Pointer& pointer : kernel.pointers) {
      const char* address = static_cast<const char*>(data_of(pointer, key, outputs)) + pointer.shift;
      std::memcpy(&bytes_[pointer.offset], &address, sizeof(address));
    }
    for (const BoundKernel::Number& number : kernel.numbers)
      write_scalar(host_values[number.value_id], number.dtype, &bytes_[number.offset]);
    if (kernel.status_offset != BoundKernel::kNone) std::memcpy(&bytes_[kernel.status_offset], &status, sizeof(status));
    for (size_t i = 0; i < kernel.offsets.size(); ++i) arguments_[i] = &bytes_[kernel.offsets[i]];
  }

  void** arguments() { return arguments_.data(); }

 private:
  static const void* data_of(const BoundKernel::Pointer& pointer, const CallKey& key, const KernelOutputs& outputs) {
    switch (pointer.source) {
      case BoundKernel::Pointer::Source::Param:
        return key.arguments[pointer.tensor].tensor->const_data_ptr();
      case BoundKernel::Pointer::Source::Seed:
        return key.seed.const_data_ptr();
      case BoundKernel::Pointer::Source::Result:
        return outputs.results[pointer.tensor].mutable_data_ptr();
      case BoundKernel::Pointer::Source::Workspace:
        return outputs.workspace.defined() ? outputs.workspace.mutable_data_ptr()
                                           : nullptr;  // undefined for zero bytes
    }
    return nullptr;
  }

  InlineBuffer<std::byte, 512> bytes_;
  InlineBuffer<void*, 64> arguments_;
};

/// Throws the error of a kernel's `status`, as KernelParameter::Kind::Status defines it.
[[noreturn]] void throw_status(const BoundCall& call, const BoundKernel& kernel, int32_t status) {
  const codegen::KernelOutline& outline = *kernel.outline;
  const size_t site = static_cast<size_t>(status) - 1, gathers = outline.accesses.size();
  if (site < gathers)
    throw_author(Span{}, fmt::format("{}: index out of range in `{}`", call.program->name, outline.accesses[site].text),
                 "indices must be within the tensor: from -size to size - 1");
  throw_author(Span{},
               fmt::format("{}: ZeroDivisionError in `{}`", call.program->name, outline.divisions.at(site - gathers)),
               "integers do not divide by zero: use a divisor such as where(y != 0, y, 1)");
}

void run_cpu(const BoundCall& call, const BoundKernel& kernel, const CallKey& key, const KernelOutputs& outputs,
             const HostValues& host_values) {
  int32_t status = 0;
  PackedArguments packed(kernel, key, outputs, host_values, &status);
  run_parallel(kernel.kernel->cpu, packed.arguments(), kernel.units, kernel.multiple, kernel.grain);
  if (status != 0) throw_status(call, kernel, status);
}

void run_cuda(const BoundCall& call, const BoundKernel& kernel, const CallKey& key, const KernelOutputs& outputs,
              const HostValues& host_values, bool debug) {
  CudaBackend& backend = cuda_backend();
  const c10::DeviceIndex device = key.device.index();
  at::Tensor status;
  if (kernel.status_offset != BoundKernel::kNone) status = backend.make_status(device);
  PackedArguments packed(kernel, key, outputs, host_values, status.defined() ? status.mutable_data_ptr() : nullptr);
  backend.launch({kernel.kernel->cuda,
                  {static_cast<uint32_t>(kernel.units)},
                  {kernel.kernel->info.block_threads},
                  kernel.shared_bytes,
                  packed.arguments(),
                  device});
  if (!debug) return;
  if (const int32_t value = backend.synchronize(device, status); value != 0) throw_status(call, kernel, value);
}

}  // namespace

void run(const BoundCall& call, const CallKey& key, Results& results, bool debug, AtomicCounters& counters) {
  HostValues host_values(call.numbers.count());
  compute_numbers(call, key, host_values);
  for (const BoundCall::Result& result : call.results) results.push_back(allocate_result(result, key, counters));
  const KernelOutputs outputs{results, allocate_workspace(call, key.device, counters)};
  VersionBumps versions(call, key);
  for (const BoundKernel& kernel : call.kernels) {
    if (key.device.is_cuda())
      run_cuda(call, kernel, key, outputs, host_values, debug);
    else
      run_cpu(call, kernel, key, outputs, host_values);
    AtomicCounters::add(counters.launches);
  }
  if (call.has_scatter_sums) add_scatter_sums(call, results);
  versions.begin_copies();
  for (size_t r = 0; r < call.results.size(); ++r) {
    const Destination& destination = call.results[r].destination;
    if (destination.needs_copy) copy_values(*destination.tensor(key), results[r]);
  }
}

}  // namespace ingot::runtime
