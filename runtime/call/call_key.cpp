#include "runtime/call/call_key.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include "base/error.h"
#include "runtime/call/aliasing.h"
#include "runtime/call/dtypes.h"
#include "runtime/call/refusals.h"
#include "runtime/call/without_storage.h"

namespace ingot::runtime {

namespace {

using Kind = frontend::ArgumentSpec::Kind;
using Annotation = frontend::Parameter::Annotation;

std::string quoted(const std::string& name) { return "`" + name + "`"; }

/// Converts the number to the annotated type; rejects a conversion that loses information.
ir::HostValue coerce(const frontend::Definition& definition, const frontend::Parameter& parameter,
                     ir::HostValue number) {
  switch (parameter.annotation) {
    case Annotation::None:
      return number;
    case Annotation::Float:
      return ir::HostValue::of(number.as_double());
    case Annotation::Int:
      if (number.kind != ir::HostKind::Float) return ir::HostValue::of(number.as_int());
      break;
    case Annotation::Bool:
      if (number.kind == ir::HostKind::Bool) return number;
      if (number.kind == ir::HostKind::Int && (number.integer == 0 || number.integer == 1))
        return ir::HostValue::of(number.integer == 1);
      break;
    case Annotation::Tensor:
      break;
  }
  refuse_number(definition, parameter, number);
}

bool takes_tensors(const frontend::Parameter& parameter) {
  return parameter.annotation == Annotation::None || parameter.annotation == Annotation::Tensor;
}

/// Whether a kernel may access the tensor's memory without PyTorch's dispatcher; for Purpose::Show, whether lowering
/// supports the tensor.
bool is_accepted(const at::Tensor& tensor, bool grad_mode, Purpose purpose) {
  if (!tensor.defined()) return false;
  const bool is_usable = purpose == Purpose::Call              ? is_supported(tensor, grad_mode)
                         : purpose == Purpose::BelowDispatcher ? has_supported_keys(tensor)
                                                               : tensor.layout() == c10::Layout::Strided &&
                                                                     !tensor.key_set().has(c10::DispatchKey::Python);
  return is_usable && dtype_of(tensor.scalar_type()) && tensor.dim() <= 64;
}

/// Appends one word for all properties except sizes and strides, then the sizes and strides. The low bits of the
/// address give its alignment. A separate bit marks a tensor without storage, so that calls with such tensors are bound
/// separately: binding checks that no kernel reads the tensor.
void append_tensor(c10::SmallVectorImpl<uint64_t>& words, const at::Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const bool has_data = impl->device_type() != c10::DeviceType::Meta;
  const void* data = has_data ? tensor.const_data_ptr() : nullptr;
  const uint64_t low_bits = reinterpret_cast<uintptr_t>(data) & 15,
                 lacks_storage_bit = has_data && lacks_storage(data, *impl);
  const c10::IntArrayRef sizes = impl->sizes(), strides = impl->strides();
  words.push_back(uint64_t{1} | lacks_storage_bit << 3 | low_bits << 4 | uint64_t(tensor.scalar_type()) << 8 |
                  uint64_t(sizes.size()) << 16);
  for (const int64_t size : sizes) words.push_back(static_cast<uint64_t>(size));
  for (const int64_t stride : strides) words.push_back(static_cast<uint64_t>(stride));
}

void append_number(c10::SmallVectorImpl<uint64_t>& words, const BoundArgument& argument, bool with_value) {
  const uint64_t type = argument.kind == Kind::CpuScalar ? uint64_t(argument.tensor->scalar_type()) : 0;
  words.push_back(uint64_t{2} | uint64_t(argument.kind) << 4 | type << 8 | uint64_t(argument.number.kind) << 16);
  if (with_value) words.push_back(static_cast<uint64_t>(argument.number.integer));
}

/// Fills `arguments` of the key and finds the device: that of the first CUDA tensor, else the CPU.
void bind(const frontend::Definition& definition, std::span<const Argument> arguments, Purpose purpose, CallKey& key) {
  const std::span<const frontend::Parameter> parameters = definition.parameters();
  if (arguments.size() > parameters.size()) refuse_count(definition, arguments.size());
  const bool grad_mode = c10::GradMode::is_enabled();
  key.arguments.resize(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const frontend::Parameter& parameter = parameters[i];
    BoundArgument& argument = key.arguments[i];
    const Argument::Kind kind = i < arguments.size() ? arguments[i].kind() : Argument::Kind::Absent;
    if (kind == Argument::Kind::Tensor) {
      const at::Tensor& tensor = *arguments[i].tensor();
      if (!takes_tensors(parameter)) refuse_tensor_for_number(definition, parameter, tensor);
      if (!is_accepted(tensor, grad_mode, purpose)) {
        if (!grad_mode || !is_accepted(tensor, false, purpose))
          refuse_tensor(definition, quoted(parameter.name), tensor);
        key.is_recorded = true;  // without grad mode, the tensor is supported
      }
      argument.kind = Kind::Tensor;
      argument.tensor = &tensor;
      if (tensor.is_cuda() && key.device.is_cpu()) key.device = tensor.device();
    } else if (kind == Argument::Kind::Number) {
      argument.kind = Kind::Number;
      argument.number = coerce(definition, parameter, arguments[i].number());
    } else if (kind == Argument::Kind::PythonNone) {
      argument.kind = Kind::None;
    } else if (parameter.has_default) {
      argument.kind = Kind::Absent;
    } else {
      if (i >= arguments.size()) refuse_count(definition, arguments.size());
      refuse_missing(definition, parameter);
    }
  }
}

/// Checks the devices. Beside CUDA tensors a 0-dim CPU tensor is a number; any other tensor must be on their device.
void resolve_devices(const frontend::Definition& definition, CallKey& key) {
  const std::span<const frontend::Parameter> parameters = definition.parameters();
  const at::Tensor* first = nullptr;
  size_t first_index = 0;
  for (size_t i = 0; i < key.arguments.size(); ++i) {
    BoundArgument& argument = key.arguments[i];
    if (argument.kind != Kind::Tensor) continue;
    if (key.device.is_cuda() && argument.tensor->is_cpu() && argument.tensor->dim() == 0) {
      argument.kind = Kind::CpuScalar;
      argument.number = value_of(*argument.tensor);
      continue;
    }
    if (first != nullptr && first->device() != argument.tensor->device())
      refuse_devices(definition, quoted(parameters[first_index].name), *first, quoted(parameters[i].name),
                     *argument.tensor);
    if (first == nullptr) first = argument.tensor, first_index = i;
  }
}

/// Rejects calls that autograd cannot record.
void check_recorded(const CallKey& key) {
  if (!key.outs.empty())
    throw_author(Span{},
                 key.definition->name() +
                     ": functions with out=... arguments don't support automatic "
                     "differentiation, but one of the arguments requires grad.",
                 "call it without out=, or under torch.no_grad()");
  for (size_t i = 0; i < key.arguments.size(); ++i)
    if (key.arguments[i].kind == Kind::CpuScalar && key.arguments[i].tensor->requires_grad())
      throw_unsupported(fmt::format("{}: {} is a 0-dim CPU tensor among CUDA tensors, and requires grad",
                                    key.definition->name(), parameter_name(key, i)),
                        "move it to their device: .to(\"cuda\")");
}

/// The tensors that require grad, as bits; bit 63 combines the parameters from 63 on.
uint64_t requested_gradients(const CallKey& key) {
  uint64_t requested = 0;
  for (size_t i = 0; i < key.arguments.size(); ++i)
    if (const at::Tensor* tensor = key.arguments[i].tensor; tensor != nullptr && tensor->requires_grad())
      requested |= ir::gradient_bit(i);
  return requested;
}

/// Rejects an inference tensor that is about to be written outside inference mode. Tensors that require grad are
/// rejected by `check_out`, and by `check_recorded_writes` (runtime/autograd/record.h).
void check_writable(const CallKey& key, const std::string& name, const at::Tensor& tensor) {
  if (tensor.is_inference() && !c10::InferenceMode::is_enabled())
    throw_author(Span{},
                 fmt::format("{}: {} is an inference tensor, which may only be written in inference mode",
                             key.definition->name(), name),
                 "call under torch.inference_mode(), or pass an ordinary tensor");
}

void check_out(const CallKey& key, size_t index, bool grad_mode) {
  const frontend::Definition& definition = *key.definition;
  const at::Tensor& out = key.outs[index];
  const std::string name = out_name(key.outs, index);
  if (!is_accepted(out, grad_mode, Purpose::Call)) refuse_tensor(definition, name, out);
  if (out.device() != key.device)
    throw_author(Span{},
                 fmt::format("{}: {} is on {}, the result is on {}", definition.name(), name, out.device().str(),
                             key.device.str()),
                 "pass an out on the tensors' device");
  check_writable(key, name, out);
}

/// Appends the overlap of the written tensor with every argument and with the first `outs_before` outs: two bits each.
void append_overlaps(const at::Tensor& written, size_t outs_before, CallKey& key) {
  constexpr size_t kPerWord = 32;
  size_t count = 0;
  const auto append = [&](const at::Tensor* other) {
    if (count % kPerWord == 0) key.words.push_back(0);
    const auto overlap = other == nullptr ? Overlap::None : overlap_of(written, *other);
    key.words.back() |= uint64_t(overlap) << 2 * (count++ % kPerWord);
  };
  for (const BoundArgument& argument : key.arguments) append(argument.kind == Kind::Tensor ? argument.tensor : nullptr);
  for (size_t i = 0; i < outs_before; ++i) append(&key.outs[i]);
}

frontend::FactoryDevice factory_device_of(const CallKey& key) {
  using frontend::FactoryDevice;
  if (!key.default_device) return FactoryDevice::Unset;
  const c10::Device& default_device = *key.default_device;
  if (default_device.is_cpu()) return key.device.is_cpu() ? FactoryDevice::Unset : FactoryDevice::Cpu;
  const bool is_same =
      default_device.type() == key.device.type() && (!default_device.has_index() || default_device == key.device);
  return is_same ? FactoryDevice::Same : FactoryDevice::Elsewhere;
}

/// Appends the key's words for tensors that the call writes.
void append_written(const KeyedParams& keyed, CallKey& key) {
  for (size_t i = 0; i < key.outs.size(); ++i) {
    check_out(key, i, c10::GradMode::is_enabled());
    append_tensor(key.words, key.outs[i]);
    append_overlaps(key.outs[i], i, key);
  }
  for (size_t p = 0; p < std::min<size_t>(key.arguments.size(), 64); ++p) {
    if (!(keyed.written >> p & 1) || key.arguments[p].kind != Kind::Tensor) continue;
    check_writable(key, parameter_name(key, p), *key.arguments[p].tensor);
    append_overlaps(*key.arguments[p].tensor, key.outs.size(), key);
  }
}

}  // namespace

std::string parameter_name(const CallKey& key, size_t index) {
  return quoted(key.definition->parameters()[index].name);
}

std::string out_name(std::span<const at::Tensor> outs, size_t index) {
  return outs.size() == 1 ? "`out`" : fmt::format("`out[{}]`", index);
}

ir::HostValue value_of(const at::Tensor& tensor) {
  const void* data = tensor.const_data_ptr();
  const auto integer = [&]<typename T>(T) {
    return ir::HostValue::of(static_cast<int64_t>(*static_cast<const T*>(data)));
  };
  const auto real = [&]<typename T>(T) { return ir::HostValue::of(static_cast<double>(*static_cast<const T*>(data))); };
  switch (tensor.scalar_type()) {
    case c10::ScalarType::Bool:
      return ir::HostValue::of(*static_cast<const bool*>(data));
    case c10::ScalarType::Byte:
      return integer(uint8_t{});
    case c10::ScalarType::Char:
      return integer(int8_t{});
    case c10::ScalarType::Short:
      return integer(int16_t{});
    case c10::ScalarType::Int:
      return integer(int32_t{});
    case c10::ScalarType::Long:
      return integer(int64_t{});
    case c10::ScalarType::UInt16:
      return integer(uint16_t{});
    case c10::ScalarType::UInt32:
      return integer(uint32_t{});
    case c10::ScalarType::UInt64:
      return integer(uint64_t{});
    case c10::ScalarType::Float8_e4m3fn:
      return real(c10::Float8_e4m3fn{});
    case c10::ScalarType::Float8_e5m2:
      return real(c10::Float8_e5m2{});
    case c10::ScalarType::Float8_e4m3fnuz:
      return real(c10::Float8_e4m3fnuz{});
    case c10::ScalarType::Float8_e5m2fnuz:
      return real(c10::Float8_e5m2fnuz{});
    case c10::ScalarType::Half:
      return real(c10::Half{});
    case c10::ScalarType::BFloat16:
      return real(c10::BFloat16{});
    case c10::ScalarType::Float:
      return real(float{});
    case c10::ScalarType::Double:
      return real(double{});
    default:
      throw_internal("the value of a tensor of an unsupported dtype");
  }
}

void make_call_key(const frontend::Definition& definition, std::span<const Argument> arguments,
                   std::span<const at::Tensor> outs, const KeyedParams& keyed, Purpose purpose, CallKey& key) {
  if (purpose == Purpose::Call && !key.is_thread_checked && !thread_is_supported(key.default_device))
    refuse_thread(definition);
  key.is_thread_checked = true;
  key.definition = &definition;
  key.outs = outs;
  bind(definition, arguments, purpose, key);
  resolve_devices(definition, key);
  if (key.is_recorded) {
    check_recorded(key);
    key.gradients = requested_gradients(key);
  }
  key.autocast = autocast_of(definition, key.device);

  key.words.push_back(uint64_t(key.device.type()) | uint64_t(uint8_t(key.device.index())) << 8 |
                      uint64_t(c10::get_default_dtype_as_scalartype()) << 16 | uint64_t(outs.size()) << 24 |
                      (key.autocast ? uint64_t(*key.autocast) + 1 : 0) << 48 | uint64_t(factory_device_of(key)) << 56);
  key.words.push_back(keyed.values);
  key.words.push_back(keyed.written);
  key.words.push_back(key.gradients);
  for (size_t i = 0; i < key.arguments.size(); ++i) {
    const BoundArgument& argument = key.arguments[i];
    if (argument.kind == Kind::Tensor)
      append_tensor(key.words, *argument.tensor);
    else
      append_number(key.words, argument, i >= 64 || (keyed.values >> i & 1) != 0);
  }
  if (!outs.empty() || keyed.written != 0) append_written(keyed, key);
}

frontend::Signature signature_of(const CallKey& key, frontend::Numerics numerics) {
  frontend::Signature signature;
  signature.device = key.device.is_cuda() ? frontend::Device::Cuda : frontend::Device::Cpu;
  signature.device_index = key.device.is_cuda() ? static_cast<uint8_t>(key.device.index()) : 0;
  signature.numerics = numerics;
  signature.factories = factory_device_of(key);
  signature.autocast = key.autocast;
  signature.default_dtype = dtype_of(c10::get_default_dtype_as_scalartype()).value_or(ir::DType::F32);
  for (const BoundArgument& argument : key.arguments) {
    frontend::ArgumentSpec& spec = signature.arguments.emplace_back();
    spec.kind = argument.kind;
    if (argument.kind == Kind::Number) spec.number = argument.number.kind;
    if (argument.tensor == nullptr) continue;
    spec.dtype = *dtype_of(argument.tensor->scalar_type());
    if (argument.kind != Kind::Tensor) continue;
    const c10::IntArrayRef sizes = argument.tensor->sizes();
    spec.rank = static_cast<uint8_t>(sizes.size());
    for (size_t d = 0; d < sizes.size(); ++d) spec.ones |= uint64_t(sizes[d] == 1) << d;
  }
  return signature;
}

std::optional<ir::DType> autocast_of(const frontend::Definition& definition, c10::Device device) {
  if (!autocast_is_on(device)) return std::nullopt;
  const c10::ScalarType type = at::autocast::get_autocast_dtype(device.type());
  if (const std::optional<ir::DType> dtype = dtype_of(type)) return dtype;
  throw_unsupported(fmt::format("{}: torch.autocast is on for {}, which Ingot does not support", definition.name(),
                                c10::toString(type)),
                    "disable autocast for the call");
}

frontend::SymbolValues symbol_values_of(const CallKey& key) {
  return {{[&key](uint32_t param, uint32_t dim) { return key.arguments[param].tensor->size(dim); },
           [&key](uint32_t param) { return key.arguments[param].number; }},
          [&key](uint32_t param) { return key.arguments[param].tensor->strides().vec(); }};
}

}  // namespace ingot::runtime
