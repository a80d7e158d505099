// Long unaligned rows with a block per row: each block writes the ends of its own row.

#include <gtest/gtest.h>

#include <random>

#include "tests/codegen/ops.h"
#include "tests/codegen/reduce_testing.h"

namespace ingot::codegen {
namespace {

TEST(RowByRow, RowsAreCorrect) {
  std::mt19937 random(19);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 9) - 4); };
  const auto definition = frontend::define(R"(
def op(x):
    first = x[..., :1]
    one = torch.exp(torch.tanh(first - first))
    return x * (first * one) + torch.arange(x.size(-1)), where(torch.arange(x.size(-1)) == first, one, x)
)");
  std::vector<std::pair<ir::Sizes, bool>> shapes;  // and whether threads take several steps through a row
  for (const ir::Sizes& sizes : std::vector<ir::Sizes>{
           {5, 1025}, {3, 1026}, {9, 1027}, {2, 2041}, {7, 2043}, {4, 2047}, {2, 4093}, {6, 5001}, {2, 3, 1025}})
    for (const bool many : {false, true}) shapes.push_back({sizes, many});
  std::vector<ReduceCase> cases;
  for (const auto& [sizes, many] : shapes) {
    ReduceCase& one = cases.emplace_back();
    one.name = "case" + std::to_string(cases.size());
    one.as_if_many = many;
    one.graph = graph_of(*definition, {static_cast<uint8_t>(sizes.size())});
    one.graph.name = one.name;
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    one.x = tensor(sizes, order, 0, whole);
  }
  const Library library = library_of(cases, kCuda);
  ASSERT_TRUE(library.loaded());
  for (ReduceCase& one : cases) {
    const Prepared prepared = one.prepared();
    for (const Schedule& schedule : schedules(one.graph, prepared.outline, prepared.layouts, kCuda, {}))
      EXPECT_EQ(schedule.coordinates, Coordinates::Row) << prepared.layouts[0].text();
    EXPECT_EQ(kernels(one.graph, prepared.outline, prepared.layouts, kCuda, {})[0].launch.block_threads,
              one.as_if_many ? 128u : 256u);
    const std::vector<Bytes> results = run(one, kCuda, library, random);
    const int64_t columns = one.x.extents.sizes.back();
    std::vector<float> row;
    int64_t at = 0;
    for_each_index(one.x.extents.sizes, [&](const std::vector<int64_t>& index) {
      row.push_back(one.x.at(index));
      if (static_cast<int64_t>(row.size()) < columns) return;
      for (int64_t c = 0; c < columns; ++c, ++at) {
        ASSERT_EQ(element<float>(results[0], at), row[c] * row[0] + static_cast<float>(c)) << one.name << " " << at;
        ASSERT_EQ(element<float>(results[1], at), static_cast<float>(c) == row[0] ? 1 : row[c])
            << one.name << " " << at;
      }
      row.clear();
    });
  }
}

}  // namespace
}  // namespace ingot::codegen
