// Heavy kernels that take two steps, with a vector per thread in each: full blocks, and the tail in the last block.

#include <gtest/gtest.h>

#include <random>

#include "tests/codegen/ops.h"
#include "tests/codegen/reduce_testing.h"

namespace ingot::codegen {
namespace {

/// The results for an element of `x`, given its index.
using Expected = std::function<std::vector<float>(Floats& x, const std::vector<int64_t>& index)>;

void expect_in_steps(const std::string& text, const std::vector<ir::Sizes>& sizes, const Expected& expected) {
  std::mt19937 random(23);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 9) - 4); };
  const auto definition = frontend::define(text);
  std::vector<ReduceCase> cases;
  for (const ir::Sizes& case_sizes : sizes) {
    ReduceCase& test_case = cases.emplace_back();
    test_case.name = "case" + std::to_string(cases.size());
    test_case.graph = graph_of(*definition, {static_cast<uint8_t>(case_sizes.size())});
    test_case.graph.name = test_case.name;
    std::vector<size_t> order(case_sizes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    test_case.x = tensor(case_sizes, order, 0, whole);
  }
  const KernelLibrary library = library_of(cases, kCuda);
  ASSERT_TRUE(library.is_loaded());
  for (ReduceCase& test_case : cases) {
    const Prepared prepared = test_case.prepared();
    const MappedLoop two{Scope::Serial, 2};
    for (const Schedule& schedule : schedules(prepared.graph, prepared.outline, prepared.layouts, kCuda, {}))
      EXPECT_EQ(std::ranges::count(schedule.loop_maps.back().loops, two), 1) << prepared.layouts[0].text();
    const std::vector<Bytes> results = run(test_case, kCuda, library, random);
    int64_t element_number = 0;
    for_each_index(test_case.x.extents.sizes, [&](const std::vector<int64_t>& index) {
      const std::vector<float> values = expected(test_case.x, index);
      ASSERT_EQ(element<float>(results[0], element_number), values[0]) << test_case.name << " " << element_number;
      ASSERT_EQ(element<float>(results[1], element_number), values[1]) << test_case.name << " " << element_number;
      ++element_number;
    });
  }
}

// exp(0), tanh(0) and log1p(0) are exact; parameters may have names that the prelude uses.
TEST(Steps, ComputesCorrectElements) {
  const std::vector<ir::Sizes> sizes = {{2},   {3},   {5},    {255},  {256},  {257},  {511}, {512},
                                        {513}, {767}, {1023}, {1024}, {1025}, {7168}, {7683}};
  expect_in_steps(R"(
def in_steps(first):
    whole = first * torch.exp(first - first) * torch.exp(torch.log1p(first - first))
    step = whole + torch.tanh(first - first)
    return step + 1, torch.where(step > 0, step * 2, torch.expm1(step - step))
)",
                  sizes, [](Floats& x, const std::vector<int64_t>& index) {
                    const float value = x.at(index);
                    return std::vector{value + 1, value > 0 ? value * 2 : 0};
                  });
}

// Row coordinates are computed again in each step.
TEST(Steps, ComputesCorrectRowValues) {
  const std::vector<ir::Sizes> sizes = {{3, 4}, {2, 8}, {5, 52}, {2, 128}, {3, 256}, {7, 404}, {13, 1028}, {2, 3, 12}};
  expect_in_steps(R"(
def in_steps_of_rows(i):
    n = i * torch.exp(i - i) * torch.exp(torch.log1p(i - i)) + torch.tanh(i - i) + torch.expm1(i - i)
    return n + i[..., :1, :] * 10 + i[..., :, :1] * 100, n + torch.arange(i.size(-1))
)",
                  sizes, [](Floats& x, const std::vector<int64_t>& index) {
                    std::vector<int64_t> row = index, column = index;
                    row[row.size() - 2] = 0, column.back() = 0;
                    return std::vector{x.at(index) + x.at(row) * 10 + x.at(column) * 100,
                                       x.at(index) + static_cast<float>(index.back())};
                  });
}

}  // namespace
}  // namespace ingot::codegen
