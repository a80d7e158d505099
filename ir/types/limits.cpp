#include "ir/types/limits.h"

#include <cmath>
#include <limits>

namespace ingot::ir {
namespace {

/// Limits of a format with `digits` significant bits whose smallest normal number is 2^min_exponent. The exponents are
/// IEEE's, so the largest number is just below 2^(2 - min_exponent).
FloatLimits limits_of(int digits, int min_exponent) {
  const double epsilon = std::ldexp(1.0, 1 - digits);
  const int decimals = static_cast<int>((digits - 1) * std::log10(2.0));
  return {.epsilon = epsilon,
          .smallest_normal = std::ldexp(1.0, min_exponent),
          .largest = std::ldexp(2.0 - epsilon, 1 - min_exponent),
          .resolution = 1.0 / std::pow(10.0, decimals)};
}

/// Limits of a format whose largest number is not IEEE's.
FloatLimits limits_of(int digits, int min_exponent, double largest) {
  FloatLimits limits = limits_of(digits, min_exponent);
  limits.largest = largest;
  return limits;
}

}  // namespace

FloatLimits float_limits(DType type) {
  switch (type) {
    case DType::F8E4M3FN:
      return limits_of(4, -6, 448.0);
    case DType::F8E5M2:
      return limits_of(3, -14);
    case DType::F8E4M3FNUZ:
      return limits_of(4, -7, 240.0);
    case DType::F8E5M2FNUZ: {
      FloatLimits limits = limits_of(3, -15, 57344.0);
      limits.epsilon = 0.125;  // half of the true value, as torch.finfo reports it
      return limits;
    }
    case DType::F16:
      return limits_of(11, -14);
    case DType::BF16:
      return limits_of(8, -126);
    case DType::F32:
      return limits_of(24, -126);
    default:
      return limits_of(53, -1022);
  }
}

IntegerLimits integer_limits(DType type) {
  const int bits = 8 * size_of(type);
  if (type == DType::U64) return {0, std::numeric_limits<int64_t>::max()};
  if (!is_signed(type)) return {0, (int64_t{1} << bits) - 1};
  const int64_t largest = std::numeric_limits<int64_t>::max() >> (64 - bits);
  return {-largest - 1, largest};
}

}  // namespace ingot::ir
