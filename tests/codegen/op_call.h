#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/frontend.h"
#include "tests/codegen/support.h"

// Calls of ops, from readable descriptions of their arguments.

namespace ingot::codegen {

inline ir::Sizes sizes_from(std::string_view text) {
  ir::Sizes sizes;
  std::istringstream stream{std::string(text)};
  for (std::string size; std::getline(stream, size, 'x');) sizes.push_back(std::stoll(size));
  return sizes;
}

/// The arguments of a call, as signature and as tensors.
struct OpCall {
  frontend::Signature signature;
  Tensors tensors;
  std::vector<ir::HostValue> numbers;  // one per parameter

  /// `arguments`: one per parameter: "f32 1000x4", optionally strides as "/ 4x1" and the address's distance from
  /// alignment as "@ 4"; or "float 0.5", "int 3", "bool 1".
  OpCall(const std::vector<std::string_view>& arguments, frontend::Device device) {
    signature.device = device;
    for (const std::string_view argument : arguments) add(std::string(argument));
  }

  frontend::SymbolValues symbol_values() const {
    return {[this](uint32_t param, uint32_t dim) { return tensors.params[param].sizes[dim]; },
            [this](uint32_t param) { return numbers[param]; }};
  }

 private:
  void add(const std::string& text) {
    std::istringstream words(text);
    std::string type, word;
    words >> type;
    frontend::ArgumentSpec spec;
    ir::SizesAndStrides extents;
    uintptr_t address = 0;
    ir::HostValue number;
    if (type == "float" || type == "int" || text == "bool 0" || text == "bool 1") {
      words >> word;
      number = type == "float" ? ir::HostValue::of(std::stod(word))
               : type == "int" ? ir::HostValue::of(int64_t{std::stoll(word)})
                               : ir::HostValue::of(word == "1");
      spec.kind = frontend::ArgumentSpec::Kind::Number;
      spec.number = number.kind;
    } else {
      spec.dtype = ir::parse_dtype(type).value();
      if (words >> word) extents = contiguous(sizes_from(word));
      while (words >> word) {
        std::string value;
        words >> value;
        if (word == "/") extents.strides = sizes_from(value);
        if (word == "@") address = std::stoull(value);
      }
      spec.rank = static_cast<uint8_t>(extents.sizes.size());
      for (size_t d = 0; d < extents.sizes.size(); ++d) spec.ones |= uint64_t{extents.sizes[d] == 1} << d;
    }
    signature.arguments.push_back(spec);
    tensors.params.push_back(extents);
    tensors.addresses.push_back(address);
    numbers.push_back(number);
    if (spec.kind == frontend::ArgumentSpec::Kind::Number) tensors.numbers.push_back(number);
  }
};

}  // namespace ingot::codegen
