#include <atomic>
#include <random>
#include <string>
#include <thread>

#include "tests/runtime/support.h"

// The cost of a call in launches, allocations and compilations.

namespace ingot {
namespace {

using namespace testing_support;

/// Returns the source of an op that no other test uses, so that no cache holds it: its constant is unique.
std::string unique_source() {
  static std::atomic<int> serial = 0;
  static const uint32_t run_id = std::random_device()();  // process ids recur, and the cache on disk is kept
  return "def fresh(x, y, b: float):\n    return relu(x) * y + b + " + std::to_string(++serial) + ".5 + " +
         std::to_string(run_id) + ".5\n";
}

TEST(Counters, LaunchesAndAllocatesOncePerCall) {
  const Op op(kReluAdd);
  const at::Tensor x = at::randn({100, 20}), y = at::randn({20});
  op(x, y, 0.5);
  const Counters grown = growth([&] { op(x, y, 0.5); });
  EXPECT_EQ(grown.launches, 1u);
  EXPECT_EQ(grown.allocations, 1u);
  EXPECT_EQ(grown.lowerings, 0u);
  EXPECT_EQ(grown.compiles, 0u);
  EXPECT_EQ(grown.loads, 0u);
}

TEST(Counters, ReusesKernelsForNewShapes) {
  const Op op(unique_source());
  const Counters first = growth([&] { op(at::randn({64, 32}), at::randn({64, 32}), 0.5); });
  EXPECT_EQ(first.lowerings, 1u);
  EXPECT_EQ(first.compiles, 1u);
  const Counters grown = growth([&] {
    for (const int64_t n : {16, 48, 4096, 1 << 20}) op(at::randn({n, 32}), at::randn({n, 32}), 0.5);
  });
  EXPECT_EQ(grown.launches, 4u);
  EXPECT_EQ(grown.lowerings, 0u);
  EXPECT_EQ(grown.compiles, 0u);
  EXPECT_EQ(grown.loads, 0u);
}

TEST(Counters, ReusesKernelsForNewScalars) {
  const Op op(unique_source());
  const at::Tensor x = at::randn({64}), y = at::randn({64});
  op(x, y, 0.0);
  const Counters grown = growth([&] {
    for (int i = 1; i < 20; ++i) op(x, y, 0.25 * i);
  });
  EXPECT_EQ(grown.lowerings, 0u);
  EXPECT_EQ(grown.compiles, 0u);
  EXPECT_EQ(grown.launches, 19u);
}

TEST(Counters, ReusesKernelsForNewNumbersInShapes) {
  const Op op("def tail(x, k: int):\n    return x[k:, :] * 3\n");
  const at::Tensor x = at::randn({100, 64});
  op(x, 20);
  op(x, 21);
  const Counters grown = growth([&] {
    for (int k = 30; k < 40; ++k) expect_same(op(x, k), x.slice(0, k) * 3);
  });
  EXPECT_EQ(grown.compiles, 0u);
  EXPECT_EQ(grown.lowerings, 0u);
}

TEST(Counters, ReusesKernelsForNewSizesOfSlicedDims) {
  const Op op("def f(x):\n    return x[:, 0] + x[:, 1] + " + std::to_string(::getpid()) + "\n");
  op(at::randn({8, 4}));
  op(at::randn({8, 100}));
  const Counters grown = growth([&] {
    for (const int64_t n : {101, 102, 4, 200}) {
      const at::Tensor x = at::randn({8, n});
      expect_same(op(x), x.select(1, 0) + x.select(1, 1) + static_cast<int64_t>(::getpid()));
    }
  });
  EXPECT_EQ(grown.lowerings, 0u);
}

TEST(Counters, PrepareLaunchesNothing) {
  const Op op(unique_source());
  const at::Tensor x = at::randn({64}), y = at::randn({64});
  const Argument arguments[] = {x, y, 0.5};
  const Counters prepared = growth([&] { op.prepare(arguments); });
  EXPECT_EQ(prepared.compiles, 1u);
  EXPECT_EQ(prepared.launches, 0u);
  EXPECT_EQ(prepared.allocations, 0u);
  EXPECT_EQ(growth([&] { op(x, y, 0.5); }).compiles, 0u);
}

TEST(Counters, BindsCallsWhenTheTableIsFull) {
  const Op op("def tail(x, k: int):\n    return x[k:] + 1\n");
  const at::Tensor x = at::arange(5000);
  for (int64_t k = 0; k < 4500; ++k) {
    const at::Tensor result = op(x, k);
    ASSERT_EQ(result.numel(), 5000 - k);
    ASSERT_EQ(result[0].item<int64_t>(), k + 1);
  }
}

TEST(Threads, CompileOnce) {
  const Op op(unique_source());
  const at::Tensor x = at::randn({1000}), y = at::randn({1000});
  std::vector<at::Tensor> results(8);
  const Counters grown = growth([&] {
    std::vector<std::thread> threads;
    for (at::Tensor& result : results) threads.emplace_back([&] { result = op(x, y, 0.5); });
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(grown.compiles, 1u);
  EXPECT_EQ(grown.lowerings, 1u);
  EXPECT_EQ(grown.launches, 8u);
  for (const at::Tensor& result : results) EXPECT_TRUE(at::equal(result, results[0]));
}

TEST(Threads, CallWithDifferentShapes) {
  const Op op(kReluAdd);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int64_t i = 1; i < 200; ++i) {
        const at::Tensor x = at::full({i, 3}, double(thread)), y = at::full({i, 3}, double(i));
        wrong += !at::equal(op(x, y, 0.5), at::relu(x) + y + 0.5);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ingot
