// For arbitrary values, the bits of a reduction depend on the row alone, not on other rows, strides or cached values.
// The schedules of these kernels must be of every kind.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
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
  for (const int64_t n : {3, 20, 33, 100, 500, 1000, 1023, 1024, 3000, 5000, 9000, 40000}) {
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
    const SharedLibrary library = library_of(cases, GetParam());
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
            << schedule_text(test_case.graph, prepared.outline, prepared.layouts, GetParam(), {});
    }
  }
}

// Rows that are cached in registers, in shared memory, in a cluster, or loaded again; rows in batches; rows loaded by
// vectors and by single elements; rows whose corresponding elements are adjacent in memory; rows in one kernel and in
// a kernel per phase.
TEST_P(ReduceBits, BitsOfLaterPhasesDoNotDependOnCaching) {
  std::mt19937 random(13);
  std::normal_distribution<float> normal;
  for (const int64_t n : {9, 33, 75, 100, 1000, 5000, 9000, 16384, 20000, 32768, 40000, 70000}) {
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
    for (const PartitionStrategy strategy : {PartitionStrategy::PerPhase, PartitionStrategy::Whole}) {
      const std::string name = "case" + std::to_string(cases.size());
      size_t next = 0;
      cases.push_back(multi_phase_case(name, tensor({n}, {0}, 0, [&] { return row[next++]; }), {1}));
      cases.back().strategy = strategy;
    }
    const SharedLibrary library = library_of(cases, GetParam());
    ASSERT_TRUE(library.is_loaded());
    std::optional<uint32_t> sum;
    for (const ReduceCase& test_case : cases) {
      const std::vector<Bytes> results = run(test_case, GetParam(), library, random);
      ASSERT_EQ(results.size(), 4u);
      const auto bits = element<uint32_t>(results[2], test_case.x.extents.sizes.size() == 1 ? 0 : 1);
      const Prepared prepared = test_case.prepared();
      EXPECT_EQ(bits, sum.value_or(bits))
          << schedule_text(test_case.graph, prepared.outline, prepared.layouts, GetParam(), {});
      sum = bits;
    }
  }
}

TEST(ReduceSchedules, SharedMemoryHoldsTheLastStepsOfARow) {
  const auto bytes_of = [](int64_t n) {
    const ReduceCase test_case = multi_phase_case("op", tensor({2, n}, {0, 1}, 0, [] { return 0.0f; }), {0, 1});
    const Prepared prepared = test_case.prepared();
    const Kernel kernel = kernels(test_case.graph, prepared.outline, prepared.layouts, kCuda, {}).at(0);
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

  const auto schedule_of = [](const ReduceCase& test_case, const Prepared& prepared) {
    return schedules(test_case.graph, prepared.outline, prepared.layouts, kCuda, {}).at(0);
  };
  const Prepared prepared = second.prepared();
  Schedule schedule = schedule_of(second, prepared);
  const auto build_kernel = [&] {
    return build(second.graph, prepared.outline.kernels[0], prepared.layouts[0], schedule, kCuda, {});
  };
  EXPECT_NO_THROW(build_kernel());
  const Schedule of_first = schedule_of(first, first.prepared());
  schedule.rows = of_first.rows, schedule.threads = of_first.threads;
  ASSERT_GT(schedule.rows.shared_steps, 0u);
  std::string error_message;
  try {
    build_kernel();
  } catch (const Error& error) {
    error_message = error.message();
  }
  EXPECT_EQ(error_message, "a schedule breaks a rule: two arrays of a kernel would share their place in shared memory");
}

TEST(ReduceSchedules, TestsCoverEveryKind) {
  std::set<std::string> seen_kinds;
  const auto kind_of = [](const RowSchedule& rows, uint32_t lanes) {
    return std::string(lanes > 1 && rows.across ? "across by vectors"
                       : rows.across            ? "across"
                       : rows.threads == 1      ? "alone"
                                                : "along") +
           (rows.is_split ? ", split" : "") + (rows.batch > 0 ? ", batch" : "") +
           (rows.cluster > 1 ? ", cluster" : "") +
           (rows.shared_steps > 0 ? ", shared"
            : rows.steps > 0      ? ", register-cached"
                                  : "");
  };
  for (const int64_t n : {1, 9, 75, 100, 1023, 1024, 5000, 20000, 40000, 100000, 300000})
    for (const int64_t columns : {0, 40, 160}) {
      const bool across = columns > 0;
      if (across && n > 100000) continue;
      const Floats x = tensor(across ? ir::Sizes{n, columns} : ir::Sizes{4, n}, {0, 1}, 0, [] { return 0.0f; });
      const ir::DimMarks reduced = across ? ir::DimMarks{1, 0} : ir::DimMarks{0, 1};
      for (const ReduceCase& test_case : {sums_case("op", x, reduced), multi_phase_case("op", x, reduced)}) {
        ReduceCase many = test_case;
        many.use_many_rows_kernels = true;
        const Prepared prepared = (n < 100 ? many : test_case).prepared();
        for (const Schedule& schedule : schedules(test_case.graph, prepared.outline, prepared.layouts, kCuda, {}))
          seen_kinds.insert(kind_of(schedule.rows, schedule.lanes));
      }
    }
  const std::set<std::string> all = {"across",
                                     "across, split",
                                     "across by vectors",
                                     "across by vectors, split",
                                     "alone, register-cached",
                                     "alone, batch, register-cached",
                                     "along",
                                     "along, register-cached",
                                     "along, batch, register-cached",
                                     "along, shared",
                                     "along, split",
                                     "along, cluster, shared"};
  EXPECT_TRUE(std::ranges::includes(seen_kinds, all));
}

INSTANTIATE_TEST_SUITE_P(Targets, ReduceBits, testing::Values(kCpu, kCuda), name_of_target);

}  // namespace
}  // namespace ingot::codegen
