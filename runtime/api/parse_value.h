#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "frontend/cpp_api.h"
#include "ir/host/host.h"

namespace ingot::runtime {

/// The value of an argument `name=value`: a tensor, a number or None; std::monostate for an omitted argument.
using ArgumentValue = std::variant<std::monostate, NoneType, at::Tensor, ir::HostValue>;

/// Options for the tensors that a command line describes.
struct TensorOptions {
  uint64_t seed = 0;
  bool is_meta = false;                                    ///< shapes only: meta tensors, for `emit`
  std::map<std::string, int64_t, std::less<>> sizes = {};  ///< the names that may be used as sizes
};

/// Parses one value; `name` is for messages. Errors: Error(Author).
///
///   f32:1024x4  f32[1024,4]  f32:  f32[]     a random tensor: floats are normal, integers small, bools random
///   f32:nx4  f32[n,4]                        the same, with named sizes
///   f32:1024x4:t                             the same shape, its last two dims transposed in memory
///   i64:8@0..50                              uniform, 0 included and 50 excluded
///   saved.pt  saved.pt:key                   a tensor of torch.save's zip format, or of a dict or list in it
///   0.5  3  true  none                       a number, a bool or None
ArgumentValue parse_value(std::string_view name, std::string_view text, const TensorOptions& options);

}  // namespace ingot::runtime
