#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/api/op_state.h"
#include "runtime/api/stages.h"
#include "runtime/cache/fork_guard.h"
#include "runtime/call/dtypes.h"
#include "runtime/call/without_storage.h"

// Derives the gradient's call from the op's call, before there are gradients with respect to the results. `emit` and
// `explain` show the stages of the derived call. Its program also tells which tensors the gradient reads.

namespace ingot {

namespace {

using runtime::CallKey;

bool some_require_grad(const CallKey& key) {
  return std::ranges::any_of(key.arguments, [](const runtime::BoundArgument& argument) {
    return argument.tensor != nullptr && argument.tensor->requires_grad();
  });
}

/// Selects the arguments that require grad; if none does, all floats. Excludes arguments with respect to which no
/// result has a gradient.
std::vector<bool> wanted_gradients(const runtime::Program& program, const CallKey& key) {
  const uint64_t differentiable = runtime::differentiable_params(program);
  const bool any_requires_grad = some_require_grad(key);
  std::vector<bool> wanted;
  for (size_t i = 0; i < key.arguments.size(); ++i) {
    const at::Tensor* tensor = key.arguments[i].tensor;
    wanted.push_back(tensor != nullptr && at::isFloatingType(tensor->scalar_type()) &&
                     (differentiable & ir::gradient_bit(i)) != 0 && (!any_requires_grad || tensor->requires_grad()));
  }
  return wanted;
}

uint64_t bits_of(const std::vector<bool>& wanted) {
  uint64_t bits = 0;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) bits |= ir::gradient_bit(i);
  return bits;
}

Argument argument_of(const runtime::BoundArgument& argument) {
  using Kind = frontend::ArgumentSpec::Kind;
  if (argument.tensor != nullptr) return *argument.tensor;
  if (argument.kind == Kind::None) return None;
  return argument.kind == Kind::Number ? Argument(argument.number) : Argument();
}

/// The tensors' own device: a call may be shown for another device.
c10::Device device_of(const CallKey& key) {
  for (const runtime::BoundArgument& argument : key.arguments)
    if (argument.kind == frontend::ArgumentSpec::Kind::Tensor) return argument.tensor->device();
  return key.device;
}

}  // namespace

GradientCall OpState::make_gradient_call(const runtime::Program& program, const runtime::Resolved& resolved,
                                         const CallKey& key, const std::vector<bool>& wanted,
                                         const frontend::Residuals& residuals) const {
  GradientCall call;
  for (size_t i = 0; i < key.arguments.size(); ++i) {
    call.arguments.push_back(argument_of(key.arguments[i]));
    if (wanted[i]) call.names.push_back(definition_->parameters()[i].name);
  }
  const uint64_t requested = bits_of(wanted);
  const c10::Device device = device_of(key);
  call.placeholders.reserve(program.results.size());
  for (size_t r = 0; r < program.results.size(); ++r) {
    const runtime::Program::Result& result = program.results[r];
    if (result.mutates || result.use == ir::Use::Summed) continue;
    const ir::SizesAndStrides& extents = resolved.results[r];
    call.placeholders.push_back(
        runtime::make_without_storage(extents.sizes, extents.strides, runtime::scalar_type(result.dtype), device));
    const bool is_passed = (result.gradients & requested) != 0 || result.is_residual();
    call.arguments.push_back(is_passed ? Argument(std::as_const(call.placeholders.back())) : Argument());
    if (!result.is_residual()) ++call.returned_count;
  }
  call.op = backward(wanted, call.returned_count, key.autocast, /*returns_arguments=*/true, residuals);
  return call;
}

GradientCall OpState::make_gradient_call(const runtime::Program& forward, const CallKey& key) const {
  const std::vector<bool> wanted = wanted_gradients(forward, key);
  const uint64_t requested = bits_of(wanted);
  if (requested == 0)
    throw_author(Span{},
                 fmt::format("{}: no result has a gradient with respect to these arguments", definition_->name()),
                 some_require_grad(key) ? "no result depends on an argument that requires grad"
                                        : "only floating-point tensors have gradients");
  const std::shared_ptr<const runtime::Program> program = choose_program(key, requested).program;
  const runtime::Resolved resolved = runtime::resolve(*program, key, codegen_options(key.device.is_cuda()));
  return make_gradient_call(*program, resolved, key, wanted, runtime::residuals_of(*program, requested));
}

CallKey OpState::key_of(const GradientCall& call, const CallKey& key) const {
  CallKey gradient_key;
  runtime::make_call_key(*definition_, call.arguments, {}, {}, runtime::Purpose::Show, gradient_key);
  gradient_key.device = key.device, gradient_key.default_device = key.default_device;
  gradient_key.autocast.reset();
  return gradient_key;
}

runtime::GradientNeeds OpState::gradient_needs(const runtime::BoundCall& call, const runtime::Resolved& resolved,
                                               const CallKey& key) const {
  runtime::GradientNeeds needs;
  needs.placeholders.resize(key.arguments.size());
  const bool has_custom_backward = definition_->derivative() != nullptr;
  if (has_custom_backward && options_.debug) return needs;  // the gradient's check calls the op again
  for (size_t i = 0; i < key.arguments.size(); ++i) {
    if (key.arguments[i].kind != frontend::ArgumentSpec::Kind::Tensor) continue;
    const at::Tensor& tensor = *key.arguments[i].tensor;
    needs.placeholders[i] =
        runtime::make_without_storage(tensor.sizes(), tensor.strides(), tensor.scalar_type(), tensor.device());
  }
  uint64_t read_by_returned = 0, read_by_residuals = 0;
  for (const runtime::Program::Result& result : call.program->results)
    if (!result.mutates) (result.is_residual() ? read_by_residuals : read_by_returned) |= result.reads;
  // Gradients also flow to tensors that nothing reads, because the op replaces their values.
  read_by_returned |= runtime::differentiable_params(*call.program);
  // A custom backward may read arguments that the op does not read.
  needs.reads = has_custom_backward ? ~uint64_t{0} : read_by_returned | read_by_residuals;
  if (key.arguments.size() > runtime::GradientNeeds::kParams) return needs;
  const std::vector<bool> wanted = wanted_gradients(*call.program, key);
  if (bits_of(wanted) == 0) return needs;
  try {
    const GradientCall gradient = make_gradient_call(*call.program, resolved, key, wanted,
                                                     call.residuals ? *call.residuals : frontend::Residuals{});
    const CallKey gradient_key = gradient.op->key_of(gradient, key);
    const std::shared_ptr<const runtime::Program> program = gradient.op->choose_program(gradient_key, 0).program;
    // For double backward, the gradient recomputes its residuals, and gradients flow to their inputs as well.
    needs.reads = runtime::read_params(*program) | runtime::differentiable_params(*program) | read_by_residuals;
  } catch (const Error&) {
    // The backward pass reports the error, or falls back to eager, which reads no more than the results do.
  }
  return needs;
}

uint64_t OpState::params_read(std::span<const Argument> arguments) const {
  const runtime::ForkGuard guard;
  CallKey key;
  runtime::make_call_key(*definition_, arguments, {}, {}, runtime::Purpose::Show, key);
  const std::shared_ptr<const runtime::Program> program = choose_program(key, 0).program;
  return runtime::read_params(*program) | (at::GradMode::is_enabled() ? runtime::differentiable_params(*program) : 0);
}

}  // namespace ingot
