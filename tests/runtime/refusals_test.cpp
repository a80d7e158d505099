#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include "tests/runtime/support.h"

// The error messages for arguments with which an op cannot be called.

namespace ingot {
namespace {

using namespace testing_support;

/// Expects that the text contains every part.
void expect_contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

TEST(Refusals, NumberOfArguments) {
  const Op op(kReluAdd);
  const at::Tensor x = at::randn({3});
  expect_contains(error_of([&] { op(x, x); }), {"relu_add(x, y, bias: float) takes 3 arguments, 2 were given"});
  expect_contains(error_of([&] { op(x, x, 1, 2); }), {"takes 3 arguments, 4 were given"});
  expect_contains(error_of([&] { op(x, x, None); }), {"`bias` must be a float, not None"});
}

TEST(Refusals, KindOfArguments) {
  const Op op(kReluAdd);
  const at::Tensor x = at::randn({3});
  expect_contains(error_of([&] { op(x, x, x); }), {"`bias` is annotated float", "not a tensor", "<text>:1:"});
  expect_contains(error_of([&] { op(x, x, at::scalar_tensor(1.0)); }), {"bias.item()"});
  const Op counted("def f(x, n: int, flag: bool):\n    return x + n if flag else x\n");
  expect_contains(error_of([&] { counted(x, 1.5, true); }), {"`n` is annotated int, and 1.5 is not one"});
  expect_contains(error_of([&] { counted(x, 1, 2.0); }), {"`flag` is annotated bool, and 2.0 is not one"});
  expect_same(counted(x, true, 1), x + 1);
  const Op tensors("def f(x: Tensor):\n    return x + 1\n");
  expect_contains(error_of([&] { tensors(1.0); }), {"`x` is annotated Tensor"});
}

TEST(Refusals, NegativeAndZeroViews) {
  const Op op("x + y");
  const at::Tensor y = at::randn({3});
  expect_contains(error_of([&] { op(at::_neg_view(y), y); }), {"`x` is a negative view", ".resolve_neg()"});
  expect_contains(error_of([&] { op(y, at::_efficientzerotensor({3}, at::kFloat)); }), {"`y` is a zero view"});
}

TEST(Refusals, KindsOfTensor) {
  const Op op("x + y");
  const at::Tensor y = at::randn({3});
  expect_contains(error_of([&] { op(at::zeros({3}, at::kComplexFloat), y); }),
                  {"ComplexFloat", "which Ingot does not support"});
  expect_contains(error_of([&] { op(y.to_sparse(), y); }), {"layout", ".to_dense()"});
  expect_contains(error_of([&] { op(at::empty({3}, at::kMeta), y); }), {"meta", "cpu and cuda"});
  expect_contains(error_of([&] { op(at::Tensor(), y); }), {"`x` is an undefined tensor"});
  expect_contains(error_of([&] { op(at::quantize_per_tensor(y, 0.1, 0, at::kQInt8), y); }), {"QInt8"});
}

TEST(Refusals, Modes) {
  const Op op("x + y");
  const at::Tensor y = at::randn({3});
  {
    const c10::impl::IncludeDispatchKeyGuard guard(c10::DispatchKey::Tracer);
    expect_contains(error_of([&] { op(y, y); }), {"torch.jit.trace", "f.reference"});
  }
  {
    const c10::impl::IncludeDispatchKeyGuard guard(c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
    expect_contains(error_of([&] { op(y, y); }), {"torch.func", "vmap"});
  }
  {
    const c10::impl::IncludeDispatchKeyGuard guard(c10::DispatchKey::Python);
    expect_contains(error_of([&] { op(y, y); }), {"mode"});
  }
  expect_same(op(y, y), y + y);
}

TEST(Refusals, AcceptsInferenceTensors) {
  const Op op("x + y");
  const c10::InferenceMode guard;
  const at::Tensor y = at::randn({3});
  expect_same(op(y, y), y + y);
  EXPECT_TRUE(op(y, y).is_inference());
}

TEST(Refusals, ShapesThatDoNotBroadcast) {
  const Op op(kReluAdd);
  const std::string text = error_of([&] { op(at::randn({3}), at::randn({4}), 1); });
  expect_contains(text, {"The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0",
                         "<text>:2:12", "relu(x) + y", "^"});
}

TEST(Refusals, ShapesForKnownPrograms) {
  const Op op(kReluAdd);
  op(at::randn({5}), at::randn({5}), 1);
  expect_contains(error_of([&] { op(at::randn({3}), at::randn({4}), 1); }), {"(3)", "(4)", "<text>:2:12"});
}

TEST(Refusals, IndicesOutOfRange) {
  const Op gather("def pick(table, t):\n    return table[t] * 2\n");
  const at::Tensor table = at::randn({5}), good = at::tensor({0, 4, -5}, at::kLong);
  expect_same(gather(table, good), table.index({good}) * 2);
  for (const int64_t bad : {5, -6})
    expect_contains(error_of([&] { gather(table, at::tensor({0L, bad}, at::kLong)); }),
                    {"pick: index out of range in `table[t]`"});
  const at::Tensor no_table = at::empty({0}), none = at::empty({0}, at::kLong);
  expect_same(gather(no_table, none), no_table.index({none}) * 2);
  expect_contains(error_of([&] { gather(no_table, good); }), {"size 0"});
  const Op select("def row(x, i: int):\n    return x[i] * 2\n");
  const at::Tensor x = at::randn({20, 3});
  expect_same(select(x, -20), x.select(0, -20) * 2);
  expect_contains(error_of([&] { select(x, 20); }), {"index", "20", "<text>:2:12"});
  expect_contains(error_of([&] { select(x, -21); }), {"index", "<text>:2:12"});
}

TEST(Refusals, ArithmeticOnNumbers) {
  const Op op("def f(x, n: int):\n    return x * (1 / n)\n");
  const at::Tensor x = at::randn({3});
  expect_same(op(x, 4), x * 0.25);
  expect_contains(error_of([&] { op(x, 0); }), {"division by zero"});
}

TEST(Refusals, SeveralResultsForASingleResultCall) {
  const Op op("def two(x):\n    return x + 1, x + 2\n");
  expect_contains(error_of([&] { op(at::randn({3})); }), {"returns 2 tensors", "Op::call"});
}

TEST(Refusals, InvalidSourcesAtDefinition) {
  expect_contains(error_of([] { Op("def f(x):\n    return x +\n"); }), {"<text>:2:", "^"});
  OpOptions options;
  options.name = "h";
  expect_contains(error_of([&] { Op("def f(x): return x\ndef g(x): return x\n", options); }), {"h", "f, g"});
}

}  // namespace
}  // namespace ingot
