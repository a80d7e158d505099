#include <torch/csrc/autograd/autograd.h>

#include "frontend/cpp_functions.h"
#include "tests/runtime/support.h"

// Gradients from C++: computed gradients, and incoming gradients that are returned as they are.

namespace ingot {
namespace {

using namespace testing_support;

std::vector<at::Tensor> call(const Op& op, std::initializer_list<Argument> arguments) {
  return op.call(std::vector<Argument>(arguments));
}

TEST(Gradient, ComputesValueAndGradient) {
  const Op loss("loss(x, y)", [](Value x, Value y) { return ((x - y) * (x - y)).method("sum"); });
  const std::string names[] = {"x", "y"};
  const at::Tensor x = at::rand({5, 7}), y = at::rand({5, 7});
  const auto results = call(loss.value_and_grad(names), {x, y});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(at::allclose(results[0], (x - y).square().sum()));
  EXPECT_TRUE(at::allclose(results[1], 2 * (x - y)));
  EXPECT_TRUE(at::allclose(results[2], 2 * (y - x)));
  const std::string unknown[] = {"z"};
  EXPECT_NE(error_of([&] { loss.value_and_grad(unknown); }).find("`z`"), std::string::npos);
}

TEST(Gradient, IgnoresAuxiliaryResults) {
  const Op op("def f(x):\n    return (x * x).sum(), x + 1\n");
  const std::string names[] = {"x"};
  const at::Tensor x = at::rand({4});
  const auto results = call(op.value_and_grad(names, /*has_aux=*/true), {x});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(at::equal(results[1], x + 1));
  EXPECT_TRUE(at::allclose(results[2], 2 * x));
  EXPECT_NE(error_of([&] { call(op.value_and_grad(names), {x}); }).find("has_aux"), std::string::npos);
}

TEST(Gradient, ReturnsTheIncomingGradientOfASum) {
  const Op gradient = Op("x + y.exp()").gradient(std::vector<std::string>{"x", "y"});
  const at::Tensor x = at::rand({4, 3}), y = at::rand({4, 3}), grad = at::rand({4, 3});
  const auto results = call(gradient, {x, y, grad});
  EXPECT_EQ(results[0].const_data_ptr(), grad.const_data_ptr());
  EXPECT_TRUE(at::allclose(results[1], y.exp() * grad));
  // If the caller passes memory, the incoming gradient is copied into it.
  const std::vector<at::Tensor> outs{at::zeros({4, 3}), at::zeros({4, 3})};
  gradient.call_out(std::vector<Argument>{x, y, grad}, outs);
  EXPECT_TRUE(at::equal(outs[0], grad));
  EXPECT_TRUE(at::equal(outs[1], results[1]));
}

TEST(Gradient, WritesForwardedGradientsIntoOuts) {
  const at::Tensor x = at::rand({4, 3}), y = at::rand({4, 3}), first = at::rand({4, 3}), second = at::rand({4, 3});
  {
    const at::Tensor grad = first.clone(), dx = at::zeros({4, 3});
    Op("x + y.exp()")
        .gradient(std::vector<std::string>{"x", "y"})
        .call_out(std::vector<Argument>{x, y, grad}, std::vector<at::Tensor>{dx, grad});
    EXPECT_TRUE(at::equal(dx, first));
    EXPECT_TRUE(at::allclose(grad, y.exp() * first));
  }
  const at::Tensor a = first.clone(), b = second.clone();
  Op("def f(x, y):\n    return x + 1, y + 2\n")
      .gradient(std::vector<std::string>{"x", "y"}, 2)
      .call_out(std::vector<Argument>{x, y, a, b}, std::vector<at::Tensor>{b, a});
  EXPECT_TRUE(at::equal(b, first));
  EXPECT_TRUE(at::equal(a, second));
}

TEST(Gradient, ConvertsGradientsToTheArgumentsDtype) {
  const Op gradient = Op("x.to(torch.float64) + y").gradient(std::vector<std::string>{"x", "y"});
  const at::Tensor x = at::rand({4}), y = at::rand({4}, at::kDouble), grad = at::rand({4}, at::kDouble);
  const auto results = call(gradient, {x, y, grad});
  EXPECT_EQ(results[0].scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(results[0], grad.to(at::kFloat)));
  EXPECT_EQ(results[1].const_data_ptr(), grad.const_data_ptr());
}

/// The number of the incoming gradient's rows is a size of its own, with no known relation to n times the argument's
/// rows. So the gradient and the result are first divided into the same blocks, by new nodes. Differentiation must
/// accept that some of the result's nodes are newer than the result.
TEST(Gradient, SupportsARepeatByANumber) {
  const Op gradient = Op("def f(x, n: int): return x.repeat(n, 1)\n").gradient(std::vector<std::string>{"x"});
  const at::Tensor x = at::rand({4, 6});
  for (const int64_t n : {1, 2, 3, 7}) {
    const at::Tensor grad = at::rand({4 * n, 6});
    EXPECT_TRUE(at::allclose(call(gradient, {x, n, grad})[0], grad.view({n, 4, 6}).sum(0))) << n;
  }
}

TEST(Gradient, RejectsAGatherWithTooManyComparisons) {
  const Op gather("gather(x, i)", [](Value x, Value i) { return sum(x, 1)[i] * 2; });
  const at::Tensor x = at::rand({1 << 20, 2}).requires_grad_(), i = at::randint(1 << 20, {1 << 18});
  const at::Tensor sum = call(gather, {x, i})[0].sum();
  EXPECT_NE(error_of([&] { torch::autograd::grad({sum}, {x}); }).find("which is too slow"), std::string::npos);
}

TEST(Gradient, ListsTheSavedValuesInAStage) {
  const at::Tensor x = at::empty({64, 128}, at::kMeta), b = at::empty({128}, at::kMeta);
  const Argument arguments[] = {x, b};
  const std::string text = Op("F.gelu(x) + b").emit(Stage::Backward, arguments);
  EXPECT_NE(text.find("f32[64, 128]                 32.0 KiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("512 bytes   not read"), std::string::npos) << text;
}

}  // namespace
}  // namespace ingot
