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

/// "cuda" of "cuda:0". Fails in PyTorch's words where it is none.
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

std::string_view spelled(bool cuda) { return cuda ? "cuda" : "cpu"; }

}  // namespace

std::string device_of(const Builder& builder, const Tensor& tensor) {
  return std::string(spelled(builder.on_cuda() && !tensor.on_host));
}

bool names_device(const Builder& builder, const Value& value) {
  const bool is_index = value.is_number() && builder.graph.host.kind(value.number()) == ir::HostKind::Int;
  return value.is<std::string>() || is_index;
}

bool is_host_device(const Builder& builder, const Value& device) {
  if (device.is_none()) return builder.on_cuda();
  if (!names_device(builder, device)) {
    builder.fail(fmt::format("a device must be a torch.device or a string, not {}", describe(device)),
                 "such as x.device");
  }
  const bool is_index = device.is_number();
  const std::string text = is_index ? "cuda" : device.as<std::string>();
  const std::string_view type = device_type(builder, text);
  if (is_index || (type == "cuda" && text != "cuda")) {
    builder.fail("which of the CUDA devices an op runs on is known only when it is called",
                 "write the device of a tensor: x.device");
  }
  if (type == "cpu") return builder.on_cuda();
  if (type == "cuda" && builder.on_cuda()) return false;
  builder.fail(
      fmt::format("the op runs on {}, so nothing is made on {} or moved there", spelled(builder.on_cuda()), type),
      "move tensors before the call");
}

Tensor moved_to(const Builder& builder, Tensor x, const Value& device) {
  if (device.is_none()) return x;
  const bool to_host = is_host_device(builder, device);
  if (to_host && !x.on_host) {
    builder.fail("the op runs on cuda, so nothing is moved to cpu", "move the op's result after the call");
  }
  x.on_host = to_host;
  return x;
}

}  // namespace ingot::frontend
