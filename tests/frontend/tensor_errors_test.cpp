#include <span>

#include "tests/frontend/tensor_testing.h"

// The error messages of ops that PyTorch or Ingot rejects, and of the conditions of a call.

namespace ingot::frontend {
namespace {

struct ErrorCase {
  const char* text;
  std::initializer_list<std::string> arguments;
  const char* message;  ///< a part of the message
  const char* hint;     ///< a part of the hint; "" if the test does not check it
};

void expect_errors(std::span<const ErrorCase> cases) {
  for (const ErrorCase& test_case : cases) {
    const std::string message = rejection_message(test_case.text, LoweringCase(test_case.arguments));
    EXPECT_NE(message.find(test_case.message), std::string::npos) << test_case.text << ":\n" << message;
    EXPECT_NE(message.find(test_case.hint), std::string::npos) << test_case.text << ":\n" << message;
  }
}

TEST(TensorErrors, RejectsInvalidOperands) {
  const ErrorCase cases[] = {
      {"x - y",
       {"bool:3", "bool:3"},
       "subtraction, the `-` operator, with a bool tensor is not supported",
       "logical_xor"},
      {"1 - x", {"bool:3"}, "subtraction, the `-` operator, with a bool tensor", "~"},
      {"-x", {"bool:3"}, "negation, the `-` operator, on a bool tensor is not supported", "logical_not()"},
      {"x // y", {"bool:3", "bool:3"}, "\"floor_divide\" is not implemented for bool", "cast first"},
      {"x & 3", {"f32:3"}, "\"bitwise_and\" is not implemented for float32", "it takes integers"},
      {"x << 1", {"f32:3"}, "\"bitwise_left_shift\" is not implemented for float32", ""},
      {"hypot(x, x)", {"i32:3"}, "\"hypot\" is not implemented for int32", "x.float()"},
      {"silu(x)", {"i64:3"}, "silu: not implemented for int64", "x.float()"},
      {"abs(x)", {"bool:3"}, "\"abs\" is not implemented for bool", "x.int()"},
      {"x ** -1", {"i32:3"}, "integers to negative integer powers are not allowed", ""},
      {"x.add(y, alpha=1.5)", {"i32:3", "i32:3"}, "alpha must not be a floating point number", ""},
      {"x.add(y, alpha=True)", {"f32:3", "f32:3"}, "Boolean alpha only supported for Boolean results", ""},
      {"where(x, x, 0)",
       {"u8:3"},
       "where expected a boolean tensor as its condition, but got a uint8 tensor",
       "c != 0"},
      {"where(True, x, 0)", {"f32:3"}, "where takes a boolean tensor as its condition, not a number", "a if condition"},
      {"where(x > 0, x, 300)", {"u8:3"}, "value cannot be converted to type uint8_t without overflow", ""},
      {"clamp(x)", {"f32:3"}, "at least one of 'min' or 'max' must not be None", ""},
      {"maximum(x, 0.0)", {"f32:3"}, "maximum takes a tensor as its second argument, not a number", "clamp(x, min=…)"},
      {"max(x, 0.0)", {"f32:3"}, "torch.max takes two tensors", "clamp(x, min=…)"},
      {"exp(x) + exp(2.0)", {"f32:3"}, "exp takes a tensor, not a number", "math.exp"},
      {"lerp(x, y, 0.5)", {"f32:3", "f16:3"}, "lerp: expected tensors of one dtype", "x.to(y.dtype)"},
      {"div(x, 2, rounding_mode='up')", {"f32:3"}, "rounding_mode to be one of None, 'trunc', or 'floor'", ""},
      {"x.view(torch.int64)", {"f32:4"}, "changes the width of its elements", "x.to(dtype)"},
      {"x.to(2.5)", {"f32:3"}, "a dtype is expected", "torch.float32"},
  };
  expect_errors(cases);
}

TEST(TensorErrors, AcceptsANumberAsFirstArgumentOnlyIfPyTorchDoes) {
  for (const char* name : {"mul", "multiply", "add", "sub", "subtract", "div", "divide", "true_divide", "pow",
                           "remainder", "floor_divide", "xlogy", "float_power"}) {
    EXPECT_EQ(rejection_message(std::string("torch.") + name + "(2.0, x)", {"f32:3"}), "accepted") << name;
  }
  for (const char* name : {"eq", "lt", "fmod", "maximum", "atan2", "copysign", "hypot", "logical_and"}) {
    const std::string message = rejection_message(std::string("torch.") + name + "(2.0, x)", {"f32:3"});
    EXPECT_NE(message.find("a tensor as its first argument, not a number"), std::string::npos) << name << message;
  }
}

TEST(TensorErrors, SuggestsAReplacementForUnsupportedFunctions) {
  const ErrorCase cases[] = {
      {"x.cumsum(0)", {"f32:3"}, "`cumsum` is not in the language", "before or after the op"},
      {"x.median()", {"f32:3"}, "`median` is not in the language", "before or after the op"},
      {"x.max((0, 1))", {"f32:3x3"}, "`dim` must be one dim, not several", ""},
      {"torch.conv2d(x, x)", {"f32:3x3"}, "`conv2d` is not in the language", "before or after"},
      {"x.t_()", {"f32:3"}, "no `t_`", "write `x = x.t(…)`"},
      {"torch.add(x, 1, out=x)", {"f32:3"}, "no parameter `out`", "call the op itself with out="},
      {"x.backward()", {"f32:3"}, "`backward` is not in the language", "outside of the op"},
      {"x.item()", {"f32:1"}, "the values of a tensor are not known", ""},
      {"torch.empty_like(x)", {"f32:3"}, "elements of empty_like are read that were never given a value", "zeros_like"},
      {"torch.logspace(0, 1, 3) * x", {"f32:3"}, "`logspace` is not in the language", "torch.arange(n)"},
      {"x[x > 0]", {"f32:3"}, "how many elements a mask keeps", "where(mask, x, other)"},
      {"torch.tensor([x, 2])", {"f32:2"}, "nested lists of numbers, not a float32 tensor", "torch.stack"},
      {"huber_loss(x, x, 'sums')", {"f32:3"}, "reduction must be 'none', 'mean' or 'sum', not sums", ""},
      {"x.shape[0]", {"f32:3"}, "an op returns tensors, not a number", "full_like"},
      {"[[x]]", {"f32:3"}, "an op returns tensors, not a list", "flat tuple"},
  };
  expect_errors(cases);
}

TEST(TensorErrors, RejectsInvalidShapesAndIndices) {
  const ErrorCase cases[] = {
      {"x[7]", {"f32:3"}, "index 7 is out of bounds for dimension 0 with size 3", ""},
      {"x[0, 0]", {"f32:3"}, "too many indices for a tensor of dimension 1", ""},
      {"x[1.5]", {"f32:3"}, "valid indices", ""},
      {"x[::-1]", {"f32:3"}, "step of a slice must be greater than zero", "x.flip(dim)"},
      {"x.transpose(0, 2)", {"f32:3x3"}, "Dimension out of range (expected to be in range of [-2, 1], but got 2)", ""},
      {"x.permute(0)", {"f32:3x3"}, "permute of a tensor of 2 dims", ""},
      {"x.permute(0, 0)", {"f32:3x3"}, "appears more than once", ""},
      {"cat([x, y])", {"f32:3", "f32:3x3"}, "tensors must have the same number of dimensions", ""},
      {"cat(x)", {"f32:3"}, "cat takes a tuple or list of tensors", "cat([x, y])"},
      {"torch.stack([])", {}, "expects a non-empty list", ""},
      {"x[0, :4] + y[0, :3]",
       {"f32:2x4", "f32:2x4"},
       "The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 0",
       ""},
      {"x[0, :4].expand(3, 5)",
       {"f32:2x4"},
       "the expanded size of the tensor (5) must match the existing size (4)",
       ""},
      {"x[0, :4].view(3)", {"f32:2x4"}, "shape [3] is invalid for a tensor of shape [4]: it has 3 elements, not 4", ""},
      {"x[0, :4].unflatten(0, (3, -1))", {"f32:2x4"}, "unflatten: provided sizes multiply to 3, not to 4", ""},
      {"x[0].chunk(0)", {"f32:2x4"}, "chunk expects `chunks` to be greater than 0", ""},
      {"x[0, :4].narrow(0, 2, 3)", {"f32:2x4"}, "start + length exceeds the dimension size (4)", ""},
      {"x[0, :4].split([1, 1])", {"f32:2x4"}, "sum exactly to 4, the size of the dimension, but they sum to 2", ""},
      {"torch.gather(x, 0, y)", {"f32:3", "i64:3x3"}, "same number of dimensions", ""},
      {"torch.take(x, y)", {"f32:3", "i32:3"}, "take expected a long tensor for index, but got int32", ".long()"},
      {"x", {"f32:1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"}, "`x` has 17 dims", "at most 16"},
      {"def f(x, y): return x", {"f32:3"}, "`f` takes 2 arguments, but 1 are given", ""},
  };
  expect_errors(cases);
}

TEST(TensorErrors, ChecksSizesByConditionsWithMessages) {
  const auto definition = frontend::define("x.view(10, 10).flatten() + y");
  const ir::Graph graph = LoweringCase{"f32:100", "f32:100"}.lower(*definition);
  ASSERT_EQ(graph.conditions.size(), 2u);
  EXPECT_EQ(message_of(graph.conditions[0], ir::HostValue::of(int64_t{100}), ir::HostValue::of(int64_t{99})),
            "shape [10, 10] is invalid for a tensor of shape [x.size(0)]: it has 100 elements, not 99");
  EXPECT_EQ(message_of(graph.conditions[1], ir::HostValue::of(int64_t{100}), ir::HostValue::of(int64_t{99})),
            "The size of tensor a (100) must match the size of tensor b (99) at non-singleton dimension 0");
  EXPECT_EQ(graph.conditions[0].span.text(), "x.view(10, 10)");
}

/// [9] and [9, 3] do not broadcast, but the sizes are known only when the op is called.
TEST(TensorErrors, ReportsSizesThatDoNotMatchOnlyAtTheCall) {
  EXPECT_EQ(rejection_message("x[:, 0] + y[:, :3]", {"f32:9x4", "f32:9x4"}), "accepted");
}

TEST(TensorErrors, LocatesLibraryErrorsAtTheAuthorsCall) {
  EXPECT_EQ(rejection_message("def f(x):\n  return 1 + gelu(x)", {"i32:3"}),
            "error: gelu: not implemented for int32\n"
            " --> <text>:2:14\n"
            "  |\n"
            "2 |   return 1 + gelu(x)\n"
            "  |              ^^^^^^^\n"
            "  = help: cast first: x.float()");
}

}  // namespace
}  // namespace ingot::frontend
