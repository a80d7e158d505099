// Kernels with many float32 quotients use `quotient_of`, which gives the nearest number as `/` does.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/codegen/ops.h"
#include "tests/codegen/reduce_testing.h"

namespace ingot::codegen {
namespace {

float expected(float a, float b) { return a / b + b / a + a / (b + 1) + (a - b) / (a + b); }

ReduceCase pairs_case(const frontend::Definition& definition, const ir::Sizes& sizes,
                      const std::function<float()>& element) {
  ReduceCase test_case;
  test_case.name = "quotients";
  test_case.graph = graph_of(definition, {static_cast<uint8_t>(sizes.size())});
  test_case.graph.name = test_case.name;
  test_case.x = tensor(sizes, {0, 1}, 0, element);
  return test_case;
}

TEST(Quotients, ManyQuotientsAreCorrectlyRounded) {
  std::mt19937 random(31);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {0.0f, -0.0f, 1.0f, -1.0f, kInf, -kInf, 1e-45f, -1e-39f, 3e38f, 1e-20f, 0x1p-48f};
  const auto any = [&] {
    return random() % 3 == 0 ? special[random() % special.size()] : std::bit_cast<float>(uint32_t(random()));
  };
  // a and b are an access group: with two columns one vector, with three columns two single loads.
  const auto pairs = frontend::define(R"(
def op(x):
    a, b = x[..., 0], x[..., 1]
    return a / b + b / a + a / (b + 1) + (a - b) / (a + b)
)");
  for (const int64_t columns : {2, 3}) {
    ReduceCase test_case = pairs_case(*pairs, {3001, columns}, any);
    const KernelLibrary library = library_of({test_case}, kCuda);
    ASSERT_TRUE(library.is_loaded());
    const Prepared prepared = test_case.prepared();
    const std::string text = generate(prepared.graph, prepared.outline, prepared.layouts, kCuda, {}, {}).text;
    EXPECT_NE(text.find("= quotient_of("), std::string::npos) << text;
    EXPECT_TRUE(schedules(prepared.graph, prepared.outline, prepared.layouts, kCuda, {})[0].uses_quotient_of);
    EXPECT_FALSE(
        schedules(prepared.graph, prepared.outline, prepared.layouts, kCuda, {.fast_math = true})[0].uses_quotient_of);
    const std::vector<Bytes> results = run(test_case, kCuda, library, random);
    for (int64_t i = 0; i < 3001; ++i) {
      const float a = test_case.x.at({i, 0}), b = test_case.x.at({i, 1}), exact = expected(a, b),
                  actual = element<float>(results[0], i);
      if (std::isnan(exact))
        ASSERT_TRUE(std::isnan(actual)) << a << " " << b;
      else
        ASSERT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(exact)) << a << " " << b;
    }
  }
}

// Positions are 32-bit indices; the divisors are extents.
TEST(Quotients, ArePositionsByASharedReciprocal) {
  const std::string calls = R"(
extern "C" unsigned quotient(unsigned i, unsigned n) { return repeated_quotient(i, n); }
extern "C" unsigned remainder_of(unsigned i, unsigned n) { return repeated_remainder(i, n); }
extern "C" unsigned short_one(unsigned i, unsigned n) { return short_quotient(i, n); }
)";
  const SharedLibrary library(cuda_on_host(kCuda, {}) + without_ptx(prelude_for(Target::Kind::Cuda, calls)) + calls);
  ASSERT_TRUE(library.is_loaded());
  using Function = uint32_t(uint32_t, uint32_t);
  Function *const quotient = library.find<Function>("quotient"),
                  *const remainder = library.find<Function>("remainder_of"),
                  *const short_quotient = library.find<Function>("short_one");
  std::mt19937 random(37);
  const auto expect_right = [&](uint32_t i, uint32_t n) {
    ASSERT_EQ(quotient(i, n), i / n) << i << " / " << n;
    ASSERT_EQ(remainder(i, n), i % n) << i << " % " << n;
    if (uint64_t{i} * n >= 1u << 30) return;
    ASSERT_EQ(short_quotient(i, n), i / n) << i << " / " << n;
  };
  for (int k = 0; k < 200'000; ++k) {
    const uint32_t n = std::max(1u, uint32_t(random()) >> random() % 32), i = uint32_t(random()) >> random() % 32;
    const uint32_t multiple = i / n * n;
    for (const uint32_t near : {i, multiple, multiple + n - 1, multiple == 0 ? 0 : multiple - 1}) expect_right(near, n);
  }
  for (const uint32_t n : {1u, 2u, 3u, 0x7fffffffu, 0x80000000u, 0xffffffffu})
    for (const uint32_t i : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) expect_right(i, n);
}

}  // namespace
}  // namespace ingot::codegen
