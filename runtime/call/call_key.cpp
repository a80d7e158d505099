#include "runtime/call/call_key.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include "base/error.h"
#include "runtime/call/aliasing.h"
#include "runtime/call/dataless.h"
#include "runtime/call/dtypes.h"
#include "runtime/call/refusals.h"

namespace ingot::runtime {

namespace {

using Kind = frontend::ArgumentFact::Kind;
using Annotation = frontend::Parameter::Annotation;

std::string quoted(const std::string& name) { return "`" + name + "`"; }

/// The number as the annotation wants it; refuses what would lose a part of it.
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

/// Whether a raw kernel may read (or write) the tensor; for Purpose::Show, whether lowering knows what it is.
bool passes(const at::Tensor& tensor, bool grad_mode, Purpose purpose) {
  if (!tensor.defined()) return false;
  const bool plain = purpose == Purpose::Call ? is_plain(tensor, grad_mode)
                     : purpose == Purpose::Kernel
                         ? has_plain_keys(tensor)
                         : tensor.layout() == c10::Layout::Strided && !tensor.key_set().has(c10::DispatchKey::Python);
  return plain && dtype_of(tensor.scalar_type()) && tensor.dim() <= 64;
}

/// One word for what is not a size or a stride, then these. The low bits of the address are its alignment. A dataless
/// tensor has a bit of its own, so that binding, which checks that no kernel reads it, sees every such call.
void append_tensor(c10::SmallVectorImpl<uint64_t>& words, const at::Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const bool has_data = impl->device_type() != c10::DeviceType::Meta;
  const void* data = has_data ? tensor.const_data_ptr() : nullptr;
  const uint64_t low = reinterpret_cast<uintptr_t>(data) & 15, lacks_data = has_data && is_dataless(data, *impl);
  const c10::IntArrayRef sizes = impl->sizes(), strides = impl->strides();
  words.push_back(uint64_t{1} | lacks_data << 3 | low << 4 | uint64_t(tensor.scalar_type()) << 8 |
                  uint64_t(sizes.size()) << 16);
  for (const int64_t size : sizes) words.push_back(static_cast<uint64_t>(size));
  for (const int64_t stride : strides) words.push_back(static_cast<uint64_t>(stride));
}

void append_number(c10::SmallVectorImpl<uint64_t>& words, const Actual& actual, bool with_value) {
  const uint64_t type = actual.kind == Kind::CpuScalar ? uint64_t(actual.tensor->scalar_type()) : 0;
  words.push_back(uint64_t{2} | uint64_t(actual.kind) << 4 | type << 8 | uint64_t(actual.number.kind) << 16);
  if (with_value) words.push_back(static_cast<uint64_t>(actual.number.integer));
}

/// Fills `actuals` and finds the device: that of the first CUDA tensor, else the CPU.
void bind(const frontend::Definition& definition, std::span<const Argument> arguments, Purpose purpose, Facts& facts) {
  const std::span<const frontend::Parameter> parameters = definition.parameters();
  if (arguments.size() > parameters.size()) refuse_count(definition, arguments.size());
  const bool grad_mode = c10::GradMode::is_enabled();
  facts.actuals.resize(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const frontend::Parameter& parameter = parameters[i];
    Actual& actual = facts.actuals[i];
    const Argument::Kind kind = i < arguments.size() ? arguments[i].kind() : Argument::Kind::Absent;
    if (kind == Argument::Kind::Tensor) {
      const at::Tensor& tensor = *arguments[i].tensor();
      if (!takes_tensors(parameter)) refuse_tensor_for_number(definition, parameter, tensor);
      if (!passes(tensor, grad_mode, purpose)) {
        if (!grad_mode || !passes(tensor, false, purpose)) refuse_tensor(definition, quoted(parameter.name), tensor);
        facts.recorded = true;
      }
      actual.kind = Kind::Tensor;
      actual.tensor = &tensor;
      if (tensor.is_cuda() && facts.device.is_cpu()) facts.device = tensor.device();
    } else if (kind == Argument::Kind::Number) {
      actual.kind = Kind::Number;
      actual.number = coerce(definition, parameter, arguments[i].number());
    } else if (kind == Argument::Kind::PythonNone) {
      actual.kind = Kind::None;
    } else if (parameter.has_default) {
      actual.kind = Kind::Absent;
    } else {
      if (i >= arguments.size()) refuse_count(definition, arguments.size());
      refuse_missing(definition, parameter);
    }
  }
}

/// Beside CUDA tensors a 0-dim CPU tensor is a value; any other tensor must be on their device.
void settle_devices(const frontend::Definition& definition, Facts& facts) {
  const std::span<const frontend::Parameter> parameters = definition.parameters();
  const at::Tensor* first = nullptr;
  size_t first_index = 0;
  for (size_t i = 0; i < facts.actuals.size(); ++i) {
    Actual& actual = facts.actuals[i];
    if (actual.kind != Kind::Tensor) continue;
    if (facts.device.is_cuda() && actual.tensor->is_cpu() && actual.tensor->dim() == 0) {
      actual.kind = Kind::CpuScalar;
      actual.number = value_of(*actual.tensor);
      continue;
    }
    if (first != nullptr && first->device() != actual.tensor->device())
      refuse_devices(definition, quoted(parameters[first_index].name), *first, quoted(parameters[i].name),
                     *actual.tensor);
    if (first == nullptr) first = actual.tensor, first_index = i;
  }
}

/// What autograd can not be told of.
void check_recorded(const Facts& facts) {
  if (!facts.outs.empty())
    throw_author(Span{},
                 facts.definition->name() +
                     ": functions with out=... arguments don't support automatic "
                     "differentiation, but one of the arguments requires grad.",
                 "call it without out=, or under torch.no_grad()");
  for (size_t i = 0; i < facts.actuals.size(); ++i)
    if (facts.actuals[i].kind == Kind::CpuScalar && facts.actuals[i].tensor->requires_grad())
      throw_not_plain(fmt::format("{}: {} is a CPU tensor of one number beside CUDA tensors, and requires grad",
                                  facts.definition->name(), parameter_name(facts, i)),
                      "move it to their device: .to(\"cuda\")");
}

/// The tensors that require grad.
uint64_t asked_gradients(const Facts& facts) {
  uint64_t asked = 0;
  for (size_t i = 0; i < facts.actuals.size(); ++i)
    if (const at::Tensor* tensor = facts.actuals[i].tensor; tensor != nullptr && tensor->requires_grad())
      asked |= uint64_t{1} << std::min<size_t>(i, 63);
  return asked;
}

/// What autograd says of a tensor that is about to be written. Where a gradient is asked of it, the narrow test did.
void check_writable(const Facts& facts, const std::string& name, const at::Tensor& tensor) {
  if (tensor.is_inference() && !c10::InferenceMode::is_enabled())
    throw_author(Span{},
                 fmt::format("{}: {} is an inference tensor, which may only be written in inference mode",
                             facts.definition->name(), name),
                 "call under torch.inference_mode(), or pass an ordinary tensor");
}

void check_out(const Facts& facts, size_t index, bool grad_mode) {
  const frontend::Definition& definition = *facts.definition;
  const at::Tensor& out = facts.outs[index];
  const std::string name = out_name(facts.outs, index);
  if (!passes(out, grad_mode, Purpose::Call)) refuse_tensor(definition, name, out);
  if (out.device() != facts.device)
    throw_author(Span{},
                 fmt::format("{}: {} is on {}, the result is on {}", definition.name(), name, out.device().str(),
                             facts.device.str()),
                 "pass an out on the tensors' device");
  check_writable(facts, name, out);
}

/// How the written tensor lies to every argument and to the outs before `outs_before`: two bits each.
void append_overlaps(const at::Tensor& written, size_t outs_before, Facts& facts) {
  constexpr size_t kPerWord = 32;
  size_t count = 0;
  const auto append = [&](const at::Tensor* other) {
    if (count % kPerWord == 0) facts.words.push_back(0);
    const auto overlap = other == nullptr ? Overlap::None : overlap_of(written, *other);
    facts.words.back() |= uint64_t(overlap) << 2 * (count++ % kPerWord);
  };
  for (const Actual& actual : facts.actuals) append(actual.kind == Kind::Tensor ? actual.tensor : nullptr);
  for (size_t i = 0; i < outs_before; ++i) append(&facts.outs[i]);
}

frontend::FactoryDevice factories_of(const Facts& facts) {
  using frontend::FactoryDevice;
  if (!facts.default_device) return FactoryDevice::Unset;
  const c10::Device& made_on = *facts.default_device;
  if (made_on.is_cpu()) return facts.device.is_cpu() ? FactoryDevice::Unset : FactoryDevice::Cpu;
  const bool same = made_on.type() == facts.device.type() && (!made_on.has_index() || made_on == facts.device);
  return same ? FactoryDevice::Same : FactoryDevice::Elsewhere;
}

/// What the key says of tensors that the call writes.
void append_written(const Watched& watched, Facts& facts) {
  for (size_t i = 0; i < facts.outs.size(); ++i) {
    check_out(facts, i, c10::GradMode::is_enabled());
    append_tensor(facts.words, facts.outs[i]);
    append_overlaps(facts.outs[i], i, facts);
  }
  for (size_t p = 0; p < std::min<size_t>(facts.actuals.size(), 64); ++p) {
    if (!(watched.written >> p & 1) || facts.actuals[p].kind != Kind::Tensor) continue;
    check_writable(facts, parameter_name(facts, p), *facts.actuals[p].tensor);
    append_overlaps(*facts.actuals[p].tensor, facts.outs.size(), facts);
  }
}

}  // namespace

std::string parameter_name(const Facts& facts, size_t index) {
  return quoted(facts.definition->parameters()[index].name);
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
      throw_internal("the value of a tensor of a dtype that was refused");
  }
}

void read_facts(const frontend::Definition& definition, std::span<const Argument> arguments,
                std::span<const at::Tensor> outs, const Watched& watched, Purpose purpose, Facts& facts) {
  if (purpose == Purpose::Call && !facts.thread_known && !thread_is_plain(facts.default_device))
    refuse_thread(definition);
  facts.thread_known = true;
  facts.definition = &definition;
  facts.outs = outs;
  bind(definition, arguments, purpose, facts);
  settle_devices(definition, facts);
  if (facts.recorded) {
    check_recorded(facts);
    facts.gradients = asked_gradients(facts);
  }
  facts.autocast = autocast_of(definition, facts.device);

  facts.words.push_back(uint64_t(facts.device.type()) | uint64_t(uint8_t(facts.device.index())) << 8 |
                        uint64_t(c10::get_default_dtype_as_scalartype()) << 16 | uint64_t(outs.size()) << 24 |
                        (facts.autocast ? uint64_t(*facts.autocast) + 1 : 0) << 48 |
                        uint64_t(factories_of(facts)) << 56);
  facts.words.push_back(watched.values);
  facts.words.push_back(watched.written);
  facts.words.push_back(facts.gradients);
  for (size_t i = 0; i < facts.actuals.size(); ++i) {
    const Actual& actual = facts.actuals[i];
    if (actual.kind == Kind::Tensor)
      append_tensor(facts.words, *actual.tensor);
    else
      append_number(facts.words, actual, i >= 64 || (watched.values >> i & 1) != 0);
  }
  if (!outs.empty() || watched.written != 0) append_written(watched, facts);
}

frontend::Signature signature_of(const Facts& facts, frontend::Numerics numerics) {
  frontend::Signature signature;
  signature.device = facts.device.is_cuda() ? frontend::Device::Cuda : frontend::Device::Cpu;
  signature.device_index = facts.device.is_cuda() ? static_cast<uint8_t>(facts.device.index()) : 0;
  signature.numerics = numerics;
  signature.factories = factories_of(facts);
  signature.autocast = facts.autocast;
  signature.default_dtype = dtype_of(c10::get_default_dtype_as_scalartype()).value_or(ir::DType::F32);
  for (const Actual& actual : facts.actuals) {
    frontend::ArgumentFact& fact = signature.arguments.emplace_back();
    fact.kind = actual.kind;
    if (actual.kind == Kind::Number) fact.number = actual.number.kind;
    if (actual.tensor == nullptr) continue;
    fact.dtype = *dtype_of(actual.tensor->scalar_type());
    if (actual.kind != Kind::Tensor) continue;
    const c10::IntArrayRef sizes = actual.tensor->sizes();
    fact.rank = static_cast<uint8_t>(sizes.size());
    for (size_t d = 0; d < sizes.size(); ++d) fact.ones |= uint64_t(sizes[d] == 1) << d;
  }
  return signature;
}

std::optional<ir::DType> autocast_of(const frontend::Definition& definition, c10::Device device) {
  if (!autocast_is_on(device)) return std::nullopt;
  const c10::ScalarType type = at::autocast::get_autocast_dtype(device.type());
  if (const std::optional<ir::DType> known = dtype_of(type)) return known;
  throw_not_plain(
      fmt::format("{}: torch.autocast is on for {}, which Ingot has not", definition.name(), c10::toString(type)),
      "leave it for the call");
}

frontend::Actuals actuals_of(const Facts& facts) {
  return {{[&facts](uint32_t param, uint32_t dim) { return facts.actuals[param].tensor->size(dim); },
           [&facts](uint32_t param) { return facts.actuals[param].number; }},
          [&facts](uint32_t param) { return facts.actuals[param].tensor->strides().vec(); }};
}

}  // namespace ingot::runtime
