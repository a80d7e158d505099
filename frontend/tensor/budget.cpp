#include "frontend/tensor/budget.h"

#include <fmt/format.h>

namespace ingot::frontend {
namespace {

constexpr uint64_t kMaxSteps = 500'000;
constexpr uint64_t kMaxItems = 2'000'000;
constexpr uint64_t kMaxStringBytes = 16'000'000;
constexpr uint64_t kMaxBlocks = 100'000;
constexpr uint64_t kMaxRewrittenNodes = 400'000;

constexpr const char* kUnrolled = "loops are unrolled when the op is compiled, so their bounds must be small";

/// Adds `count` to `spent` and returns true, unless the sum would exceed the limit.
bool try_spend(uint64_t& spent, uint64_t count, uint64_t limit) {
  if (count > limit - spent) return false;
  spent += count;
  return true;
}

}  // namespace

void Budget::spend_step() {
  if (!try_spend(steps_, 1, kMaxSteps)) {
    diagnostics_.fail(fmt::format("the op did not finish in {} steps", kMaxSteps), kUnrolled);
  }
}

void Budget::spend_items(uint64_t count) {
  if (!try_spend(items_, count, kMaxItems)) {
    diagnostics_.fail(fmt::format("the op makes tuples and lists of more than {} items", kMaxItems), kUnrolled);
  }
}

void Budget::spend_string_bytes(uint64_t count) {
  if (!try_spend(string_bytes_, count, kMaxStringBytes)) {
    diagnostics_.fail(fmt::format("the op makes strings of more than {} bytes", kMaxStringBytes),
                      "use strings for messages and options only");
  }
}

void Budget::spend_blocks(uint64_t count) {
  if (!try_spend(blocks_, count, kMaxBlocks)) {
    diagnostics_.fail(
        fmt::format("the op divides its tensors into more than {} parts: each part that cat, stack and writes to "
                    "slices make is computed separately, in every later step",
                    kMaxBlocks),
        "apply the steps before the parts are concatenated, or return the result and continue in another op");
  }
}

void Budget::spend_rewritten_nodes(uint64_t count) {
  if (!try_spend(rewritten_nodes_, count, kMaxRewrittenNodes)) {
    diagnostics_.fail(fmt::format("the op takes too many views of large expressions: slices and shifts of computed "
                                  "tensors repeat the computation of these tensors, here more than {} operations",
                                  kMaxRewrittenNodes),
                      "take views of the inputs instead, or compute the viewed tensor in a separate op");
  }
}

void Budget::fail_host_work() const {
  diagnostics_.fail(
      fmt::format("the op's arithmetic on sizes and numbers takes too long: more than {} operands, for a number that "
                  "is computed in a loop, or for the offsets of many parts of a cat or a stack",
                  kHostWork),
      "compute the number before the call; apply the steps after a cat to its parts instead");
}

}  // namespace ingot::frontend
