#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/in_place.h"
#include "frontend/tensor/layouts.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/tensors.h"

// What is there to be written: methods in place that are not another method's result written back, and empty_like.

namespace ingot::frontend {
namespace {

/// The methods that PyTorch has in place too, under their names with an underscore. Those that this language has are
/// taken from here, so that the list may be ahead of it. Not float_power_, which takes float64 alone.
constexpr std::string_view kInPlace[] = {"abs",
                                         "absolute",
                                         "acos",
                                         "acosh",
                                         "add",
                                         "addcdiv",
                                         "addcmul",
                                         "arccos",
                                         "arccosh",
                                         "arcsin",
                                         "arcsinh",
                                         "arctan",
                                         "arctan2",
                                         "arctanh",
                                         "asin",
                                         "asinh",
                                         "atan",
                                         "atan2",
                                         "atanh",
                                         "bitwise_and",
                                         "bitwise_left_shift",
                                         "bitwise_not",
                                         "bitwise_or",
                                         "bitwise_right_shift",
                                         "bitwise_xor",
                                         "ceil",
                                         "clamp",
                                         "clamp_max",
                                         "clamp_min",
                                         "clip",
                                         "copysign",
                                         "cos",
                                         "cosh",
                                         "deg2rad",
                                         "digamma",
                                         "div",
                                         "divide",
                                         "eq",
                                         "erf",
                                         "erfc",
                                         "erfinv",
                                         "exp",
                                         "exp2",
                                         "expm1",
                                         "fix",
                                         "floor",
                                         "floor_divide",
                                         "fmod",
                                         "frac",
                                         "gcd",
                                         "ge",
                                         "greater",
                                         "greater_equal",
                                         "gt",
                                         "heaviside",
                                         "hypot",
                                         "i0",
                                         "igamma",
                                         "igammac",
                                         "lcm",
                                         "ldexp",
                                         "le",
                                         "lerp",
                                         "less",
                                         "less_equal",
                                         "lgamma",
                                         "log",
                                         "log10",
                                         "log1p",
                                         "log2",
                                         "logical_and",
                                         "logical_not",
                                         "logical_or",
                                         "logical_xor",
                                         "logit",
                                         "lt",
                                         "masked_fill",
                                         "mul",
                                         "multiply",
                                         "mvlgamma",
                                         "nan_to_num",
                                         "ne",
                                         "neg",
                                         "negative",
                                         "nextafter",
                                         "not_equal",
                                         "polygamma",
                                         "pow",
                                         "rad2deg",
                                         "reciprocal",
                                         "relu",
                                         "remainder",
                                         "round",
                                         "rsqrt",
                                         "sgn",
                                         "sigmoid",
                                         "sign",
                                         "sin",
                                         "sinc",
                                         "sinh",
                                         "sqrt",
                                         "square",
                                         "sub",
                                         "subtract",
                                         "tan",
                                         "tanh",
                                         "tril",
                                         "triu",
                                         "true_divide",
                                         "trunc",
                                         "xlogy"};

Value call_copy(Builder& builder, const Builtin&, Args args) {
  copy_in_place(builder, args[0], args[1]);
  return args[0];
}

Value call_zero(Builder& builder, const Builtin&, Args args) {
  copy_in_place(builder, args[0], Number{builder.integer(0)});
  return args[0];
}

Value call_fill(Builder& builder, const Builtin&, Args args) {
  if (const Tensor* value = args[1].tensor(); value && value->rank() > 0) {
    builder.fail(
        fmt::format("fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.", value->rank()),
        "write x.copy_(value)");
  }
  copy_in_place(builder, args[0], args[1]);
  return args[0];
}

Value call_empty_like(Builder& builder, const Builtin&, Args args) {
  const Tensor& x = require_tensor(builder, args[0], "empty_like: `input`");
  const ir::DType type = args[1].is_none() ? x.dtype : require_dtype(builder, args[1]);
  Tensor result = whole(builder, unwritten_node(builder, type), type, shape_of(builder, x));
  result.layout = record_preserve(builder, x.layout, result.grid);
  return result;
}

}  // namespace

bool has_in_place_form(std::string_view method) { return std::ranges::count(kInPlace, method) > 0; }

std::vector<Builtin> in_place_builtins() {
  return {
      {"copy_",
       "(input, src, non_blocking=False)",
       kNoFunction,
       kMethod,
       {},
       call_copy,
       "the values of another tensor, in place"},
      {"fill_", "(input, value)", kNoFunction, kMethod, {}, call_fill, "one value everywhere, in place"},
      {"zero_", "(input)", kNoFunction, kMethod, {}, call_zero, "0 everywhere, in place"},
      {"empty_like",
       "(input, *, dtype=None, device=None)",
       kFunction,
       kNoMethod,
       {},
       call_empty_like,
       "the shape of another tensor, to be filled by assignment"},
  };
}

}  // namespace ingot::frontend
