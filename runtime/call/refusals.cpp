#include "runtime/call/refusals.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/core/grad_mode.h>
#include <ATen/functorch/DynamicLayer.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>

#include "base/error.h"
#include "base/text.h"
#include "runtime/call/call_key.h"
#include "runtime/call/dtypes.h"

namespace ingot::runtime {

namespace {

std::string_view annotation_name(frontend::Parameter::Annotation annotation) {
  using Annotation = frontend::Parameter::Annotation;
  switch (annotation) {
    case Annotation::Float:
      return "float";
    case Annotation::Int:
      return "int";
    case Annotation::Bool:
      return "bool";
    case Annotation::Tensor:
      return "Tensor";
    case Annotation::None:
      return "";
  }
  return "";
}

[[noreturn]] void refuse(const frontend::Definition& definition, std::string message, std::string hint) {
  throw_author(Span{}, fmt::format("{}: {}", definition.name(), message), std::move(hint));
}

[[noreturn]] void throw_as_unsupported(const frontend::Definition& definition, std::string message, std::string hint) {
  throw_unsupported(fmt::format("{}: {}", definition.name(), message), std::move(hint));
}

std::string print(ir::HostValue number) {
  switch (number.kind) {
    case ir::HostKind::Bool:
      return number.integer ? "True" : "False";
    case ir::HostKind::Int:
      return std::to_string(number.integer);
    case ir::HostKind::Float:
      return round_trip(number.real);
  }
  return {};
}

std::atomic<DeviceOfMode> device_of_mode = nullptr;

/// Whether all active torch-function modes only choose a device. If so, `device` becomes the innermost mode's.
bool modes_only_choose_device(std::optional<c10::Device>& device) {
  const DeviceOfMode device_of = device_of_mode.load();
  if (device_of == nullptr) return false;
  for (int64_t i = 0; i < at::impl::PythonTorchFunctionTLS::stack_len(); ++i) {
    device = device_of(*at::impl::PythonTorchFunctionTLS::get_stack_at(i));
    if (!device) return false;
  }
  return true;
}

constexpr const char* kReference = "f.reference runs the same source in eager PyTorch";

}  // namespace

void throw_unsupported(std::string message, std::string hint) {
  const Diagnostic diagnostic{std::move(message), Span{}, std::move(hint), {}};
  throw Unsupported(Fault::Author, diagnostic.message, diagnostic.render());
}

std::string describe(const frontend::Definition& definition) {
  std::string text = definition.name() + "(";
  for (const frontend::Parameter& parameter : definition.parameters()) {
    if (text.back() != '(') text += ", ";
    text += parameter.name;
    if (parameter.annotation != frontend::Parameter::Annotation::None)
      text += fmt::format(": {}", annotation_name(parameter.annotation));
    if (parameter.has_default) text += " = …";
  }
  return text + ")";
}

void set_device_of_mode(DeviceOfMode function) { device_of_mode.store(function); }

bool thread_is_supported(std::optional<c10::Device>& default_device) {
  const c10::DispatchKeySet included = c10::impl::tls_local_dispatch_key_set().included_;
  if (included.has_any(kModeKeys)) return false;
  return !at::impl::torch_function_mode_enabled() || modes_only_choose_device(default_device);
}

bool is_transformed() { return at::functorch::maybeCurrentDynamicLayer().has_value(); }

bool autocast_is_on(c10::Device device) {
  const c10::DispatchKey key = device.is_cuda() ? c10::DispatchKey::AutocastCUDA : c10::DispatchKey::AutocastCPU;
  return !c10::impl::tls_local_dispatch_key_set().excluded_.has(key);
}

bool has_supported_keys(const at::Tensor& tensor) {
  return (tensor.unsafeGetTensorImpl()->key_set().raw_repr() & ~kSupportedKeys.raw_repr()) == 0;
}

bool is_supported(const at::Tensor& tensor, bool grad_mode) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (!has_supported_keys(tensor)) return false;
  if (impl->autograd_meta() == nullptr) return true;
  return !(grad_mode && impl->requires_grad()) && !tensor._fw_grad(0).defined();
}

void refuse_thread(const frontend::Definition& definition) {
  using c10::DispatchKey;
  const c10::DispatchKeySet included = c10::impl::tls_local_dispatch_key_set().included_;
  if (included.has(DispatchKey::Tracer))
    throw_as_unsupported(definition, "the call is being traced by torch.jit.trace, which cannot see inside an op",
                         fmt::format("trace {}: {}", "the reference instead", kReference));
  if (included.has_any(
          c10::DispatchKeySet({DispatchKey::FuncTorchDynamicLayerFrontMode, DispatchKey::FuncTorchDynamicLayerBackMode,
                               DispatchKey::VmapMode, DispatchKey::FuncTorchVmapMode})))
    throw_as_unsupported(
        definition, "a transform of torch.func (vmap, grad, jvp, …) is active, and ops do not have rules for these yet",
        fmt::format("call the reference inside the transform: {}", kReference));
  if (included.has(DispatchKey::Functionalize))
    throw_as_unsupported(definition, "functionalization is active, and ops do not have rules for it yet",
                         fmt::format("call the reference inside it: {}", kReference));
  if (at::impl::torch_function_mode_enabled())
    throw_as_unsupported(definition,
                         "a torch-function mode is active, and it cannot intercept the functions inside an op",
                         fmt::format("leave the mode for the call; {}", kReference));
  throw_as_unsupported(definition,
                       "a mode that intercepts PyTorch's ops is active (a fake-tensor, proxy or torch-dispatch mode)",
                       fmt::format("leave the mode for the call; {}", kReference));
}

void refuse_tensor(const frontend::Definition& definition, const std::string& name, const at::Tensor& tensor) {
  using c10::DispatchKey;
  if (!tensor.defined()) refuse(definition, fmt::format("{} is an undefined tensor", name), "pass a defined tensor");
  const c10::DispatchKeySet keys = tensor.key_set();
  const auto has_any = [&](std::initializer_list<DispatchKey> candidates) {
    return keys.has_any(c10::DispatchKeySet(candidates));
  };
  if (tensor.is_complex() || tensor.is_quantized() || !dtype_of(tensor.scalar_type()))
    throw_as_unsupported(
        definition,
        fmt::format("{} has dtype {}, which Ingot does not support", name, c10::toString(tensor.scalar_type())),
        tensor.is_complex() ? "compute with the parts: torch.view_as_real(z)"
                            : "the dtypes are bool, the integers of 8 to 64 bits and the floats of 8 to 64 bits");
  if (has_any({DispatchKey::Conjugate, DispatchKey::Negative, DispatchKey::ZeroTensor}))
    throw_as_unsupported(definition,
                         fmt::format("{} is a {} view, whose memory does not hold its values", name,
                                     keys.has(DispatchKey::Negative)    ? "negative"
                                     : keys.has(DispatchKey::Conjugate) ? "conjugate"
                                                                        : "zero"),
                         "pass the result of .resolve_neg(), .resolve_conj() or .clone()");
  if (has_any({DispatchKey::FuncTorchBatched, DispatchKey::Batched, DispatchKey::BatchedNestedTensor}))
    throw_as_unsupported(definition, fmt::format("{} is batched by vmap, and ops do not have a rule for it yet", name),
                         fmt::format("call the reference inside vmap: {}", kReference));
  if (keys.has(DispatchKey::FuncTorchGradWrapper))
    throw_as_unsupported(
        definition,
        fmt::format("{} is being differentiated by torch.func, and ops do not have a rule for that yet", name),
        fmt::format("call the reference there: {}", kReference));
  if (keys.has(DispatchKey::Functionalize))
    throw_as_unsupported(definition, fmt::format("{} is a functional tensor", name),
                         fmt::format("call the reference: {}", kReference));
  if (has_any({DispatchKey::Python, DispatchKey::Fake}))
    throw_as_unsupported(definition, fmt::format("{} is a tensor subclass (a fake tensor, for example)", name),
                         fmt::format("pass a plain torch.Tensor; {}", kReference));
  if (keys.has(DispatchKey::Named))
    throw_as_unsupported(definition, fmt::format("{} has named dims", name), "pass the result of .rename(None)");
  if (tensor.is_nested())
    throw_as_unsupported(definition, fmt::format("{} is a nested tensor", name), "pad it to a plain one");
  if (tensor.layout() != c10::Layout::Strided)
    throw_as_unsupported(definition, fmt::format("{} has a layout other than torch.strided", name),
                         "pass the result of .to_dense()");
  if (!tensor.is_cpu() && !tensor.is_cuda())
    throw_as_unsupported(definition,
                         fmt::format("{} is on {}, and ops run on cpu and cuda", name, tensor.device().str()),
                         fmt::format("move it with .to(\"cuda\"); {}", kReference));
  if (tensor.requires_grad() && c10::GradMode::is_enabled())
    refuse(definition, fmt::format("{} requires grad, and a value written into it has no gradient", name),
           "call without out=, or under torch.no_grad()");
  if (tensor._fw_grad(0).defined())
    throw_as_unsupported(
        definition,
        fmt::format("{} carries a forward-mode tangent, and ops do not have forward-mode derivatives yet", name),
        fmt::format("pass {}.detach(); for a tangent, {}", name, kReference));
  if (tensor.dim() > 64)
    throw_as_unsupported(definition, fmt::format("{} has more than 64 dims", name), "reshape it to fewer");
  throw_as_unsupported(
      definition, fmt::format("{} is a kind of tensor that a plain kernel cannot read ({})", name, c10::toString(keys)),
      fmt::format("pass a plain torch.Tensor; {}", kReference));
}

void refuse_devices(const frontend::Definition& definition, const std::string& first_name, const at::Tensor& first,
                    const std::string& second_name, const at::Tensor& second) {
  refuse(definition,
         fmt::format("expected all tensors to be on the same device, but {} is on {} and {} is on {}", first_name,
                     first.device().str(), second_name, second.device().str()),
         "move one of them with .to(…); among CUDA tensors, only a 0-dim CPU tensor is allowed");
}

void refuse_undeclared_write(const frontend::Definition& definition) {
  refuse(definition, "it writes into an argument that its registered schema does not mark",
         "mark the written argument: Tensor(a!) x");
}

void refuse_random_numbers(const frontend::Definition& definition) {
  refuse(definition,
         "it samples random numbers, and its schema has no seed, so its gradient could not sample them again",
         "add one argument after the op's own to the schema: Tensor seed");
}

void refuse_seed(const frontend::Definition& definition, const at::Tensor& seed, c10::Device device) {
  refuse(definition, fmt::format("the seed is on {}, and the op runs on {}", seed.device().str(), device.str()),
         "create it there: torch.randint(2**63 - 1, (), device=x.device)");
}

void refuse_count(const frontend::Definition& definition, size_t argument_count) {
  const size_t count = definition.parameters().size();
  throw_author(Span{}, fmt::format("{} takes {} argument{}, {} {} given", describe(definition), count,
                                   count == 1 ? "" : "s", argument_count, argument_count == 1 ? "was" : "were"));
}

void refuse_keyword(const frontend::Definition& definition, std::string_view keyword) {
  std::vector<std::string_view> names;
  for (const frontend::Parameter& parameter : definition.parameters()) names.push_back(parameter.name);
  std::string hint = did_you_mean(keyword, names);
  if (hint.empty())
    hint = names.empty() ? "it takes no arguments" : fmt::format("its parameters are {}", fmt::join(names, ", "));
  refuse(definition, fmt::format("there is no parameter `{}`", keyword), std::move(hint));
}

void refuse_missing(const frontend::Definition& definition, const frontend::Parameter& parameter) {
  throw_author(parameter.span, fmt::format("{} is missing its argument `{}`", describe(definition), parameter.name),
               "pass a value, or give the parameter a default");
}

void refuse_tensor_for_number(const frontend::Definition& definition, const frontend::Parameter& parameter,
                              const at::Tensor& tensor) {
  const std::string_view kind = annotation_name(parameter.annotation);
  const bool is_zero_dim = tensor.defined() && tensor.dim() == 0;
  throw_author(parameter.span,
               fmt::format("{}: `{}` is annotated {}, so it takes a number, not a tensor", definition.name(),
                           parameter.name, kind),
               is_zero_dim ? fmt::format("pass {}.item(), or drop the annotation: the parameter then takes tensors too",
                                         parameter.name)
                           : "drop the annotation: the parameter then takes tensors too");
}

void refuse_number(const frontend::Definition& definition, const frontend::Parameter& parameter, ir::HostValue number) {
  const std::string_view kind = annotation_name(parameter.annotation);
  throw_author(parameter.span,
               fmt::format("{}: `{}` is annotated {}, and {} is not one", definition.name(), parameter.name, kind,
                           print(number)),
               parameter.annotation == frontend::Parameter::Annotation::Tensor ? "pass a tensor, or drop the annotation"
                                                                               : fmt::format("pass {}(…) of it", kind));
}

}  // namespace ingot::runtime
