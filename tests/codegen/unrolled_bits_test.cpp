// Short reductions have the same bits whether a kernel reduces rows or the reductions are unrolled.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>

#include "tests/codegen/forced.h"

namespace ingot::codegen {
namespace {

// The values are read in another order of rows, so that a kernel cannot both reduce and store them. Some elements of z
// are NaN, and many rounded elements are zeros of both signs. (The sign of a largest zero depends on the schedule.)
constexpr std::string_view kFloats = R"(
def op(x, y):
    rounded = (x / 2).round() * y
    z = where(y > 1, math.nan, x)
    values = x.sum(-1), (x * y).sum(-1), rounded.sum(-1), (x + y).prod(-1), z.amax(-1), z.amin(-1)
    positions = *z.max(-1), *rounded.min(-1), (z > 0).any(-1), (z > 0).all(-1)
    return tuple([value.flip(0) for value in (*values, *positions)])
)";
constexpr std::string_view kIntegers = R"(
def op(x, y):
    values = x.sum(-1), (x * y).sum(-1), (x + y).prod(-1), x.amax(-1), *(x - y).min(-1)
    return tuple([value.flip(0) for value in values])
)";

struct Case {
  std::string name, type;
  int64_t length;
};

std::deque<Case> cases() {
  std::deque<Case> rows;
  for (int64_t length = 2; length <= ir::kSpecializedSize; ++length) {
    rows.push_back({fmt::format("f32_{}", length), "f32", length});
    if (length % 5 == 3)
      for (const std::string type : {"f64", "bf16", "i64"})
        rows.push_back({fmt::format("{}_{}", type, length), type, length});
  }
  return rows;
}

void expect_same_bits(const Target& target) {
  const auto first = [](const std::vector<Schedule>& all) { return std::vector{all[0]}; };
  const std::deque<Case> rows = cases();
  std::deque<std::string> texts;
  std::vector<std::unique_ptr<ForcedCall>> calls;
  std::vector<const Kernel*> launches;
  for (const Case& row : rows)
    for (const bool unrolls : {false, true}) {
      const std::string_view name = texts.emplace_back((unrolls ? "unrolled_" : "reduced_") + row.name);
      const std::string_view argument = texts.emplace_back(fmt::format("{} 70x{}", row.type, row.length));
      const ForcedOp op{name, row.type == "i64" ? kIntegers : kFloats, {argument, argument}, {}, unrolls};
      calls.push_back(std::make_unique<ForcedCall>(op, target, GuardedBuffer::maker(), first));
      EXPECT_EQ(calls.back()->kernels().size() == 1, unrolls) << name;
      std::ranges::copy(calls.back()->launches(), std::back_inserter(launches));
    }
  const KernelLibrary library(launches, target, KernelLibrary::Machine::Host);
  ASSERT_TRUE(library.is_loaded());
  for (size_t i = 0; i < calls.size(); i += 2) {
    const std::vector<Bytes> reduced = calls[i]->results(0, library), unrolled = calls[i + 1]->results(0, library);
    for (size_t r = 0; r < reduced.size(); ++r)
      EXPECT_TRUE(reduced[r] == unrolled[r]) << "result " << r << " of " << calls[i + 1]->text_of_run(0);
  }
}

TEST(UnrolledBits, AreTheSameOnTheCpu) { expect_same_bits(kCpu); }

TEST(UnrolledBits, AreTheSameForCuda) { expect_same_bits(kCuda); }

}  // namespace
}  // namespace ingot::codegen
