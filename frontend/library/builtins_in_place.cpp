#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/in_place.h"

// In-place functions: those that write back another function's result, and those with their own implementation.

namespace ingot::frontend {
namespace {

struct InPlaceNames {
  std::string_view names;  ///< separated by spaces
  InPlaceForms forms;
};

/// PyTorch's in-place functions. The lists may name functions that are not supported yet. float_power_ is left out,
/// because it takes float64 only.
constexpr InPlaceNames kInPlace[] = {
    {"abs acos acosh addmv arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh ceil clamp clamp_max "
     "clamp_min clip conj_physical cos cosh deg2rad erf erfc exp exp2 expm1 fix floor frac gcd i0 lcm ldexp log log10 "
     "log1p log2 logit nan_to_num neg negative rad2deg reciprocal round rsqrt sigmoid sin sinc sinh sqrt square tan "
     "tanh trunc xlogy",
     {.method = true, .torch = true}},
    {"absolute add addcdiv addcmul addmm arctan2 atan2 baddbmm bitwise_and bitwise_left_shift bitwise_not bitwise_or "
     "bitwise_right_shift bitwise_xor copysign digamma div divide eq erfinv floor_divide fmod ge greater greater_equal "
     "gt heaviside hypot igamma igammac le lerp less less_equal lgamma logical_and logical_not logical_or logical_xor "
     "lt masked_fill mul multiply mvlgamma ne nextafter not_equal polygamma pow remainder sgn sign sub subtract tril "
     "triu true_divide",
     {.method = true}},
    {"relu", {.method = true, .torch = true, .functional = true}},
    {"celu rrelu selu threshold", {.torch = true, .functional = true}},
    {"elu hardtanh leaky_relu", {.functional = true}},
};

/// Whether `name` is one of the `names`, which are separated by spaces.
bool contains_word(std::string_view names, std::string_view name) {
  for (const auto& word : std::views::split(names, ' '))
    if (std::string_view(word.begin(), word.end()) == name) return true;
  return false;
}

Value call_copy(Builder& builder, const Builtin&, Args args) {
  copy_in_place(builder, args[0], args[1], NumberCast::Rounded);
  return args[0];
}

Value call_zero(Builder& builder, const Builtin&, Args args) {
  copy_in_place(builder, args[0], Number{builder.integer(0)}, NumberCast::Checked);
  return args[0];
}

Value call_fill(Builder& builder, const Builtin&, Args args) {
  if (const Tensor* value = args[1].tensor(); value && value->rank() > 0) {
    builder.fail(
        fmt::format("fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.", value->rank()),
        "write x.copy_(value)");
  }
  copy_in_place(builder, args[0], args[1], NumberCast::Checked);
  return args[0];
}

}  // namespace

InPlaceForms in_place_forms(std::string_view name) {
  const auto* entry =
      std::ranges::find_if(kInPlace, [&](const InPlaceNames& row) { return contains_word(row.names, name); });
  return entry == std::end(kInPlace) ? InPlaceForms() : entry->forms;
}

std::vector<Builtin> in_place_builtins() {
  return {
      {"copy_",
       "(input, src, non_blocking=False)",
       kNoFunction,
       kMethod,
       {},
       call_copy,
       "the values of another tensor, in place"},
      {"fill_", "(input, value)", kFunction, kMethod, {}, call_fill, "one value everywhere, in place"},
      {"zero_", "(input)", kFunction, kMethod, {}, call_zero, "0 everywhere, in place"},
  };
}

}  // namespace ingot::frontend
