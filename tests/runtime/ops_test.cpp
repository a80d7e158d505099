#include "frontend/cpp_functions.h"
#include "tests/runtime/support.h"

// Calls of ops on the CPU, against the equivalent ATen calls.

namespace ingot {
namespace {

using namespace testing_support;

at::Tensor eager_giou(const at::Tensor& pred, const at::Tensor& target_bytes) {
  const at::Tensor target = target_bytes.to(at::kFloat);
  const auto p = pred.unbind(-1), t = target.unbind(-1);
  const at::Tensor w = (at::minimum(p[2], t[2]) - at::maximum(p[0], t[0])).clamp_min(0);
  const at::Tensor h = (at::minimum(p[3], t[3]) - at::maximum(p[1], t[1])).clamp_min(0);
  const at::Tensor inter = w * h;
  const at::Tensor all = (p[2] - p[0]) * (p[3] - p[1]) + (t[2] - t[0]) * (t[3] - t[1]) - inter;
  const at::Tensor hull =
      (at::maximum(p[2], t[2]) - at::minimum(p[0], t[0])) * (at::maximum(p[3], t[3]) - at::minimum(p[1], t[1]));
  return inter / all - (hull - all) / hull;
}

/// Boxes x1 < x2, y1 < y2 as uint8.
at::Tensor random_boxes(at::IntArrayRef batch) {
  std::vector<int64_t> corner_sizes(batch.begin(), batch.end());
  corner_sizes.push_back(2);
  const at::Tensor low = at::randint(0, 100, corner_sizes), extent = at::randint(1, 100, corner_sizes);
  return at::cat({low, low + extent}, -1).to(at::kByte);
}

TEST(Ops, ReluAdd) {
  const Op op(kReluAdd);
  for (const int64_t n : {1, 7, 1000, 100003}) {
    const at::Tensor x = at::randn({n}), y = at::randn({n});
    expect_same(op(x, y, 0.5), at::relu(x) + y + 0.5, std::to_string(n));
  }
}

TEST(Ops, AcceptsABareExpression) {
  const Op op("relu(x) + y * 2");
  const at::Tensor x = at::randn({5, 6}), y = at::randn({6});
  expect_same(op(x, y), at::relu(x) + y * 2);
}

TEST(Ops, LowersACppFunctionLikeTheEquivalentSource) {
  const Op from_function("relu_add(x, y, bias)", [](Value x, Value y, Scalar bias) { return relu(x) + y + bias; });
  const at::Tensor x = at::randn({4, 5}), y = at::randn({4, 5});
  expect_same(from_function(x, y, 0.25), at::relu(x) + y + 0.25);
  const auto ir_of = [&](const Op& op) {
    const Argument arguments[] = {x, y, 0.25};
    return op.emit(Stage::Ir, arguments);
  };
  EXPECT_EQ(ir_of(from_function), ir_of(Op(kReluAdd)));
}

TEST(Ops, AcceptsListsAndDictsOfTensors) {
  const Op op("def f(xs, options):\n    return sum(xs) * options['scale'] - options['shift']\n");
  const std::vector<at::Tensor> xs{at::rand({4}), at::rand({4}), at::rand({1})};
  const at::Tensor shift = at::randn({4});
  const ArgumentGroup options{frontend::Structure::Kind::Dict, {0.5, shift}, {"scale", "shift"}};
  expect_same(op(xs, options), (xs[0] + xs[1] + xs[2]) * 0.5 - shift);
  const std::vector<at::Tensor> fewer{xs[0], xs[1]};
  expect_same(op(fewer, options), (xs[0] + xs[1]) * 0.5 - shift);
}

TEST(Ops, Mul) {
  const Op op("def mul(a, b):\n    return a * b\n");
  const at::Tensor a = at::randn({64, 33}), b = at::randn({64, 33});
  expect_same(op(a, b), a * b);
  expect_same(op(a.to(at::kHalf), b), a.to(at::kHalf) * b);
  expect_same(op(a.to(at::kInt), 3), a.to(at::kInt) * 3);
  expect_same(op(a > 0, b > 0), (a > 0) * (b > 0));
}

TEST(Ops, Giou) {
  const Op op(kGiou);
  for (const std::vector<int64_t>& batch : {std::vector<int64_t>{1}, {3, 17}, {2, 3, 1001}}) {
    const at::Tensor pred = random_boxes(batch).to(at::kFloat) + 0.25, target = random_boxes(batch);
    expect_same(op(pred, target), eager_giou(pred, target));
  }
}

TEST(Ops, Denoise) {
  const Op op(kDenoise);
  const at::Tensor eps = at::randn({2, 3, 8, 8}), sample = at::randn({2, 3, 8, 8}), noise = at::randn({2, 3, 8, 8});
  const at::Tensor table = at::rand({5, 50});
  const auto eager = [&](const at::Tensor& t) {
    const auto row = [&](int64_t k) { return table.select(0, k).index({t}); };
    const at::Tensor x0 = ((sample - row(0) * eps) * row(1)).clamp(-1, 1);
    return row(2) * x0 + row(3) * sample + row(4) * noise;
  };
  for (const int64_t step : {0, 7, 49, -1}) {
    const at::Tensor t = at::scalar_tensor(step, at::kLong);
    expect_same(op(eps, sample, noise, table, t), eager(t), std::to_string(step));
  }
}

TEST(Ops, ReturnsResultsOfSeveralShapes) {
  const Op op("def two(x, y):\n    return x + y, x * 2\n");
  const at::Tensor x = at::randn({4, 1}), y = at::randn({5});
  const Argument arguments[] = {x, y};
  const std::vector<at::Tensor> results = op.call(arguments);
  ASSERT_EQ(results.size(), 2u);
  expect_same(results[0], x + y);
  expect_same(results[1], x * 2);
}

TEST(Ops, LaunchesAStackOnce) {
  const Op op("def pair(x, y):\n    return torch.stack([x + y, x - y], dim=-1)\n");
  const at::Tensor x = at::randn({6, 7}), y = at::randn({6, 7});
  at::Tensor result;
  EXPECT_EQ(growth([&] { result = op(x, y); }).launches, 1u);
  expect_same(result, at::stack({x + y, x - y}, -1));
}

TEST(Ops, SupportsEmptyAndScalarShapes) {
  const Op op(kReluAdd);
  const at::Tensor none = at::randn({0, 3});
  const Counters grown = growth([&] { expect_same(op(none, none, 1), at::relu(none) + none + 1); });
  EXPECT_EQ(grown.launches, 0u);
  EXPECT_EQ(grown.compiles, 0u);
  const at::Tensor one = at::scalar_tensor(2.5);
  expect_same(op(one, one, 1), at::relu(one) + one + 1);
}

TEST(Ops, UsesDefaultArguments) {
  const Op op("def f(x, scale: float = 2.0, shift=1):\n    return x * scale + shift\n");
  const at::Tensor x = at::randn({9});
  expect_same(op(x), x * 2.0 + 1);
  expect_same(op(x, 3.0), x * 3.0 + 1);
  expect_same(op(x, Argument(), 4), x * 2.0 + 4);
  expect_same(op(x, 1.0, x), x * 1.0 + x);
}

TEST(Ops, AcceptsTensorOrNumberWithoutAnnotation) {
  const Op op("def f(x, y):\n    return x - y\n");
  const at::Tensor x = at::randn({9}), i = at::arange(9);
  expect_same(op(x, 2), x - 2);
  expect_same(op(x, x), x - x);
  expect_same(op(i, 2.5), i - 2.5);
  expect_same(op(5, i), 5 - i);
}

TEST(Ops, TreatsZeroDimTensorsAsTensorsOnTheCpu) {
  const Op op("def f(x, y):\n    return x * y\n");
  const at::Tensor x = at::randn({9}).to(at::kHalf), y = at::scalar_tensor(3.0, at::kDouble);
  expect_same(op(x, y), x * y);
}

TEST(Ops, SupportsNumbersInShapes) {
  const Op op("def tail(x, k: int):\n    return x[k:] * 2\n");
  const at::Tensor x = at::randn({9, 4});
  for (const int64_t k : {0, 1, 5, 9, -2}) expect_same(op(x, k), x.slice(0, k) * 2, std::to_string(k));
}

TEST(Ops, MakesOneProgramPerStaticNumber) {
  const Op op("def power(x, n: int):\n    y = x\n    for i in range(n):\n        y = y * x\n    return y\n");
  const at::Tensor x = at::randn({9});
  for (int round = 0; round < 2; ++round) {
    expect_same(op(x, 0), x * 1);
    expect_same(op(x, 1), x * x);
    expect_same(op(x, 3), x * x * x * x);
  }
}

TEST(Ops, ComputesAMinimumOfManyNumbersOnTheHost) {
  const at::Tensor x = at::arange(100);
  std::string parameters, names;
  std::vector<Argument> arguments{x};
  for (int i = 0; i < 40; ++i) {
    const std::string name = "a" + std::to_string(i);
    parameters += ", " + name + ": int";
    names += (i ? ", " : "") + name;
    arguments.emplace_back(int64_t{90 - i});
  }
  const Op op("def f(x" + parameters + "):\n    return x[:min(" + names + ")] * 2\n");
  expect_same(op.call_one(arguments), x.slice(0, 0, 51) * 2);
}

TEST(Ops, UsesTheDefaultDtype) {
  const Op op("def f(i):\n    return i / 2\n");
  const at::Tensor i = at::arange(5);
  EXPECT_EQ(op(i).scalar_type(), at::kFloat);
  const caffe2::TypeMeta before = at::get_default_dtype();
  at::set_default_dtype(caffe2::TypeMeta::fromScalarType(at::kDouble));
  EXPECT_EQ(op(i).scalar_type(), at::kDouble);
  at::set_default_dtype(before);
  EXPECT_EQ(op(i).scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace ingot
