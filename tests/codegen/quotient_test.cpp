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

ReduceCase of_pairs(const frontend::Definition& definition, const ir::Sizes& sizes,
                    const std::function<float()>& element) {
  ReduceCase one;
  one.name = "quotients";
  one.graph = graph_of(definition, {static_cast<uint8_t>(sizes.size())});
  one.graph.name = one.name;
  one.x = tensor(sizes, {0, 1}, 0, element);
  return one;
}

TEST(Quotients, ManyQuotientsAreCorrectlyRounded) {
  std::mt19937 random(31);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {0.0f, -0.0f, 1.0f, -1.0f, kInf, -kInf, 1e-45f, -1e-39f, 3e38f, 1e-20f, 0x1p-48f};
  const auto any = [&] {
    return random() % 3 == 0 ? special[random() % special.size()] : std::bit_cast<float>(uint32_t(random()));
  };
  // A group of neighbours per thread; and columns, with several elements per thread.
  const auto pairs = frontend::define(R"(
def op(x):
    a, b = x[..., 0], x[..., 1]
    return a / b + b / a + a / (b + 1) + (a - b) / (a + b)
)");
  for (const int64_t columns : {2, 3}) {
    ReduceCase one = of_pairs(*pairs, {3001, columns}, any);
    const Library library = library_of({one}, kCuda);
    ASSERT_TRUE(library.loaded());
    const Prepared prepared = one.prepared();
    const std::string text = generate(one.graph, prepared.outline, prepared.layouts, kCuda, {}, {}).text;
    EXPECT_NE(text.find("= quotient_of("), std::string::npos) << text;
    EXPECT_TRUE(schedules(one.graph, prepared.outline, prepared.layouts, kCuda, {})[0].own_quotients);
    EXPECT_FALSE(schedules(one.graph, prepared.outline, prepared.layouts, kCuda, {.fast_math = true})[0].own_quotients);
    const std::vector<Bytes> results = run(one, kCuda, library, random);
    for (int64_t i = 0; i < 3001; ++i) {
      const float a = one.x.at({i, 0}), b = one.x.at({i, 1}), want = expected(a, b),
                  got = element<float>(results[0], i);
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(got)) << a << " " << b;
      else
        ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want)) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace ingot::codegen
