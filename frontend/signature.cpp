#include <fmt/format.h>

#include "base/error.h"
#include "frontend/frontend.h"

namespace ingot::frontend {
namespace {

std::string device_name(Device device, uint8_t index) {
  if (device == Device::Cpu) return "cpu";
  return index == 0 ? "cuda" : fmt::format("cuda:{}", index);
}

std::string_view text_of(Numerics numerics) {
  switch (numerics) {
    case Numerics::Default:
      return "";
    case Numerics::Eager:
      return " eager";
    case Numerics::Fast:
      return " fast";
  }
  throw_internal("a numerics mode without a name");
}

std::string_view text_of(FactoryDevice device) {
  switch (device) {
    case FactoryDevice::Unset:
      return "";
    case FactoryDevice::Cpu:
      return " factories: cpu";
    case FactoryDevice::Same:
      return " factories: same";
    case FactoryDevice::Elsewhere:
      return " factories: elsewhere";
  }
  throw_internal("a default device of factories without a name");
}

std::string_view text_of(ir::HostKind kind) {
  switch (kind) {
    case ir::HostKind::Bool:
      return "bool";
    case ir::HostKind::Int:
      return "int";
    case ir::HostKind::Float:
      return "float";
  }
  throw_internal("a kind of number without a name");
}

std::string text_of(const ArgumentSpec& spec) {
  switch (spec.kind) {
    case ArgumentSpec::Kind::None:
      return "None";
    case ArgumentSpec::Kind::Absent:
      return "default";
    case ArgumentSpec::Kind::Number:
      return std::string(text_of(spec.number));
    case ArgumentSpec::Kind::CpuScalar:
      return fmt::format("cpu {}[]", short_name(spec.dtype));
    case ArgumentSpec::Kind::Tensor:
      break;
  }
  std::string text = fmt::format("{}[", short_name(spec.dtype));
  for (int dim = 0; dim < spec.rank; ++dim) {
    if (dim > 0) text += ", ";
    text += (spec.ones >> dim & 1) ? '1' : '?';
  }
  return text + "]";
}

}  // namespace

std::string Signature::text() const {
  std::string text = fmt::format("{}{} {}{}", device_name(device, device_index), text_of(numerics),
                                 short_name(default_dtype), text_of(factories));
  if (autocast) text += fmt::format(" autocast: {}", short_name(*autocast));
  if (gradients != 0) text += fmt::format(" gradients: {:#x}", gradients);
  if (may_scatter) text += " scatters";
  for (const ArgumentSpec& spec : arguments) text += " | " + text_of(spec);
  return text;
}

}  // namespace ingot::frontend
