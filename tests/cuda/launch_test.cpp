#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "tests/runtime/support.h"

// Ops on a GPU: exact values, streams, devices, captures. Without a GPU every test is skipped, with the reason.

namespace ingot {
namespace {

using namespace testing_support;

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (c10::cuda::device_count() == 0) GTEST_SKIP() << "there is no GPU here";
  }

  static at::Tensor normal(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
    return at::randn(sizes, at::device(at::kCUDA)).to(dtype);
  }
};

TEST_F(Gpu, MatchesEagerForReluAddAndMul) {
  const Op relu_add(kReluAdd), mul("x * y");
  for (const int64_t n : {0, 1, 5, 1000, 1 << 20, (1 << 20) + 3}) {
    const at::Tensor x = normal({n}), y = normal({n});
    expect_same(relu_add(x, y, 0.5), at::relu(x) + y + 0.5);
    expect_same(mul(x, y), x * y);
  }
}

TEST_F(Gpu, MatchesEagerForTranscendentals) {
  const at::Tensor x = normal({1 << 20}) * 10;
  expect_same(Op("exp(x)")(x), at::exp(x));
  expect_same(Op("tanh(x)")(x), at::tanh(x));
  expect_same(Op("sigmoid(x)")(x), at::sigmoid(x));
  expect_same(Op("erf(x)")(x), at::erf(x));
  expect_same(Op("log(abs(x))")(x), at::log(at::abs(x)));
}

TEST_F(Gpu, MatchesEagerFor16BitFloats) {
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
    const at::Tensor x = normal({100003}, dtype), y = normal({100003}, dtype);
    expect_same(Op("x * y")(x, y), x * y);
    OpOptions eager;
    eager.numerics = Numerics::Eager;
    expect_same(Op("relu(x) + y * x", eager)(x, y), at::relu(x) + y * x);
  }
}

TEST_F(Gpu, MatchesEagerForLayoutsAndStrides) {
  const Op op("def f(x, y):\n    return (x + y) * x\n");
  const std::vector<at::Tensor> tensors = {normal({48, 40}),
                                           normal({40, 48}).t(),
                                           normal({48, 64}).slice(1, 3, 43),
                                           normal({96, 40}).slice(0, 0, 96, 2),
                                           normal({1921}).slice(0, 1).view({48, 40}),
                                           normal({48, 1}).expand({48, 40}),
                                           normal({40}),
                                           normal({})};
  for (const at::Tensor& x : tensors)
    for (const at::Tensor& y : tensors) expect_same(op(x, y), (x + y) * x);
}

TEST_F(Gpu, MatchesTheCpuForGiou) {
  const Op op(kGiou);
  const at::Tensor low = at::randint(0, 100, {7, 1001, 2}, at::device(at::kCUDA));
  const at::Tensor boxes = at::cat({low, low + at::randint(1, 100, {7, 1001, 2}, at::device(at::kCUDA))}, -1);
  const at::Tensor pred = boxes.to(at::kFloat) + 0.25, target = boxes.flip(0).to(at::kByte);
  const at::Tensor on_cpu = op(pred.cpu(), target.cpu());
  EXPECT_TRUE(at::allclose(op(pred, target).cpu(), on_cpu, 0, 0));
}

TEST_F(Gpu, PassesCpuScalarsAsNumbers) {
  const Op op("def f(x, y):\n    return x * y\n");
  const at::Tensor x = normal({1000});
  for (const double value : {0.5, 2.0}) {
    const at::Tensor y = at::scalar_tensor(value, at::kDouble);
    expect_same(op(x, y), x * y);
  }
  EXPECT_EQ(growth([&] { op(x, at::scalar_tensor(3.0, at::kDouble)); }).compiles, 0u);
}

TEST_F(Gpu, RejectsDifferentDevices) {
  const Op op("x + y");
  const std::string text = error_of([&] { op(normal({4}), at::randn({4})); });
  EXPECT_NE(text.find("`x` is on cuda:0 and `y` is on cpu"), std::string::npos) << text;
}

TEST_F(Gpu, RunsOnTheCurrentStream) {
  const Op op("x + 1");
  const at::Tensor big = normal({1 << 24}), warm = op(big);
  const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
  at::Tensor result, sum;
  {
    // On any other stream the sum would start before the op has ended.
    const c10::cuda::CUDAStreamGuard guard(stream);
    for (int i = 0; i < 20; ++i) {
      result = op(big);
      sum = (result - big - 1).abs().max();
    }
  }
  stream.synchronize();
  EXPECT_LT(sum.item<float>(), 1e-6);
}

TEST_F(Gpu, LaunchesOnTheTensorsDevice) {
  if (c10::cuda::device_count() < 2) GTEST_SKIP() << "explained: there is one GPU here, and this needs two";
  const Op op("x + 1");
  const at::Tensor x = at::randn({1000}, at::device(at::Device(at::kCUDA, 1)));
  const at::Tensor result = op(x);
  EXPECT_EQ(result.device().index(), 1);
  EXPECT_EQ(c10::cuda::current_device(), 0);
  expect_same(result, x + 1);
}

/// Prepares `op`, which is x * 2 + 7, on a device and captures its first launch there.
void expect_captured(const Op& op, c10::DeviceIndex device) {
  const c10::cuda::CUDAGuard guard(device);
  const at::Tensor x = at::randn({1000}, at::device(at::kCUDA));
  const Argument arguments[] = {x};
  op.prepare(arguments);
  at::cuda::CUDAGraph graph;
  const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
  at::Tensor result;
  {
    const c10::cuda::CUDAStreamGuard on_stream(stream);
    graph.capture_begin();
    result = op(x);
    graph.capture_end();
  }
  x.fill_(3);
  graph.replay();
  c10::cuda::device_synchronize();
  EXPECT_TRUE(at::equal(result, at::full_like(x, 13)));
}

TEST_F(Gpu, IsCapturedAfterPrepare) { expect_captured(Op("x * 2 + 7"), 0); }

TEST_F(Gpu, IsCapturedOnASecondDeviceAfterPrepareThere) {
  if (c10::cuda::device_count() < 2) GTEST_SKIP() << "explained: there is one GPU here, and this needs two";
  const Op op("x * 2 + 7");
  expect_captured(op, 0);
  const Counters grown = growth([&] { expect_captured(op, 1); });
  EXPECT_EQ(grown.compiles, 0u);
}

TEST_F(Gpu, ReportsIndicesOutOfRangeInDebugMode) {
  OpOptions options;
  options.debug = true;
  const Op op("def pick(table, t):\n    return table[t] * 2\n", options);
  const at::Tensor table = normal({5}), good = at::tensor({0L, 4L, -5L}).cuda(), bad = at::tensor({0L, 5L}).cuda();
  expect_same(op(table, good), table.index({good}) * 2);
  const std::string text = error_of([&] { op(table, bad); });
  EXPECT_NE(text.find("pick: index out of range in `table[t]`"), std::string::npos) << text;
  expect_same(op(table, good), table.index({good}) * 2, "the device works after the error");
}

TEST_F(Gpu, SupportsMoreElementsThanAnInt32Counts) {
  constexpr int64_t kElements = (int64_t{1} << 31) + 1027;
  const auto [free, total] = c10::cuda::CUDACachingAllocator::get()->getMemoryInfo(0);
  if (free < size_t{4} * kElements)
    GTEST_SKIP() << "explained: less than 8 GiB are free here, for two tensors of 2 GiB and temporaries";
  const at::Tensor x = at::arange(251, at::device(at::kCUDA).dtype(at::kByte)).repeat({kElements / 251 + 1});
  const at::Tensor first = x.slice(0, 0, kElements), shifted = x.slice(0, 1, kElements + 1);
  const at::Tensor sum = Op("x + y")(first, shifted);
  for (const int64_t at : {int64_t{0}, (int64_t{1} << 31) - 1, int64_t{1} << 31, kElements - 1024}) {
    const int64_t end = std::min(at + 1024, kElements);
    expect_same(sum.slice(0, at, end), first.slice(0, at, end) + shifted.slice(0, at, end));
  }
}

TEST_F(Gpu, LaunchesAndAllocatesOncePerCall) {
  const Op op(kReluAdd);
  const at::Tensor x = normal({1 << 16}), y = normal({1 << 16});
  op(x, y, 1);
  const Counters grown = growth([&] { op(x, y, 2); });
  EXPECT_EQ(grown.launches, 1u);
  EXPECT_EQ(grown.allocations, 1u);
  EXPECT_EQ(grown.compiles, 0u);
}

}  // namespace
}  // namespace ingot
