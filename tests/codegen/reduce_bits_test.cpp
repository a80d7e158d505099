// For arbitrary values, the bits of a reduction depend on the row alone, not on other rows, strides or cached values.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "base/error.h"
#include "codegen/kernel/build.h"
#include "tests/codegen/reduce_testing.h"

namespace ingot::codegen {
namespace {

/// The sum of a row's elements, and of their squares: one phase.
ReduceCase sums_case(std::string name, const Floats& x, const ir::DimMarks& reduced) {
  ReduceGraphBuilder op(x.extents.sizes.size(), reduced);
  op.result(op.read(op.reduce(ReduceKind::Sum, op.x())), true);
  op.result(op.read(op.reduce(ReduceKind::Prod, op.node(Op::Add, op.x(), op.x()))), true);
  ReduceCase test_case{std::move(name), std::move(op.graph()), x};
  test_case.graph.name = test_case.name;
  return test_case;
}

class ReduceBits : public testing::TestWithParam<Target> {};

TEST_P(ReduceBits, BitsDoNotDependOnOtherRows) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (const int64_t n : {3, 20, 33, 100, 1000, 1023, 3000, 9000}) {
    std::vector<float> row(static_cast<size_t>(n));
    for (float& value : row) value = 0.5f + 0.01f * normal(random);
    // A lone row; a row among others; adjacent rows across; padded memory; a row of two dims.
    std::vector<ReduceCase> cases;
    std::vector<size_t> result_indices;  // the row's index in the results
    const auto add = [&](const ir::Sizes& sizes, const std::vector<size_t>& order, int64_t pad,
                         const ir::DimMarks& reduced, const std::function<bool(const std::vector<int64_t>&)>& is_in_row,
                         size_t result_index = 0) {
      Floats x = tensor(sizes, order, pad, [&] { return normal(random); });
      size_t next = 0;
      for_each_index(sizes, [&](const std::vector<int64_t>& index) {
        if (is_in_row(index)) x.at(index) = row[next++];
      });
      const std::string name = "case" + std::to_string(cases.size());
      cases.push_back(sums_case(name, x, reduced));
      result_indices.push_back(result_index);
    };
    const auto first = [](const std::vector<int64_t>& index) { return index[0] == 0; };
    add({1, n}, {0, 1}, 0, {0, 1}, first);
    add({7, n}, {0, 1}, 0, {0, 1}, first);
    add({7, n}, {0, 1}, 3, {0, 1}, first);
    add({7, n}, {1, 0}, 0, {0, 1}, first);
    const auto first_column = [](const std::vector<int64_t>& index) { return index.back() == 0; };
    add({n, 40}, {0, 1}, 0, {1, 0}, first_column);
    add({n, 132}, {0, 1}, 0, {1, 0}, first_column);
    add({n, 66}, {0, 1}, 0, {1, 0}, first_column);
    for (const int64_t last : {2, 69, 131}) {
      if (n * last > 100'000) continue;
      const auto result_index = static_cast<size_t>(last);
      add({n, last + 1}, {0, 1}, 0, {1, 0}, [last](const auto& index) { return index.back() == last; }, result_index);
      add({last + 1, n}, {0, 1}, 0, {0, 1}, [last](const auto& index) { return index[0] == last; }, result_index);
    }
    if (n % 20 == 0)
      add({20, 3, n / 20}, {0, 1, 2}, 0, {1, 0, 1}, [](const std::vector<int64_t>& index) { return index[1] == 0; });
    const KernelLibrary library = library_of(cases, GetParam());
    ASSERT_TRUE(library.is_loaded());
    std::vector<Bytes> reference;
    for (size_t c = 0; c < cases.size(); ++c) {
      const ReduceCase& test_case = cases[c];
      const std::vector<Bytes> results = run(test_case, GetParam(), library, random);
      ASSERT_EQ(results.size(), 2u);
      if (reference.empty()) reference = results;
      const Prepared prepared = test_case.prepared();
      for (size_t r = 0; r < results.size(); ++r)
        ASSERT_EQ(element<uint32_t>(results[r], result_indices[c]), element<uint32_t>(reference[r], 0))
            << schedule_text(prepared.graph, prepared.outline, prepared.layouts, GetParam(), {});
    }
  }
}

// Rows of several layouts, and rows in one kernel and in a kernel per phase. ScheduleBits compares the schedules
// of one layout.
TEST_P(ReduceBits, BitsOfLaterPhasesDoNotDependOnCaching) {
  std::mt19937 random(13);
  std::normal_distribution<float> normal;
  for (const int64_t n : {9, 75, 1000, 5000, 20000}) {
    std::vector<float> row(static_cast<size_t>(n));
    for (float& value : row) value = normal(random);
    std::vector<ReduceCase> cases;
    const auto add = [&](const std::vector<size_t>& order, int64_t pad) {
      Floats x = tensor({3, n}, order, pad, [&] { return normal(random); });
      for (int64_t i = 0; i < n; ++i) x.at({1, i}) = row[static_cast<size_t>(i)];
      cases.push_back(multi_phase_case("case" + std::to_string(cases.size()), x, {0, 1}));
    };
    add({0, 1}, 0);
    add({0, 1}, 3);
    add({1, 0}, 0);
    add({0, 1}, 0);
    cases.back().use_many_rows_kernels = true;
    for (const PartitionStrategy strategy :
         {PartitionStrategy::PerPhase, PartitionStrategy::StoresApart, PartitionStrategy::Whole}) {
      const std::string name = "case" + std::to_string(cases.size());
      size_t next = 0;
      cases.push_back(multi_phase_case(name, tensor({n}, {0}, 0, [&] { return row[next++]; }), {1}));
      cases.back().strategy = strategy;
    }
    const KernelLibrary library = library_of(cases, GetParam());
    ASSERT_TRUE(library.is_loaded());
    std::optional<uint32_t> sum;
    for (const ReduceCase& test_case : cases) {
      const std::vector<Bytes> results = run(test_case, GetParam(), library, random);
      ASSERT_EQ(results.size(), 4u);
      const auto bits = element<uint32_t>(results[2], test_case.x.extents.sizes.size() == 1 ? 0 : 1);
      const Prepared prepared = test_case.prepared();
      EXPECT_EQ(bits, sum.value_or(bits))
          << schedule_text(prepared.graph, prepared.outline, prepared.layouts, GetParam(), {});
      sum = bits;
    }
  }
}

TEST(ReduceSchedules, SharedMemoryHoldsTheLastStepsOfARow) {
  const auto bytes_of = [](int64_t n) {
    const ReduceCase test_case = multi_phase_case("op", tensor({2, n}, {0, 1}, 0, [] { return 0.0f; }), {0, 1});
    const Prepared prepared = test_case.prepared();
    const Kernel kernel = kernels(prepared.graph, prepared.outline, prepared.layouts, kCuda, {}).at(0);
    const int64_t bytes = kernel.launch.shared_bytes(prepared.geometries[0].extents);
    EXPECT_LE(bytes, kernel.launch.shared.most_bytes()) << n;
    return bytes;
  };
  // Vectors of 512 threads, or of 1024 beyond 32768 elements; eight vectors of each thread are in registers.
  EXPECT_EQ(bytes_of(16384), 0);
  EXPECT_EQ(bytes_of(20000), 2 * 512 * 16);
  EXPECT_EQ(bytes_of(32768), 8 * 512 * 16);
  EXPECT_EQ(bytes_of(33000), 1 * 1024 * 16);
  EXPECT_EQ(bytes_of(65536), 8 * 1024 * 16);
  // For each block of a cluster, the bytes of 512 threads.
  EXPECT_EQ(bytes_of(65540), 1 * 512 * 16);
  EXPECT_EQ(bytes_of(131072), 8 * 512 * 16);
  EXPECT_EQ(bytes_of(262144), 8 * 512 * 16);
  EXPECT_EQ(bytes_of(262148), 0) << "it is read again";
}

TEST(ReduceSchedules, TwoTensorsDoNotOverlapInSharedMemory) {
  const Floats x = tensor({2, 20000}, {0, 1}, 0, [] { return 0.0f; });
  const ReduceCase first = multi_phase_case("first", x, {0, 1});
  ReduceGraphBuilder op(2, {0, 1});
  const ir::NodeId product = op.node(Op::Mul, op.x(), op.tensor("y"));
  op.result(op.node(Op::Sub, product, op.read(op.reduce(ReduceKind::Max, product))), false);
  const ReduceCase second{"second", std::move(op.graph()), x};

  const auto schedule_of = [](const Prepared& prepared) {
    return schedules(prepared.graph, prepared.outline, prepared.layouts, kCuda, {}).at(0);
  };
  const Prepared prepared = second.prepared();
  Schedule schedule = schedule_of(prepared);
  const auto build_kernel = [&] {
    return build(prepared.graph, prepared.outline.kernels[0], prepared.layouts[0], schedule, kCuda, {});
  };
  EXPECT_NO_THROW(build_kernel());
  const Schedule of_first = schedule_of(first.prepared());
  schedule.loop_maps = of_first.loop_maps, schedule.residency = of_first.residency;
  ASSERT_GT(schedule.residency.shared_steps, 0u);
  std::string error_message;
  try {
    build_kernel();
  } catch (const Error& error) {
    error_message = error.message();
  }
  EXPECT_EQ(error_message, "a schedule breaks a rule: two arrays of a kernel would share their place in shared memory");
}

INSTANTIATE_TEST_SUITE_P(Targets, ReduceBits, testing::Values(kCpu, kCuda), name_of_target);

}  // namespace
}  // namespace ingot::codegen
