#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/library/builtins.h"

// The tables that builtins() joins, one file per theme, and their shared helpers.

namespace ingot::frontend {

using Args = std::span<const Value>;

std::vector<Builtin> pointwise_builtins();
std::vector<Builtin> view_builtins();
std::vector<Builtin> window_builtins();
std::vector<Builtin> cast_builtins();
std::vector<Builtin> gradient_builtins();
std::vector<Builtin> factory_builtins();
std::vector<Builtin> constant_builtins();
std::vector<Builtin> index_builtins();
std::vector<Builtin> reduction_builtins();
std::vector<Builtin> in_place_builtins();
std::vector<Builtin> refused_builtins();

/// Values of Builtin::is_function and is_method.
inline constexpr bool kFunction = true, kNoFunction = false, kMethod = true, kNoMethod = false;

/// Requires a tensor; `what` names the argument in the error.
const Tensor& require_tensor(const Builder& builder, const Value& value, std::string_view what);
/// Requires a tuple or list of tensors.
std::vector<Tensor> require_tensors(const Builder& builder, const Value& value, std::string_view what);
/// Requires an integer (a size, a count, an index); `what` names the argument in the error.
ir::HostId integer_argument(Builder& builder, const Value& value, std::string_view what);
ir::DType require_dtype(const Builder& builder, const Value& value);

}  // namespace ingot::frontend
