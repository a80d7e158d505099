#include <ATen/Parallel.h>

#include <mutex>
#include <set>
#include <thread>

#include "runtime/host/cpu_parallel.h"
#include "tests/runtime/support.h"

// Strided, misaligned and broadcast tensors, and the strides of results.

namespace ingot {
namespace {

using namespace testing_support;

/// Views of one shape, [6, 10], in every typical layout.
std::vector<std::pair<std::string, at::Tensor>> layouts_of(at::ScalarType dtype) {
  const auto fresh = [&](at::IntArrayRef sizes) {
    return dtype == at::kBool ? at::rand(sizes) > 0.5 : (at::randn(sizes) * 10).to(dtype);
  };
  return {{"contiguous", fresh({6, 10})},
          {"transposed", fresh({10, 6}).t()},
          {"rows of a wider tensor", fresh({6, 16}).slice(1, 3, 13)},
          {"every second row", fresh({12, 10}).slice(0, 0, 12, 2)},
          {"every third column", fresh({6, 30}).slice(1, 0, 30, 3)},
          {"misaligned", fresh({61}).slice(0, 1).view({6, 10})},
          {"expanded column", fresh({6, 1}).expand({6, 10})},
          {"expanded row", fresh({10}).expand({6, 10})},
          {"expanded element", fresh({}).expand({6, 10})}};
}

TEST(Layouts, EqualsEagerForEveryPair) {
  const Op op("def f(x, y):\n    return (x + y) * x\n");
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kInt, at::kByte})
    for (const auto& [x_name, x] : layouts_of(dtype))
      for (const auto& [y_name, y] : layouts_of(dtype)) expect_same(op(x, y), (x + y) * x, x_name + " with " + y_name);
}

TEST(Layouts, BroadcastsRanks) {
  const Op op("def f(x, y, z):\n    return (x + y) * z\n");
  const at::Tensor x = at::randn({3, 1, 5, 1}), y = at::randn({4, 1, 6}), z = at::randn({1}), w = at::randn({});
  expect_same(op(x, y, z), (x + y) * z);
  expect_same(op(z, y, w), (z + y) * w);
  expect_same(op(w, w, z), (w + w) * z);
  expect_same(op(w, w, w), (w + w) * w);
}

TEST(Layouts, AppliesEagersStrideRulesPerFunction) {
  const Op op("def f(a, b, c):\n    return (a + b) + c\n");
  const at::Tensor a = at::randn({2, 1}), b = at::randn({1, 3}), c = at::randn({3, 2}).t();
  expect_same(op(a, b, c), (a + b) + c);
  EXPECT_EQ(op(a, b, c).strides(), at::IntArrayRef({3, 1}));
}

TEST(Layouts, KeepsChannelsLast) {
  const Op op("def f(x, y):\n    return x * 2 + y\n");
  const at::Tensor x = at::randn({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor y = at::randn({2, 3, 4, 5}), bias = at::randn({3, 1, 1});
  expect_same(op(x, x), x * 2 + x);
  expect_same(op(x, y), x * 2 + y);
  expect_same(op(y, x), y * 2 + x);
  expect_same(op(x, bias), x * 2 + bias);
}

TEST(Layouts, KeepsThePermutationOfViews) {
  const Op op("def f(x):\n    return x.t() + 1\n");
  const at::Tensor x = at::randn({4, 7});
  expect_same(op(x), x.t() + 1);
  const Op flip("def f(x):\n    return x.flip(0) * x[..., :1]\n");
  expect_same(flip(x), x.flip(0) * x.slice(1, 0, 1));
}

TEST(Layouts, HasEagersStridesForDimsOfSizeOneAndZero) {
  const Op op("def f(x, y):\n    return x * 2, x * 2 + y, relu(x) * 2 + y\n");
  const auto like = [](at::IntArrayRef sizes, at::MemoryFormat format) {
    return at::empty(sizes, at::TensorOptions().memory_format(format)).fill_(1);
  };
  const std::vector<std::vector<int64_t>> shapes = {
      {2, 1, 4, 5}, {1, 1, 3, 1}, {2, 3, 1, 1}, {2, 0, 4, 5}, {0, 3, 4, 1}};
  for (const std::vector<int64_t>& sizes : shapes) {
    for (const auto x_format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      for (const auto y_format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
        const at::Tensor x = like(sizes, x_format), y = like(sizes, y_format);
        const Argument arguments[] = {x, y};
        const std::vector<at::Tensor> results = op.call(arguments);
        expect_same(results[0], x * 2);
        expect_same(results[1], x * 2 + y);
        expect_same(results[2], at::relu(x) * 2 + y);
      }
    }
  }
}

TEST(Layouts, ReturnsTheRequestedMemoryFormat) {
  const at::Tensor x = at::randn({2, 3, 4, 5});
  const Op op("def f(x):\n    return (x * 2).contiguous(memory_format=torch.channels_last)\n");
  expect_same(op(x), (x * 2).contiguous(at::MemoryFormat::ChannelsLast));
  const Op clone("def f(x):\n    return x.clone(memory_format=torch.contiguous_format)\n");
  const at::Tensor nhwc = x.contiguous(at::MemoryFormat::ChannelsLast);
  expect_same(clone(nhwc), nhwc.clone(at::MemoryFormat::Contiguous));
}

TEST(Layouts, SupportsHighRanks) {
  const Op op("def f(x, y):\n    return x + y\n");
  const at::Tensor x = at::randn({2, 1, 3, 1, 2, 1, 3, 1, 2}), y = at::randn({1, 2, 1, 3, 1, 2, 1, 3, 2});
  expect_same(op(x, y), x + y);
}

TEST(Parallel, UsesMoreThanOneThread) {
  if (at::get_num_threads() < 2) GTEST_SKIP() << "PyTorch has one thread here";
  static std::mutex mutex;
  static std::set<std::thread::id> threads;
  const auto kernel = [](const void* const*, int64_t, int64_t) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  };
  runtime::run_parallel(kernel, nullptr, 1 << 20, 1, 1);
  EXPECT_GT(threads.size(), 1u);
}

TEST(Parallel, StartsRangesAtMultiples) {
  static std::mutex mutex;
  static std::map<int64_t, int64_t> ranges;
  const auto kernel = [](const void* const*, int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    ranges[begin] = end;
  };
  for (const int64_t units : {1, 63, 64, 65, 100'001}) {
    ranges.clear();
    runtime::run_parallel(kernel, nullptr, units, 64, 1);
    int64_t covered = 0;
    for (const auto& [begin, end] : ranges) {
      EXPECT_EQ(begin, covered);
      EXPECT_EQ(begin % 64, 0);
      covered = end;
    }
    EXPECT_EQ(covered, units);
  }
}

}  // namespace
}  // namespace ingot
