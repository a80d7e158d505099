#include "tests/frontend/tensor_testing.h"

// torch.autocast in the front end: the calls whose arguments it casts, and the calls whose arguments it does not cast.
// The contents of PyTorch's lists are tested by tests/runtime/autocast_test.cpp and tests/python/test_autocast.py.

namespace ingot::frontend {
namespace {

LoweringCase call_under_autocast(ir::DType dtype, Device device, std::initializer_list<std::string> arguments) {
  LoweringCase call(arguments);
  call.on(device).signature.autocast = dtype;
  return call;
}

/// The dtype of an op's result on CUDA tensors under autocast to float16.
std::string dtype_on_cuda(const std::string& text, std::initializer_list<std::string> arguments) {
  const ir::Graph graph = call_under_autocast(ir::DType::F16, Device::Cuda, arguments).lower(text);
  return std::string(short_name(graph.results[0].dtype));
}

TEST(Autocast, CastsEveryWayToCallAFunction) {
  for (const char* text :
       {"torch.arccos(x)", "x.exp()", "x ** x", "x ** 2", "2 ** x", "torch.square(x)", "1 / x", "x.pow(exponent=2)",
        "F.mse_loss(x, x, reduction='none')", "x.softmax(0)", "x.norm()", "(lambda a: a.log())(x)"})
    EXPECT_EQ(dtype_on_cuda(text, {"f16:4"}), "f32") << text;
  for (const char* text : {"x + x", "x / 2 + x / x", "F.silu(x)", "x.sin()", "x.mean()", "F.gelu(x)", "x.sigmoid()",
                           "x.sum(dtype=torch.float16)", "x.softmax(0, torch.float16)", "x.copysign(x)"})
    EXPECT_EQ(dtype_on_cuda(text, {"f16:4"}), "f16") << text;
}

TEST(Autocast, CastsFloatsExceptFloat64AndCpuScalars) {
  EXPECT_EQ(dtype_on_cuda("x @ y", {"f32:4x4", "bf16:4x4"}), "f16");
  EXPECT_EQ(dtype_on_cuda("x.exp()", {"f64:4"}), "f64");
  EXPECT_EQ(dtype_on_cuda("x.sum()", {"i32:4"}), "i64");
  EXPECT_EQ(dtype_on_cuda("x.exp()", {"i32:4"}), "f32");
  EXPECT_EQ(dtype_on_cuda("x + y.exp()", {"f16:4", "cpu bf16"}), "f16");
  EXPECT_EQ(dtype_on_cuda("atan2(x, y)", {"f16:4", "f32:4"}), "f32");
}

TEST(Autocast, WidestPolicyRejectsOther16BitFloats) {
  const std::string message =
      rejection_message("atan2(x, y)", call_under_autocast(ir::DType::F16, Device::Cuda, {"f16:4", "bf16:4"}));
  EXPECT_NE(message.find("under torch.autocast to float16 `atan2` takes no bfloat16 tensor"), std::string::npos);
  // If float32 comes first, the result is float32, as in PyTorch.
  EXPECT_EQ(dtype_on_cuda("atan2(x, y)", {"f32:4", "bf16:4"}), "f32");
}

TEST(Autocast, DoesNotCastForInPlaceOps) {
  EXPECT_EQ(dtype_on_cuda("def f(x):\n  y = x.clone()\n  y **= 2\n  y[0] **= 2\n  y.exp_()\n  return y\n", {"f16:4"}),
            "f16");
}

TEST(Autocast, DoesNotCastCallsOfUserFunctions) {
  EXPECT_EQ(dtype_on_cuda("def exp(x):\n  return x * 2\n\ndef f(x):\n  return exp(x)\n", {"f16:4"}), "f16");
}

/// The printed graph of an op's gradient with respect to all its parameters, with autocast off for the gradient itself.
std::string gradient(const std::string& text, std::optional<ir::DType> forward_autocast, LoweringCase call) {
  const auto definition = backward(define(text), std::vector<bool>(call.sizes.size() - 1, true), 1, forward_autocast);
  const ir::Graph graph = ir::simplify(ir::inline_calls(call.lower(*definition)));
  return ir::print(graph);
}

TEST(Autocast, GradientRepeatsTheCastsOfTheForwardCall) {
  const LoweringCase call{"f32:4x4", "f32:4x4", "bf16:4x4"};
  const std::string without_autocast = gradient("x @ y", std::nullopt, {"f32:4x4", "f32:4x4", "f32:4x4"});
  const std::string with_autocast = gradient("x @ y", ir::DType::BF16, call);
  EXPECT_EQ(without_autocast.find("bf16"), std::string::npos) << without_autocast;
  EXPECT_NE(with_autocast.find("cast bf16"), std::string::npos) << with_autocast;
  EXPECT_NE(with_autocast.find(": f32["), std::string::npos) << with_autocast;
}

TEST(Autocast, IsPartOfTheSignatureText) {
  const LoweringCase call = call_under_autocast(ir::DType::BF16, Device::Cpu, {"f32:4"});
  EXPECT_EQ(call.signature.text(), "cpu f32 autocast: bf16 | f32[?]");
}

}  // namespace
}  // namespace ingot::frontend
