// Heavy kernels along memory, whose blocks take two vectors a thread: what lies at the end of the last block, and where
// it is whole.

#include <gtest/gtest.h>

#include <random>

#include "tests/codegen/ops.h"
#include "tests/codegen/reduce_testing.h"

namespace ingot::codegen {
namespace {

TEST(Steps, EachElementIsWhatItIs) {
  std::mt19937 random(23);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 9) - 4); };
  // exp(0) and tanh(0) are exact; what the names are must not matter.
  const auto definition = frontend::define(R"(
def in_steps(first):
    whole = first * torch.exp(first - first)
    step = whole + torch.tanh(first - first)
    return step + 1, step > 0
)");
  std::vector<ReduceCase> cases;
  for (const int64_t n : {2, 3, 5, 511, 512, 513, 1023, 1024, 1025, 1535, 1537, 2047, 2048, 7168, 7683}) {
    ReduceCase& one = cases.emplace_back();
    one.name = "case" + std::to_string(cases.size());
    one.graph = graph_of(*definition, {1});
    one.graph.name = one.name;
    one.x = tensor({n}, {0}, 0, whole);
  }
  const Library library = library_of(cases, kCuda);
  ASSERT_TRUE(library.loaded());
  for (ReduceCase& one : cases) {
    const Prepared prepared = one.prepared();
    const Step two{Scope::Serial, 2};
    for (const Schedule& schedule : schedules(one.graph, prepared.outline, prepared.layouts, kCuda, {}))
      EXPECT_EQ(std::ranges::count(schedule.walks.back().steps, two), 1) << prepared.layouts[0].text();
    const std::vector<Bytes> results = run(one, kCuda, library, random);
    int64_t at = 0;
    for_each_index(one.x.extents.sizes, [&](const std::vector<int64_t>& index) {
      const float x = one.x.at(index);
      ASSERT_EQ(element<float>(results[0], at), x + 1) << one.name << " " << at;
      ASSERT_EQ(element<bool>(results[1], at), x > 0) << one.name << " " << at;
      ++at;
    });
  }
}

}  // namespace
}  // namespace ingot::codegen
