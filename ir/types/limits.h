#pragma once

#include <cstdint>

#include "ir/types/dtype.h"

namespace ingot::ir {

/// The values of torch.finfo for a floating dtype.
struct FloatLimits {
  double epsilon;          ///< distance from 1 to the next larger number
  double smallest_normal;  ///< smallest positive number that is not denormal
  double largest;
  double resolution;  ///< 10 to the power of minus the number of decimal digits that it holds
};
FloatLimits float_limits(DType type);

/// The values of torch.iinfo for an integral dtype. For uint64, `largest` is the largest int64.
struct IntegerLimits {
  int64_t smallest, largest;
};
IntegerLimits integer_limits(DType type);

}  // namespace ingot::ir
