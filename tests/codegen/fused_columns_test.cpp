// Fused column partials, computed by a kernel that traverses rows: the columns' results are correct, and the bits of
// the rows' results are the same as without fused column partials.

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/codegen/ops.h"
#include "tests/codegen/reduce_testing.h"

namespace ingot::codegen {
namespace {

/// An op over rows in three phases. A value of each phase is also reduced along columns.
constexpr const char* kText = R"(
def op(x):
    largest = x.amax(-1, keepdim=True)
    total = (x - largest).sum(-1, keepdim=True)
    columns = tuple(range(x.dim() - 1))
    return x + total, total, x.sum(columns), (x * (x - largest)).sum(columns), (x + total).amax(columns)
)";

struct Expected {
  std::vector<float> elements, totals, sums, products, largest;
};

Expected expected_of(Floats x) {
  const ir::Sizes& sizes = x.extents.sizes;
  const auto columns = static_cast<size_t>(sizes.back());
  Expected expected;
  expected.sums.assign(columns, 0), expected.products.assign(columns, 0);
  expected.largest.assign(columns, -std::numeric_limits<float>::infinity());
  std::vector<float> row;
  for_each_index(sizes, [&](const std::vector<int64_t>& index) {
    row.push_back(x.at(index));
    if (row.size() < columns) return;
    const float largest = *std::ranges::max_element(row);
    float total = 0;
    for (const float value : row) total += value - largest;
    expected.totals.push_back(total);
    for (size_t c = 0; c < columns; ++c) {
      expected.elements.push_back(row[c] + total);
      expected.sums[c] += row[c];
      expected.products[c] += row[c] * (row[c] - largest);
      expected.largest[c] = std::max(expected.largest[c], row[c] + total);
    }
    row.clear();
  });
  return expected;
}

struct Shape {
  ir::Sizes sizes;
  std::vector<size_t> order;
  int64_t pad = 0;
};

std::vector<ReduceCase> cases_of(const std::vector<Shape>& shapes, PartitionStrategy strategy,
                                 const std::function<float()>& value) {
  static const auto definition = frontend::define(kText);  // graphs point into its source
  std::vector<ReduceCase> cases;
  for (const Shape& shape : shapes) {
    ReduceCase& test_case = cases.emplace_back();
    test_case.name = "case" + std::to_string(cases.size());
    test_case.graph = graph_of(*definition, {static_cast<uint8_t>(shape.sizes.size())});
    test_case.graph.name = test_case.name;
    test_case.x = tensor(shape.sizes, shape.order, shape.pad, value);
    test_case.strategy = strategy;
  }
  return cases;
}

/// Compares elements, in the order of their indices, with a result of the given layout.
void expect_equal(const Bytes& bytes, const ir::SizesAndStrides& result, const std::vector<float>& expected,
                  const std::string& what) {
  ASSERT_EQ(bytes.size(), 4 * expected.size());
  size_t matching = 0;  // number of correct elements before the first incorrect one
  for_each_index(result.sizes, [&](const std::vector<int64_t>& index) {
    const int64_t offset = std::inner_product(index.begin(), index.end(), result.strides.begin(), int64_t{0});
    if (matching < expected.size() && element<float>(bytes, offset) == expected[matching]) ++matching;
  });
  EXPECT_EQ(matching, expected.size()) << what << ": the index of the first incorrect element";
}

TEST(FusedColumns, ColumnResultsAreCorrect) {
  std::mt19937 random(7);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 9) - 4); };
  std::vector<Shape> shapes;
  for (const int64_t columns : {129, 130, 255, 256, 257, 260, 1000})
    for (const int64_t rows : {1, 3, 70}) shapes.push_back({{rows, columns}, {0, 1}});
  // Some chunks have more rows than others, and several rows each.
  shapes.push_back({{4099, 132}, {0, 1}}), shapes.push_back({{130, 8192}, {0, 1}});
  for (const int64_t pad : {1, 4}) shapes.push_back({{5, 1024}, {0, 1}, pad});
  shapes.push_back({{2, 3, 260}, {0, 1, 2}}), shapes.push_back({{40, 30, 260}, {1, 0, 2}});
  const std::vector<ReduceCase> cases = cases_of(shapes, PartitionStrategy::FusedColumns, whole);
  const KernelLibrary library = library_of(cases, kCuda);
  ASSERT_TRUE(library.is_loaded());
  std::set<bool> prefetches;
  std::set<uint32_t> lanes;
  for (size_t c = 0; c < cases.size(); ++c) {
    const Prepared prepared = cases[c].prepared();
    const Schedule schedule = schedules(prepared.graph, prepared.outline, prepared.layouts, kCuda, {})[0];
    ASSERT_GT(schedule.column_chunks(), 0u);
    prefetches.insert(schedule.residency.prefetches), lanes.insert(schedule.lanes());
    const std::vector<Bytes> results = run(cases[c], kCuda, library, random);
    ASSERT_EQ(results.size(), 5u);
    const Expected expected = expected_of(cases[c].x);
    const std::string what = fmt::format("{}: {} of ", cases[c].name, prepared.layouts[0].text());
    expect_equal(results[0], prepared.results[0], expected.elements, what + "elements");
    expect_equal(results[1], prepared.results[1], expected.totals, what + "totals");
    expect_equal(results[2], prepared.results[2], expected.sums, what + "sums");
    expect_equal(results[3], prepared.results[3], expected.products, what + "products");
    expect_equal(results[4], prepared.results[4], expected.largest, what + "largest");
  }
  EXPECT_TRUE(prefetches.contains(true));
  EXPECT_EQ(lanes, (std::set<uint32_t>{1, 4}));
}

TEST(FusedColumns, DoNotChangeRowBits) {
  std::mt19937 random(11);
  const auto any = [&] { return std::normal_distribution<float>()(random); };
  const std::vector<Shape> shapes = {{{40, 1000}, {0, 1}}, {{131, 333}, {0, 1}}, {{20, 5001}, {0, 1}}};
  std::vector<ReduceCase> fused = cases_of(shapes, PartitionStrategy::FusedColumns, any);
  const KernelLibrary library_fused = library_of(fused, kCuda);
  std::vector<ReduceCase> shared = fused;
  for (ReduceCase& test_case : shared) test_case.strategy = PartitionStrategy::Whole;
  const KernelLibrary library_shared = library_of(shared, kCuda);
  for (size_t c = 0; c < shapes.size(); ++c) {
    const std::vector<Bytes> fused_bytes = run(fused[c], kCuda, library_fused, random);
    const std::vector<Bytes> separate = run(shared[c], kCuda, library_shared, random);
    EXPECT_EQ(fused_bytes[0], separate[0]);
    EXPECT_EQ(fused_bytes[1], separate[1]);
  }
}

TEST(FusedColumns, ColumnBitsDoNotDependOnTheLayout) {
  std::mt19937 random(13);
  const auto any = [&] { return std::normal_distribution<float>()(random); };
  const ir::Sizes sizes = {12, 15, 260};
  std::vector<ReduceCase> cases =
      cases_of({{sizes, {0, 1, 2}}, {sizes, {1, 0, 2}}, {sizes, {0, 1, 2}, 1}, {sizes, {0, 1, 2}, 4}},
               PartitionStrategy::FusedColumns, any);
  for (size_t c = 1; c < cases.size(); ++c)
    for_each_index(sizes, [&](const std::vector<int64_t>& index) { cases[c].x.at(index) = cases[0].x.at(index); });
  const KernelLibrary library = library_of(cases, kCuda);
  const std::vector<Bytes> first = run(cases[0], kCuda, library, random);
  for (size_t c = 1; c < cases.size(); ++c)
    for (const size_t r : {2, 3, 4}) EXPECT_EQ(run(cases[c], kCuda, library, random)[r], first[r]) << c << " " << r;
}

TEST(FusedColumns, WorksWithoutRowReductions) {
  std::mt19937 random(17);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 9) - 4); };
  const auto definition = frontend::define("(x * x - 1, (x * x).sum(0), x.amax(0))");
  std::vector<ReduceCase> cases;
  for (const ir::Sizes& sizes : std::vector<ir::Sizes>{{3, 129}, {40, 260}, {1030, 130}, {70, 1024}, {130, 8190}}) {
    ReduceCase& test_case = cases.emplace_back();
    test_case.name = "case" + std::to_string(cases.size());
    test_case.graph = graph_of(*definition, {2});
    test_case.graph.name = test_case.name;
    test_case.x = tensor(sizes, {0, 1}, 0, whole);
    test_case.strategy = PartitionStrategy::FusedColumns;
  }
  const KernelLibrary library = library_of(cases, kCuda);
  ASSERT_TRUE(library.is_loaded());
  for (ReduceCase& test_case : cases) {
    const Prepared prepared = test_case.prepared();
    ASSERT_EQ(prepared.outline.kernels.size(), 2u);
    EXPECT_TRUE(prepared.outline.kernels[0].reductions.empty());
    const std::vector<Bytes> results = run(test_case, kCuda, library, random);
    const int64_t rows = test_case.x.extents.sizes[0], columns = test_case.x.extents.sizes[1];
    std::vector<float> elements, sums(columns), largest(columns, -std::numeric_limits<float>::infinity());
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        const float x = test_case.x.at({r, c});
        elements.push_back(x * x - 1), sums[c] += x * x, largest[c] = std::max(largest[c], x);
      }
    expect_equal(results[0], prepared.results[0], elements, test_case.name + " elements");
    expect_equal(results[1], prepared.results[1], sums, test_case.name + " sums");
    expect_equal(results[2], prepared.results[2], largest, test_case.name + " largest");
  }
}

TEST(FusedColumns, RequiresRowsContiguousInMemory) {
  const auto passes = [](const std::string& text, const ir::SizesAndStrides& x) {
    const auto definition = frontend::define(text);
    const ir::Graph graph = graph_of(*definition, {static_cast<uint8_t>(x.sizes.size())});
    Tensors tensors;
    tensors.params = {x};
    const Prepared prepared = prepare(graph, tensors, false, {}, /*on_cuda=*/true);
    return std::ranges::any_of(prepared.outline.kernels,
                               [](const KernelOutline& kernel) { return !kernel.column_reductions.empty(); });
  };
  const std::string text = "(x.sum(-1), x.sum(tuple(range(x.dim() - 1))))";
  EXPECT_TRUE(passes(text, contiguous({20000, 300})));
  EXPECT_TRUE(passes(text, {{20000, 300}, {304, 1}})) << "rows are padded";
  EXPECT_TRUE(passes(text, {{20000, 300}, {1, 0}})) << "all elements of a row share one address";
  EXPECT_TRUE(passes(text, {{200, 100, 300}, {300, 60000, 1}})) << "the batch dims are exchanged in memory";
  EXPECT_FALSE(passes(text, {{20000, 300}, {1, 20000}}));
  EXPECT_FALSE(passes(text, {{20000, 300}, {600, 2}}));
  EXPECT_FALSE(passes("def f(x): y = x.T; return y.sum(1), y.sum(0)", contiguous({300, 20000})));
}

TEST(FusedColumns, ReducesColumnsOfRowStatisticsAcross) {
  const auto definition = frontend::define("((x - x.mean(1, keepdim=True)) * x.amax(1, keepdim=True)).sum(0)");
  const ir::Graph graph = graph_of(*definition, {2});
  Tensors tensors;
  tensors.params = {contiguous({500, 100})};
  const Prepared prepared = prepare(graph, tensors, false, PartitionStrategy::Whole);
  for (const Target& target : {kCuda, kCpu}) {
    const std::vector<Schedule> all = schedules(prepared.graph, prepared.outline, prepared.layouts, target, {});
    ASSERT_EQ(all.size(), 2u);
    EXPECT_TRUE(all[1].is_across());
  }
}

}  // namespace
}  // namespace ingot::codegen
