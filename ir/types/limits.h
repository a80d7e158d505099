#pragma once

#include <cstdint>

#include "ir/types/dtype.h"

namespace ingot::ir {

/// torch.finfo of a floating dtype.
struct FloatLimits {
  double epsilon;          ///< from 1 to the next number
  double smallest_normal;  ///< above the denormals
  double largest;
  double resolution;  ///< 10 to the minus decimal digits that it holds
};
FloatLimits float_limits(DType type);

/// torch.iinfo of an integral dtype; of uint64 what an int64 holds.
struct IntegerLimits {
  int64_t smallest, largest;
};
IntegerLimits integer_limits(DType type);

}  // namespace ingot::ir
