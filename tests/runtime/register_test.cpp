#include "runtime/api/register.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/runtime/support.h"

namespace ingot {
namespace {

using testing_support::error_of;
using testing_support::growth;

c10::OperatorHandle handle_of(const char* name, const char* overload = "") {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

TEST(Register, CallsAnOpByItsName) {
  register_op("ingot_cpp::gated", Op("def gated(x, y, s: float = 2.0): return relu(x) * y + s"),
              "(Tensor x, Tensor y, float s=2.0) -> Tensor");
  const at::Tensor x = at::randn({4, 6}), y = at::randn({6});
  const auto gated = handle_of("ingot_cpp::gated").typed<at::Tensor(const at::Tensor&, const at::Tensor&, double)>();
  const Counters grown = growth([&] { EXPECT_TRUE(at::allclose(gated.call(x, y, 0.5), at::relu(x) * y + 0.5)); });
  EXPECT_EQ(grown.launches, 1);
  const at::Tensor leaf = at::randn({4, 6}).requires_grad_();
  const auto gradients = torch::autograd::grad({gated.call(leaf, y, 0.5).sum()}, {leaf});
  EXPECT_TRUE(at::allclose(gradients[0], (leaf > 0) * y));
}

TEST(Register, RequiresMarksOnWrittenArguments) {
  const Op op("def f(x, y): x += y");
  register_op("ingot_cpp::add_", op, "(Tensor(a!) x, Tensor y) -> Tensor(a!)");
  const at::Tensor x = at::zeros({3}), y = at::ones({3});
  torch::jit::Stack stack{x, y};
  handle_of("ingot_cpp::add_").callBoxed(stack);
  EXPECT_TRUE(stack.back().toTensor().is_same(x) && at::equal(x, y));

  register_op("ingot_cpp::silent", op, "(Tensor x, Tensor y) -> ()");
  const std::string error = error_of([&] {
    torch::jit::Stack other{x, y};
    handle_of("ingot_cpp::silent").callBoxed(other);
  });
  EXPECT_NE(error.find("an argument that its registered schema does not mark"), std::string::npos) << error;
  EXPECT_TRUE(at::equal(x, y)) << "nothing was written";
}

TEST(Register, RejectsSchemasThatDoNotFit) {
  const Op op("x + y");
  const auto error_of_register = [&](const char* name, const char* schema) {
    return error_of([&] { register_op(name, op, schema); });
  };
  EXPECT_NE(error_of_register("nowhere", "(Tensor x, Tensor y) -> Tensor").find("needs a namespace"),
            std::string::npos);
  EXPECT_NE(error_of_register("ingot_cpp::a", "(Tensor y, Tensor x) -> Tensor").find("parameter 1 is `x`"),
            std::string::npos);
  EXPECT_NE(error_of_register("ingot_cpp::a", "(Tensor x, str y) -> Tensor").find("type str"), std::string::npos);
  EXPECT_NE(error_of_register("ingot_cpp::a", "(Tensor x, Tensor y) -> int").find("returns a int"), std::string::npos);
  EXPECT_NE(error_of_register("ingot_cpp::a", "(Tensor x,").find("is not a schema"), std::string::npos);
  register_op("ingot_cpp::a", op, "(Tensor x, Tensor y) -> Tensor");
  EXPECT_NE(error_of_register("ingot_cpp::a", "(Tensor x, Tensor y) -> Tensor").find("registered already"),
            std::string::npos);
}

TEST(Register, RequiresASeedForRandomNumbersBelowAutograd) {
  register_op("ingot_cpp::noisy", Op("F.dropout(x, 0.5)"), "(Tensor x) -> Tensor");
  const auto noisy = handle_of("ingot_cpp::noisy").typed<at::Tensor(const at::Tensor&)>();
  const at::Tensor x = at::ones({200}).requires_grad_();
  at::manual_seed(3);
  const at::Tensor first = noisy.call(x);
  EXPECT_TRUE(at::equal(torch::autograd::grad({first.sum()}, {x})[0], first)) << "the gradient has the same mask";
  at::manual_seed(3);
  EXPECT_TRUE(at::equal(noisy.call(x), first));
  EXPECT_FALSE(at::equal(noisy.call(x), first));
  // Below autograd no node would keep the seed for the op's gradient.
  const std::string error = error_of([&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    noisy.call(x);
  });
  EXPECT_NE(error.find("it samples random numbers, and its schema has no seed"), std::string::npos) << error;
}

TEST(Register, SamplesTheSameNumbersInTheGradientFromASeed) {
  register_op("ingot_cpp::seeded", Op("def noisy(x, p: float): return F.dropout(x, p)"),
              "(Tensor x, float p, Tensor seed) -> Tensor");
  const auto noisy = handle_of("ingot_cpp::seeded").typed<at::Tensor(const at::Tensor&, double, const at::Tensor&)>();
  const at::Tensor x = at::ones({500}).requires_grad_(), seed = at::scalar_tensor(7, at::kLong);
  const at::Tensor first = noisy.call(x, 0.5, seed);
  EXPECT_TRUE(at::equal(torch::autograd::grad({first.sum()}, {x})[0], first.detach()));
  {
    const at::AutoDispatchBelowAutograd below;
    EXPECT_TRUE(at::equal(noisy.call(x, 0.5, seed), first));
    EXPECT_FALSE(at::equal(noisy.call(x, 0.5, at::scalar_tensor(8, at::kLong)), first));
  }
  EXPECT_NE(error_of([&] { noisy.call(x, 0.5, at::zeros({})); }).find("not a 0-dim int64 tensor"), std::string::npos);
  EXPECT_NE(error_of([&] {
              register_op("ingot_cpp::b", Op("torch.rand_like(x)"), "(Tensor x, int seed) -> Tensor");
            }).find("`seed` has the type int"),
            std::string::npos);
}

TEST(Register, RejectsASparseTensorWithoutEagerFallback) {
  register_op("ingot_cpp::plain", Op("x * 2"), "(Tensor x) -> Tensor");
  const at::Tensor x = at::ones({3}).to_sparse();
  torch::jit::Stack stack{x};
  EXPECT_ANY_THROW(handle_of("ingot_cpp::plain").callBoxed(stack));
}

}  // namespace
}  // namespace ingot
