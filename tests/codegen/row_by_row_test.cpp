// Kernels with the preset RowByRow, for long unaligned rows: no block writes past the ends of its row.

#include <gtest/gtest.h>

#include <random>

#include "tests/codegen/ops.h"
#include "tests/codegen/reduce_testing.h"

namespace ingot::codegen {
namespace {

TEST(RowByRow, ComputesCorrectRows) {
  std::mt19937 random(19);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 9) - 4); };
  const auto definition = frontend::define(R"(
def op(x):
    first = x[..., :1]
    one = torch.exp(torch.tanh(first - first))
    return x * (first * one) + torch.arange(x.size(-1)), where(torch.arange(x.size(-1)) == first, one, x)
)");
  std::vector<std::pair<ir::Sizes, bool>> shapes;  // with a flag: whether a thread takes several steps per row
  for (const ir::Sizes& sizes : std::vector<ir::Sizes>{
           {5, 1025}, {3, 1026}, {9, 1027}, {2, 2041}, {7, 2043}, {4, 2047}, {2, 4093}, {6, 5001}, {2, 3, 1025}})
    for (const bool many : {false, true}) shapes.push_back({sizes, many});
  std::vector<ReduceCase> cases;
  for (const auto& [sizes, many] : shapes) {
    ReduceCase& test_case = cases.emplace_back();
    test_case.name = "case" + std::to_string(cases.size());
    test_case.use_many_rows_kernels = many;
    test_case.graph = graph_of(*definition, {static_cast<uint8_t>(sizes.size())});
    test_case.graph.name = test_case.name;
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    test_case.x = tensor(sizes, order, 0, whole);
  }
  const KernelLibrary library = library_of(cases, kCuda);
  ASSERT_TRUE(library.is_loaded());
  for (ReduceCase& test_case : cases) {
    const Prepared prepared = test_case.prepared();
    for (const Schedule& schedule : schedules(prepared.graph, prepared.outline, prepared.layouts, kCuda, {}))
      EXPECT_EQ(schedule.coordinates, Coordinates::Row) << prepared.layouts[0].text();
    EXPECT_EQ(kernels(prepared.graph, prepared.outline, prepared.layouts, kCuda, {})[0].launch.block_threads,
              test_case.use_many_rows_kernels ? 128u : 256u);
    const std::vector<Bytes> results = run(test_case, kCuda, library, random);
    const int64_t columns = test_case.x.extents.sizes.back();
    std::vector<float> row;
    int64_t element_number = 0;
    for_each_index(test_case.x.extents.sizes, [&](const std::vector<int64_t>& index) {
      row.push_back(test_case.x.at(index));
      if (static_cast<int64_t>(row.size()) < columns) return;
      for (int64_t c = 0; c < columns; ++c, ++element_number) {
        ASSERT_EQ(element<float>(results[0], element_number), row[c] * row[0] + static_cast<float>(c))
            << test_case.name << " " << element_number;
        ASSERT_EQ(element<float>(results[1], element_number), static_cast<float>(c) == row[0] ? 1 : row[c])
            << test_case.name << " " << element_number;
      }
      row.clear();
    });
  }
}

}  // namespace
}  // namespace ingot::codegen
