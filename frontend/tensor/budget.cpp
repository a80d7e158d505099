#include "frontend/tensor/budget.h"

#include <fmt/format.h>

namespace ingot::frontend {
namespace {

constexpr uint64_t kMaxSteps = 500'000;
constexpr uint64_t kMaxItems = 2'000'000;
constexpr uint64_t kMaxBytes = 16'000'000;
constexpr uint64_t kMaxTiles = 100'000;
constexpr uint64_t kMaxNodes = 400'000;

constexpr const char* kUnrolled = "loops are unrolled when the op is compiled, so their bounds must be small";

/// Adds to what was spent; whether that is past the limit.
bool overspends(uint64_t& spent, uint64_t count, uint64_t limit) {
  if (count > limit - spent) return true;
  spent += count;
  return false;
}

}  // namespace

void Budget::step() {
  if (overspends(steps_, 1, kMaxSteps)) {
    diagnostics_.fail(fmt::format("the op did not finish in {} steps", kMaxSteps), kUnrolled);
  }
}

void Budget::items(uint64_t count) {
  if (overspends(items_, count, kMaxItems)) {
    diagnostics_.fail(fmt::format("the op makes tuples and lists of more than {} items", kMaxItems), kUnrolled);
  }
}

void Budget::bytes(uint64_t count) {
  if (overspends(bytes_, count, kMaxBytes)) {
    diagnostics_.fail(fmt::format("the op makes strings of more than {} characters", kMaxBytes),
                      "strings are for messages and options alone");
  }
}

void Budget::tiles(uint64_t count) {
  if (overspends(tiles_, count, kMaxTiles)) {
    diagnostics_.fail(fmt::format("the op cuts its tensors into more than {} parts", kMaxTiles),
                      "apply it before so many parts are put together by cat or stack");
  }
}

void Budget::nodes(uint64_t count) {
  if (overspends(nodes_, count, kMaxNodes)) {
    diagnostics_.fail("the op takes too many views of large expressions", "take the views of its inputs instead");
  }
}

void Budget::fail_host_work() const {
  diagnostics_.fail("the op's arithmetic of sizes and numbers takes too long",
                    "a number is computed by more operations than an op has: compute it before the call");
}

}  // namespace ingot::frontend
