// Stores of access groups by kernels with reductions: as vectors if one phase computes all elements of a group,
// otherwise element by element.

#include <gtest/gtest.h>

#include <random>

#include "tests/codegen/ops.h"
#include "tests/codegen/reduce_testing.h"

namespace ingot::codegen {
namespace {

struct StoreOp {
  const char* text;
  bool reads_total;  ///< the first of the four stored results reads the row's total
  bool is_vector;
};

constexpr StoreOp kStoreOps[] = {
    {R"(
def op(x):
    a, b, c, d = x[..., 0], x[..., 1], x[..., 2], x[..., 3]
    return (a * b).sum(-1), torch.stack([a - b, b * c, c + d, d], -1)
)",
     false, true},
    {R"(
def op(x):
    a, b, c, d = x[..., 0], x[..., 1], x[..., 2], x[..., 3]
    total = (a * b).sum(-1)
    return total, torch.stack([a - b + total[:, None], b * c, c + d, d], -1)
)",
     true, false},
};

class Stores : public testing::TestWithParam<Target> {};

TEST_P(Stores, StoresCorrectNeighbours) {
  std::mt19937 random(5);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 9) - 4); };
  std::vector<std::shared_ptr<const frontend::Definition>> definitions;
  std::vector<ReduceCase> cases;
  std::vector<StoreOp> ops;
  for (const StoreOp& op : kStoreOps)
    for (const int64_t n : {1, 7, 100, 1025, 5000}) {
      definitions.push_back(frontend::define(op.text));
      ops.push_back(op);
      ReduceCase& test_case = cases.emplace_back();
      test_case.name = "case" + std::to_string(cases.size());
      test_case.graph = graph_of(*definitions.back(), {3});
      test_case.graph.name = test_case.name;
      test_case.x = tensor({3, n, 4}, {0, 1, 2}, 0, whole);
    }
  const KernelLibrary library = library_of(cases, GetParam());
  ASSERT_TRUE(library.is_loaded());
  for (size_t c = 0; c < cases.size(); ++c) {
    if (GetParam().cuda() && cases[c].x.extents.sizes[1] > 1) {
      const Prepared prepared = cases[c].prepared();
      const std::string text = generate(prepared.graph, prepared.outline, prepared.layouts, GetParam(), {}, {}).text;
      const bool has_vector = text.find("store(out1_row") != std::string::npos;
      EXPECT_EQ(has_vector, ops[c].is_vector) << ops[c].text;
    }
    const std::vector<Bytes> results = run(cases[c], GetParam(), library, random);
    Floats& x = cases[c].x;
    const int64_t n = x.extents.sizes[1];
    for (int64_t r = 0; r < 3; ++r) {
      float total = 0;
      for (int64_t i = 0; i < n; ++i) total += x.at({r, i, 0}) * x.at({r, i, 1});
      ASSERT_EQ(element<float>(results[0], r), total);
      for (int64_t i = 0; i < n; ++i) {
        const auto at = [&](int64_t k) { return x.at({r, i, k}); };
        const float expected[] = {at(0) - at(1) + (ops[c].reads_total ? total : 0), at(1) * at(2), at(2) + at(3),
                                  at(3)};
        for (int64_t k = 0; k < 4; ++k)
          ASSERT_EQ(element<float>(results[1], (r * n + i) * 4 + k), expected[k]) << ops[c].text << n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Stores, testing::Values(kCuda, kCpu),
                         [](const auto& target) { return target.param.cuda() ? "cuda" : "cpu"; });

}  // namespace
}  // namespace ingot::codegen
