#pragma once

#include <cstdint>

#include "ir/types/dtype.h"

namespace ingot::ir {

/// The values of torch.finfo for a floating dtype.
struct FloatLimits {
  double epsilon;          ///< distance from 1 to the next larger number
  double smallest_normal;  ///< smallest positive number that is not denormal
  double largest;
  double resolution;  ///< 10**-digits, for the number of decimal digits that the dtype represents
};
FloatLimits float_limits(DType type);

/// The values of torch.iinfo for an integral dtype. For uint64, `largest` is the largest int64, because integers of the
/// language have 64 bits and a sign.
struct IntegerLimits {
  int64_t smallest, largest;
};
IntegerLimits integer_limits(DType type);

}  // namespace ingot::ir
