#include "frontend/tensor/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace ingot::frontend {
namespace {

constexpr std::array<std::string_view, 19> kDeviceTypes = {
    "cpu",  "cuda", "ipu", "xpu",  "mkldnn", "opengl", "opencl", "ideep", "hip", "ve",
    "fpga", "maia", "xla", "lazy", "vulkan", "mps",    "meta",   "hpu",   "mtia"};

/// The type of a device: "cuda" for "cuda:0". Fails with PyTorch's message if there is no such type.
std::string_view device_type(const Builder& builder, std::string_view device) {
  const size_t colon = device.find(':');
  const std::string_view type = device.substr(0, colon);
  const std::string_view index = colon == std::string_view::npos ? "0" : device.substr(colon + 1);
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto is_name = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; };
  if (type.empty() || index.empty() || !std::ranges::all_of(type, is_name) || !std::ranges::all_of(index, is_digit)) {
    builder.fail(fmt::format("Invalid device string: '{}'", device), "a dtype is written as torch.float16");
  }
  if (std::ranges::count(kDeviceTypes, type) == 0) {
    builder.fail(fmt::format("Expected one of cpu, cuda, … device type at start of device string: {}", type));
  }
  return type;
}

std::string_view device_name(bool is_cuda) { return is_cuda ? "cuda" : "cpu"; }

}  // namespace

std::string device_of(const Builder& builder, const Tensor& tensor) {
  return std::string(device_name(builder.on_cuda() && !tensor.on_host));
}

bool is_device_value(const Builder& builder, const Value& value) {
  const bool is_index = value.is_number() && builder.graph.host.kind(value.number()) == ir::HostKind::Int;
  return value.is<std::string>() || is_index;
}

bool is_host_device(Builder& builder, const Value& device) {
  if (!is_device_value(builder, device)) {
    builder.fail(fmt::format("a device must be a torch.device or a string, not {}", describe(device)),
                 "pass for example x.device");
  }
  const bool is_index = device.is_number();
  const std::string text =
      is_index ? fmt::format("cuda:{}", builder.static_number(device.number()).as_int()) : device.as<std::string>();
  const std::string_view type = device_type(builder, text);
  if (type == "cpu") return builder.on_cuda();
  const std::string op_device = fmt::format("cuda:{}", builder.signature.device_index);
  if (builder.on_cuda() && (text == "cuda" || text == op_device)) return false;
  builder.fail(fmt::format("the op runs on {}, so it cannot create tensors on {} or move them there",
                           builder.on_cuda() ? op_device : "cpu", text),
               "move tensors before the call");
}

bool is_created_on_cpu(Builder& builder, const Tensor& created, const Value& device) {
  if (!device.is_none()) return is_host_device(builder, device);
  switch (builder.diagnostics.in_library() ? FactoryDevice::Unset : builder.signature.factories) {
    case FactoryDevice::Unset:
      return builder.on_cuda() && created.rank() == 0;
    case FactoryDevice::Cpu:
      return true;
    case FactoryDevice::Same:
      return false;
    case FactoryDevice::Elsewhere:
      break;
  }
  builder.fail("eager makes this tensor on the default device, but the op runs on another device",
               "pass the device of a tensor: device=x.device");
}

Tensor to_device(Builder& builder, Tensor x, const Value& device) {
  if (device.is_none()) return x;
  const bool moves_to_host = is_host_device(builder, device);
  if (moves_to_host && !x.on_host) {
    builder.fail("the op runs on cuda, so it cannot move tensors to cpu", "move the op's result after the call");
  }
  x.on_host = moves_to_host;
  return x;
}

}  // namespace ingot::frontend
