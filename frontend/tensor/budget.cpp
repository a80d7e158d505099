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

/// Adds `count` to `spent`, unless that exceeds the limit; returns whether it does.
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

void Budget::blocks(uint64_t count) {
  if (overspends(tiles_, count, kMaxTiles)) {
    diagnostics_.fail(
        fmt::format("the op cuts its tensors into more than {} parts: each of the parts that cat, stack and "
                    "writes to slices make is computed by itself, in every step from there on",
                    kMaxTiles),
        "apply the steps before the parts are put together, or return them and go on in another op");
  }
}

void Budget::nodes(uint64_t count) {
  if (overspends(nodes_, count, kMaxNodes)) {
    diagnostics_.fail(fmt::format("the op takes too many views of large expressions: slices and shifts of computed "
                                  "tensors repeat what these are made of, here more than {} operations",
                                  kMaxNodes),
                      "take the views of its inputs instead, or compute what is viewed in an op of its own");
  }
}

void Budget::fail_host_work() const {
  diagnostics_.fail(
      fmt::format("the op's arithmetic of sizes and numbers takes too long: more than {} steps, for a number "
                  "that is computed in a loop, or for the places of many parts of a cat or a stack",
                  kHostWork),
      "compute the number before the call; apply what follows a cat to its parts");
}

}  // namespace ingot::frontend
