#include "runtime/call/seed.h"

#include <ATen/ops/randint.h>

#include <limits>

namespace ingot::runtime {

at::Tensor make_seed(c10::Device device) {
  return at::randint(std::numeric_limits<int64_t>::max(), {}, at::TensorOptions(at::kLong).device(device));
}

}  // namespace ingot::runtime
