#include "runtime/api/parse_value.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "base/error.h"
#include "ir/types/dtype.h"
#include "runtime/call/dtypes.h"

namespace ingot::runtime {

namespace {

/// The parsed form of a description such as `f32:1024x4:t@0..1`.
struct TensorDescription {
  ir::DType dtype;
  std::vector<int64_t> sizes;
  bool is_transposed = false;
  std::optional<std::pair<double, double>> range;
};

[[noreturn]] void refuse(std::string_view name, std::string_view text, std::string message) {
  throw_author(
      {}, "`" + std::string(name) + "=" + std::string(text) + "`: " + message,
      "a value is f32:1024x4, i64:8@0..50, f32:64x64:t, saved.pt, saved.pt:key, a number, true, false or none");
}

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

/// Parses a tensor's description; empty unless the text begins with a dtype and a `:` or `[`.
std::optional<TensorDescription> parse_tensor(std::string_view name, std::string_view text,
                                              const TensorOptions& options) {
  size_t separator_index = text.find_first_of(":[");
  if (separator_index == text.npos) return std::nullopt;
  std::optional<ir::DType> dtype = ir::parse_dtype(text.substr(0, separator_index));
  if (!dtype) return std::nullopt;
  TensorDescription tensor{*dtype, {}, false, std::nullopt};
  std::string_view rest = text.substr(separator_index + 1);

  if (size_t at = rest.find('@'); at != rest.npos) {
    std::string_view range = rest.substr(at + 1);
    size_t dots = range.find("..");
    std::optional<double> low, high;
    if (dots != range.npos)
      low = parse_number<double>(range.substr(0, dots)), high = parse_number<double>(range.substr(dots + 2));
    if (!low || !high || !(*low < *high)) refuse(name, text, "the range after @ is low..high");
    tensor.range = {*low, *high};
    rest = rest.substr(0, at);
  }
  char separator = 'x';
  std::string_view suffix;
  if (text[separator_index] == '[') {
    size_t close = rest.find(']');
    if (close == rest.npos) refuse(name, text, "the bracket is not closed");
    suffix = rest.substr(close + 1);
    rest = rest.substr(0, close);
    separator = ',';
  } else if (size_t colon = rest.find(':'); colon != rest.npos) {
    suffix = rest.substr(colon);
    rest = rest.substr(0, colon);
  }
  if (!suffix.empty() && suffix != ":t") refuse(name, text, "only :t (transposed memory) may follow the shape");
  tensor.is_transposed = !suffix.empty();
  if (!rest.empty()) {
    for (std::string_view size : split(rest, separator)) {
      while (size.starts_with(' ')) size.remove_prefix(1);
      std::optional<int64_t> value = parse_number<int64_t>(size);
      if (const auto named = options.sizes.find(size); named != options.sizes.end()) value = named->second;
      if (!value || *value < 0) refuse(name, text, "`" + std::string(size) + "` is not a size");
      tensor.sizes.push_back(*value);
    }
  }
  if (tensor.is_transposed && tensor.sizes.size() < 2)
    refuse(name, text, "a transposed tensor needs at least two dims");
  return tensor;
}

at::Tensor random_tensor(const TensorDescription& description, std::string_view name, const TensorOptions& options) {
  std::vector<int64_t> sizes = description.sizes;
  if (description.is_transposed) std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
  c10::ScalarType dtype = scalar_type(description.dtype);
  at::Tensor tensor;
  if (options.is_meta) {
    tensor = at::empty(sizes, at::device(at::kMeta).dtype(dtype));
  } else {
    // One generator per name, so that one argument's values do not depend on the other arguments.
    uint64_t seed = options.seed;
    for (char c : name) seed = seed * 131 + static_cast<unsigned char>(c);
    at::Generator generator = at::detail::createCPUGenerator(seed);
    auto integers = [&](double low, double high) {
      return at::randint(static_cast<int64_t>(low), static_cast<int64_t>(high), sizes, generator, at::dtype(dtype));
    };
    if (description.dtype == ir::DType::Bool) {
      tensor = integers(0, 2);
    } else if (!ir::is_floating(description.dtype)) {
      tensor = description.range ? integers(description.range->first, description.range->second)
                                 : integers(ir::is_signed(description.dtype) ? -100 : 0,
                                            ir::is_signed(description.dtype) ? 100 : 200);
    } else if (description.range) {
      tensor =
          at::rand(sizes, generator, at::dtype(at::kDouble)) * (description.range->second - description.range->first) +
          description.range->first;
      tensor = tensor.to(dtype);
    } else {
      tensor = at::randn(sizes, generator, at::dtype(dtype));
    }
  }
  return description.is_transposed ? tensor.transpose(-1, -2) : tensor;
}

/// The parsed form of `saved.pt` or `saved.pt:key`; empty if there is no such file.
struct SavedTensorPath {
  std::string file, key;
};

std::optional<SavedTensorPath> parse_saved_path(std::string_view text) {
  std::string whole(text);
  if (std::filesystem::is_regular_file(whole)) return SavedTensorPath{whole, {}};
  size_t colon = whole.rfind(':');
  if (colon == whole.npos || !std::filesystem::is_regular_file(whole.substr(0, colon))) return std::nullopt;
  return SavedTensorPath{whole.substr(0, colon), whole.substr(colon + 1)};
}

/// Selects an item of a saved dict, list or tuple; None if there is no such item.
c10::IValue find_item(const c10::IValue& saved, const std::string& key) {
  if (saved.isGenericDict()) {
    for (const auto& item : saved.toGenericDict())
      if (item.key().isString() && item.key().toStringRef() == key) return item.value();
  }
  std::optional<size_t> index = parse_number<size_t>(key);
  if (index && saved.isList() && *index < saved.toListRef().size()) return saved.toListRef()[*index];
  if (index && saved.isTensorList() && *index < saved.toTensorList().size()) return saved.toTensorList().get(*index);
  if (index && saved.isTuple() && *index < saved.toTupleRef().elements().size())
    return saved.toTupleRef().elements()[*index];
  return {};
}

at::Tensor load_tensor(std::string_view name, std::string_view text, const SavedTensorPath& saved) {
  std::ifstream file(saved.file, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  c10::IValue value;
  try {
    value = torch::jit::pickle_load(bytes);
  } catch (const c10::Error&) {
    refuse(name, text, "the file is not in torch.save's zip format, or holds more than tensors, numbers and strings");
  }
  if (!saved.key.empty()) value = find_item(value, saved.key);
  if (!value.isTensor())
    refuse(name, text,
           saved.key.empty() ? "the file does not hold a single tensor; select one of its tensors by file.pt:key"
                             : "the file holds no tensor `" + saved.key + "`");
  return value.toTensor().detach();
}

}  // namespace

ArgumentValue parse_value(std::string_view name, std::string_view text, const TensorOptions& options) {
  if (text == "true" || text == "True") return ir::HostValue::of(true);
  if (text == "false" || text == "False") return ir::HostValue::of(false);
  if (text == "none" || text == "None") return None;
  if (auto value = parse_number<int64_t>(text)) return ir::HostValue::of(*value);
  if (auto value = parse_number<double>(text)) return ir::HostValue::of(*value);
  if (auto tensor = parse_tensor(name, text, options)) return random_tensor(*tensor, name, options);
  if (auto saved = parse_saved_path(text)) {
    at::Tensor tensor = load_tensor(name, text, *saved);
    return options.is_meta ? at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta))
                           : tensor;
  }
  if (text.find(".pt") != text.npos) refuse(name, text, "there is no such file");
  refuse(name, text, "it is neither a tensor nor a number");
}

}  // namespace ingot::runtime
