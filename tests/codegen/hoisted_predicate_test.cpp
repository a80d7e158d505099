// Hoisted predicates: masked operands of all of a thread's elements are loaded before anything is computed, if the mask
// depends only on elements that are loaded anyway.

#include <gtest/gtest.h>

#include <random>

#include "tests/codegen/ops.h"
#include "tests/codegen/reduce_testing.h"

namespace ingot::codegen {
namespace {

struct MaskedOp {
  const char* text;
  bool is_hoisted;
  float (*value)(float a, float b);  ///< the expected result; both tensors contain the pair (a, b)
};

constexpr MaskedOp kMaskedOps[] = {
    {"def op(x, y):\n    return where(x[..., 0] > 0, y[..., 0] * y[..., 1], x[..., 1])\n", true,
     [](float a, float b) { return a > 0 ? a * b : b; }},
    {"def op(x, y):\n    return where(x[..., 0] - 1 > x[..., 1], x[..., 1], y[..., 0] * y[..., 1])\n", true,
     [](float a, float b) { return a - 1 > b ? b : a * b; }},
    {"def op(x, y):\n    return where((x[..., 0] > 0) & (x[..., 1] < 2), y[..., 0] - y[..., 1], x[..., 0])\n", true,
     [](float a, float b) { return a > 0 && b < 2 ? a - b : a; }},
    // The mask is known only within an arm, or is expensive.
    {"def op(x, y):\n    return where(x[..., 0] > 0, where(x[..., 1] > 0, y[..., 0] * y[..., 1], 5), x[..., 1])\n",
     false, [](float a, float b) { return a > 0 ? (b > 0 ? a * b : 5) : b; }},
    {"def op(x, y):\n    return where(torch.exp(x[..., 0]) > 1, y[..., 0] * y[..., 1], x[..., 1])\n", false,
     [](float a, float b) { return a > 0 ? a * b : b; }},
};

TEST(HoistedPredicate, ComputesCorrectElements) {
  std::mt19937 random(23);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 9) - 4); };
  std::vector<std::shared_ptr<const frontend::Definition>> definitions;  // the graphs point into their sources
  std::vector<ReduceCase> cases;
  for (const MaskedOp& op : kMaskedOps) {
    definitions.push_back(frontend::define(op.text));
    for (const ir::Sizes& sizes :
         std::vector<ir::Sizes>{{2, 2}, {255, 2}, {257, 2}, {5000, 2}, {33, 31, 2}, {40, 300, 2}}) {
      ReduceCase& test_case = cases.emplace_back();
      test_case.name = "case" + std::to_string(cases.size());
      const auto rank = static_cast<uint8_t>(sizes.size());
      test_case.graph = graph_of(*definitions.back(), {rank, rank});
      test_case.graph.name = test_case.name;
      std::vector<size_t> order(sizes.size());
      std::iota(order.begin(), order.end(), size_t{0});
      test_case.x = tensor(sizes, order, 0, whole);
    }
  }
  const KernelLibrary library = library_of(cases, kCuda);
  ASSERT_TRUE(library.is_loaded());
  for (size_t c = 0; c < cases.size(); ++c) {
    ReduceCase& test_case = cases[c];
    const MaskedOp& op = kMaskedOps[c * std::size(kMaskedOps) / cases.size()];
    const Prepared prepared = test_case.prepared();
    const Schedule schedule = schedules(prepared.graph, prepared.outline, prepared.layouts, kCuda, {})[0];
    // The leader of y's access group is hoisted, or nothing.
    EXPECT_EQ(std::ranges::count(schedule.accesses, true, &AccessSchedule::is_hoisted), op.is_hoisted ? 1 : 0)
        << op.text;
    const std::vector<Bytes> results = run(test_case, kCuda, library, random);
    int64_t element_number = 0;
    std::vector<float> pair;
    for_each_index(test_case.x.extents.sizes, [&](const std::vector<int64_t>& index) {
      pair.push_back(test_case.x.at(index));
      if (pair.size() < 2) return;
      ASSERT_EQ(element<float>(results[0], element_number), op.value(pair[0], pair[1])) << element_number << " of\n"
                                                                                        << op.text;
      pair.clear();
      ++element_number;
    });
  }
}

/// Kernels that reduce hoist predicates if they also store elements. Kernels that only compute sums load masked
/// operands within the arms that use them.
TEST(HoistedPredicate, HoistsPredicatesOnlyInRowsThatStoreElements) {
  std::mt19937 random(29);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 9) - 4); };
  constexpr const char* kTexts[] = {
      "def op(x, y):\n    v = where(x[..., 0] > 0, y[..., 0] * y[..., 1], x[..., 1])\n    return v, v.sum()\n",
      "def op(x, y):\n    return where(x[..., 0] > 0, y[..., 0] * y[..., 1], x[..., 1]).sum()\n"};
  std::vector<std::shared_ptr<const frontend::Definition>> definitions;
  std::vector<ReduceCase> cases;
  for (const char* text : kTexts) {
    definitions.push_back(frontend::define(text));
    for (const int64_t n : {2, 255, 3000, 3001, 9001, 40000}) {
      ReduceCase& test_case = cases.emplace_back();
      test_case.name = "case" + std::to_string(cases.size());
      test_case.graph = graph_of(*definitions.back(), {2, 2});
      test_case.graph.name = test_case.name;
      test_case.x = tensor({n, 2}, {0, 1}, 0, whole);
    }
  }
  const KernelLibrary library = library_of(cases, kCuda);
  ASSERT_TRUE(library.is_loaded());
  size_t hoisted[2] = {};
  for (size_t c = 0; c < cases.size(); ++c) {
    ReduceCase& test_case = cases[c];
    const bool stores = c < cases.size() / 2;
    const Prepared prepared = test_case.prepared();
    for (const Schedule& schedule : schedules(prepared.graph, prepared.outline, prepared.layouts, kCuda, {}))
      hoisted[stores] += static_cast<size_t>(std::ranges::count(schedule.accesses, true, &AccessSchedule::is_hoisted));
    const std::vector<Bytes> results = run(test_case, kCuda, library, random);
    float sum = 0;
    for (int64_t i = 0; i < test_case.x.extents.sizes[0]; ++i) {
      const float a = test_case.x.at({i, 0}), b = test_case.x.at({i, 1}), value = a > 0 ? a * b : b;
      if (stores) {
        ASSERT_EQ(element<float>(results[0], i), value) << i << " of " << test_case.name;
      }
      sum += value;
    }
    ASSERT_EQ(element<float>(results[stores ? 1 : 0], 0), sum) << test_case.name;
  }
  EXPECT_GT(hoisted[true], 1u);
  EXPECT_EQ(hoisted[false], 0u);
}

}  // namespace
}  // namespace ingot::codegen
