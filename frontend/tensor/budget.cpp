#include "frontend/tensor/budget.h"

#include <fmt/format.h>

namespace ingot::frontend {
namespace {

constexpr size_t kMaxSteps = 2'000'000;

}  // namespace

void Budget::step() {
  if (++steps_ > kMaxSteps) {
    diagnostics_.fail(fmt::format("the op did not finish in {} steps", kMaxSteps),
                      "loops are unrolled when the op is compiled, so their bounds must be small");
  }
}

}  // namespace ingot::frontend
