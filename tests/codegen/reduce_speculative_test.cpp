// Kernels with speculative sums, run on this machine on small integers, whose sums are exact, and compared with a
// reference.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "tests/codegen/reduce_testing.h"

namespace ingot::codegen {
namespace {

/// An op in which a condition per row decides which values are summed. Its results are the maximum m, and the sum of x
/// + 1, or of x - 3 if the row's first element is far below m. If `stores_elements`, also x minus the sum.
ReduceCase speculative_case(std::string name, const Floats& x, const ir::DimMarks& reduced, bool stores_elements) {
  ReduceGraphBuilder op(x.extents.sizes.size(), reduced);
  const ir::NodeId m = op.read(op.reduce(ReduceKind::Max, op.x()));
  const ir::NodeId distance = op.node(Op::Sub, m, op.first_of_row());
  const ir::NodeId is_near = op.graph().add(Op::Le, DType::Bool, {distance, op.constant(15)});
  const ir::NodeId near = op.node(Op::Add, op.x(), op.constant(1)), far = op.node(Op::Sub, op.x(), op.constant(3));
  const ir::NodeId summand = op.graph().add(Op::Where, DType::F32, {is_near, near, far});
  const ir::NodeId sum = op.read(op.reduce(ReduceKind::Sum, summand));
  op.result(m, true);
  op.result(sum, true);
  if (stores_elements) op.result(op.node(Op::Sub, op.x(), sum), false);
  ReduceCase test_case{std::move(name), std::move(op.graph()), x};
  test_case.graph.name = test_case.name;
  return test_case;
}

struct ExpectedSums {
  std::vector<float> largest, sums, differences;
  int near = 0, far = 0;
};

ExpectedSums expected_of(Floats x, const ir::DimMarks& reduced) {
  const ir::Sizes& sizes = x.extents.sizes;
  std::map<std::vector<int64_t>, std::vector<float>> rows;
  const auto row_of = [&](std::vector<int64_t> index) {
    for (size_t d = 0; d < index.size(); ++d)
      if (reduced[d]) index[d] = 0;
    return index;
  };
  for_each_index(sizes, [&](const std::vector<int64_t>& index) { rows[row_of(index)].push_back(x.at(index)); });
  ExpectedSums expected;
  std::map<std::vector<int64_t>, float> sums;
  for (const auto& [row, values] : rows) {
    const float largest = std::ranges::max(values);
    const bool is_near = largest - values[0] <= 15;
    ++(is_near ? expected.near : expected.far);
    float sum = 0;
    for (const float value : values) sum += is_near ? value + 1 : value - 3;
    expected.largest.push_back(largest);
    expected.sums.push_back(sums[row] = sum);
  }
  for_each_index(sizes, [&](const std::vector<int64_t>& index) {
    expected.differences.push_back(x.at(index) - sums.at(row_of(index)));
  });
  return expected;
}

class ReduceSpeculative : public testing::TestWithParam<Target> {};

TEST_P(ReduceSpeculative, SpeculativeSumsAreCorrect) {
  std::mt19937 random(11);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 41) - 20); };
  struct Shape {
    ir::Sizes sizes;
    std::vector<size_t> order;
    int64_t pad;
    ir::DimMarks reduced;
    PartitionStrategy strategy = PartitionStrategy::Whole;
  };
  std::vector<Shape> shapes;
  for (const int64_t n : {1, 2, 5, 17, 33, 100, 256, 1000, 2048, 4097}) {
    for (const int64_t pad : {0, 1, 4}) shapes.push_back({{7, n}, {0, 1}, pad, {0, 1}});
    if (n <= 1024) shapes.push_back({{n, 35}, {0, 1}, 0, {1, 0}});
  }
  shapes.push_back({{300, 40}, {0, 1}, 0, {0, 1}});
  shapes.push_back({{4, 6, 5}, {0, 1, 2}, 0, {1, 0, 1}});
  shapes.push_back({{40, 6, 300}, {0, 1, 2}, 0, {1, 0, 1}});
  shapes.push_back({{5, 60, 68}, {0, 1, 2}, 0, {0, 1, 0}});
  shapes.push_back({{2, 160, 130}, {0, 2, 1}, 0, {0, 1, 1}});
  for (const PartitionStrategy strategy : {PartitionStrategy::PerPhase, PartitionStrategy::Whole})
    for (const int64_t n : {1, 64, 1025})
      for (const int kind : {0, 1}) {  // the row starts with the largest element, or with the smallest
        shapes.push_back({{n}, {0}, kind, {1}, strategy});
      }
  std::vector<ReduceCase> cases;
  std::vector<ExpectedSums> expected;
  int near = 0, far = 0;
  for (const Shape& shape : shapes)
    for (const bool stores_elements : {false, true}) {
      Floats x = tensor(shape.sizes, shape.order, shape.sizes.size() == 1 ? 0 : shape.pad, whole);
      if (shape.sizes.size() == 1) x.at({0}) = shape.pad == 0 ? 20.0f : -20.0f;
      cases.push_back(speculative_case("case" + std::to_string(cases.size()), x, shape.reduced, stores_elements));
      cases.back().strategy = shape.strategy;
      ir::verify(cases.back().graph);
      expected.push_back(expected_of(x, shape.reduced));
      near += expected.back().near, far += expected.back().far;
    }
  EXPECT_GT(near, 100);
  EXPECT_GT(far, 100);
  const KernelLibrary library = library_of(cases, GetParam());
  ASSERT_TRUE(library.is_loaded());
  for (size_t c = 0; c < cases.size(); ++c) {
    const std::vector<Bytes> results = run(cases[c], GetParam(), library, random);
    const auto what = [&] {
      const Prepared prepared = cases[c].prepared();
      return prepared.layouts[0].text() + "\n" +
             schedule_text(prepared.graph, prepared.outline, prepared.layouts, GetParam(), {});
    };
    const auto expect = [&](size_t r, const std::vector<float>& values) {
      for (size_t e = 0; e < values.size(); ++e)
        ASSERT_EQ(element<float>(results[r], static_cast<int64_t>(e)), values[e])
            << "element " << e << " of " << r << "\n"
            << what();
    };
    expect(0, expected[c].largest);
    expect(1, expected[c].sums);
    if (results.size() > 2) expect(2, expected[c].differences);
  }
}

// Speculative sums in kernels in which several phases need a transcendental function e of the elements, so that a phase
// may cache e instead of the input. In every other row the sum is of the second arm.
TEST_P(ReduceSpeculative, RowsThatTakeTheOtherArmAreCorrect) {
  std::mt19937 random(13);
  const auto reduced = ir::DimMarks{0, 1};
  std::vector<ReduceCase> cases;
  for (const int64_t n : {20, 300, 1024, 4096, 9001})
    for (const bool caches_late : {false, true}) {
      Floats x = tensor({6, n}, {0, 1}, 0, [] { return 0.0f; });
      for_each_index({6, n}, [&](const std::vector<int64_t>& index) {
        x.at(index) = static_cast<float>(random() % (index[0] % 2 == 0 ? 7u : 9u));
      });
      for (int64_t row = 0; row < 6; ++row) x.at({row, n - 1}) = row % 2 == 0 ? 6.0f : 8.0f;
      ReduceGraphBuilder op(2, reduced);
      const auto sum = [&](ir::NodeId operand) { return op.read(op.reduce(ReduceKind::Sum, operand)); };
      const auto decided = [&](ir::NodeId m, float most, ir::NodeId early, ir::NodeId other) {
        const ir::NodeId is_speculative = op.graph().add(Op::Le, DType::Bool, {m, op.constant(most)});
        return sum(op.graph().add(Op::Where, DType::F32, {is_speculative, early, other}));
      };
      if (caches_late) {
        const ir::NodeId m = op.read(op.reduce(ReduceKind::Max, op.x()));
        const ir::NodeId e = op.node(Op::Exp2, op.node(Op::Sub, op.x(), m));
        const ir::NodeId t = sum(op.node(Op::Mul, e, decided(m, 7, op.x(), e)));
        op.result(t, true);
        op.result(op.node(Op::Sub, e, t), false);
      } else {
        const ir::NodeId e = op.node(Op::Exp2, op.x()), m = op.read(op.reduce(ReduceKind::Max, e));
        const ir::NodeId s = decided(m, 100, op.node(Op::Add, op.x(), op.constant(1)), op.node(Op::Sub, op.x(), m));
        op.result(s, true);
        op.result(op.node(Op::Sub, e, s), false);
      }
      cases.push_back({"case" + std::to_string(cases.size()), std::move(op.graph()), x});
      cases.back().graph.name = cases.back().name;
      ir::verify(cases.back().graph);
    }
  const KernelLibrary library = library_of(cases, GetParam());
  ASSERT_TRUE(library.is_loaded());
  for (size_t c = 0; c < cases.size(); ++c) {
    const bool caches_late = c % 2 == 1;
    Floats& x = cases[c].x;
    const int64_t n = x.extents.sizes[1];
    const std::vector<Bytes> results = run(cases[c], GetParam(), library, random);
    for (int64_t row = 0; row < 6; ++row) {
      const bool is_speculative = row % 2 == 0;
      const double m = caches_late ? (is_speculative ? 6 : 8) : (is_speculative ? 64 : 256);
      const auto e = [&](int64_t i) { return std::exp2(x.at({row, i}) - (caches_late ? m : 0)); };
      double s = 0, t = 0;
      for (int64_t i = 0; i < n; ++i)
        s += caches_late ? (is_speculative ? x.at({row, i}) : e(i)) : x.at({row, i}) + (is_speculative ? 1 : -m);
      for (int64_t i = 0; i < n; ++i) t += e(i) * s;
      const double expected = caches_late ? t : s, tolerance = 1e-5 * std::abs(expected) + 1e-5;
      ASSERT_NEAR(element<float>(results[0], row), expected, tolerance) << "row " << row << " of " << n;
      for (int64_t i = 0; i < n; ++i)
        ASSERT_NEAR(element<float>(results[1], row * n + i), e(i) - expected, tolerance) << i << " of row " << row;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ReduceSpeculative, testing::Values(kCpu, kCuda), name_of_target);

}  // namespace
}  // namespace ingot::codegen
