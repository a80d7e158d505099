#include <fstream>

#include "tests/frontend/tensor_testing.h"

// Promotion compared with PyTorch's own (tests/data/make_promotion.py), the dtypes, shapes and memory formats that ops
// accept, conditions of a call, and error messages.

namespace ingot::frontend {
namespace {

TEST(TensorTypes, PromotionIsPyTorchs) {
  std::ifstream file("tests/data/promotion.txt");
  ASSERT_TRUE(file) << "run it in the root of the tree";
  size_t rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string a, b, type;
    words >> a >> b >> type;
    const ir::Graph graph = Call{a, b}.lower("x * y");
    EXPECT_EQ(short_name(graph.results[0].dtype), type) << a << " * " << b;
    ++rows;
  }
  EXPECT_EQ(rows, 520u);
}

std::string dtype_of(const std::string& text, const Call& call) {
  return std::string(short_name(call.lower(text).results[0].dtype));
}

TEST(TensorTypes, ResultsOfOpsHaveTheirRulesDtype) {
  EXPECT_EQ(dtype_of("x / y", {"i32:3", "i32:3"}), "f32");
  EXPECT_EQ(dtype_of("x / 2", {"bool:3"}), "f32");
  EXPECT_EQ(dtype_of("x // 2", {"i16:3"}), "i16");
  EXPECT_EQ(dtype_of("exp(x)", {"i64:3"}), "f32");
  EXPECT_EQ(dtype_of("exp(x)", {"f16:3"}), "f16");
  EXPECT_EQ(dtype_of("x > 1", {"f64:3"}), "bool");
  EXPECT_EQ(dtype_of("logical_and(x, y)", {"f64:3", "u8:3"}), "bool");
  EXPECT_EQ(dtype_of("x ** 2", {"i32:3"}), "i32");
  EXPECT_EQ(dtype_of("x ** 2.0", {"i32:3"}), "f32");
  EXPECT_EQ(dtype_of("square(x)", {"bool:3"}), "i64");
  EXPECT_EQ(dtype_of("x.clamp(min=1.5)", {"i32:3"}), "f32");
  EXPECT_EQ(dtype_of("x.clamp(min=0)", {"bool:3"}), "i64");
  EXPECT_EQ(dtype_of("where(x > 0, 1, 2.0)", {"f64:3"}), "f32");
  EXPECT_EQ(dtype_of("where(x > 0, x, 2)", {"u8:3"}), "u8");
  EXPECT_EQ(dtype_of("cat([x, y])", {"f16:3", "bf16:3"}), "f32");
  EXPECT_EQ(dtype_of("stack([x, y])", {"f32:", "i64:"}), "f32");
  EXPECT_EQ(dtype_of("float_power(x, 2)", {"f32:3"}), "f64");
  EXPECT_EQ(dtype_of("sigmoid(x)", {"bool:3"}), "f32");
  EXPECT_EQ(dtype_of("relu6(x)", {"i64:3"}), "i64");
  EXPECT_EQ(dtype_of("x + True", {"bool:3"}), "bool");
  EXPECT_EQ(dtype_of("x + 1", {"bool:3"}), "i64");
  EXPECT_EQ(dtype_of("torch.arange(5) + x", {"i32:5"}), "i64");
  EXPECT_EQ(dtype_of("x + torch.tensor(1.0, dtype=torch.float64)", {"f32:5"}), "f32");
  EXPECT_EQ(dtype_of("x.view(torch.int32)", {"f32:3"}), "i32");
  EXPECT_EQ(dtype_of("x.type_as(y)", {"f32:3", "bf16:3"}), "bf16");
}

TEST(TensorTypes, TheDefaultDtypeIsTheSignatures) {
  Call call{"i32:3"};
  call.signature.default_dtype = ir::DType::F64;
  EXPECT_EQ(dtype_of("x * 1.5", call), "f64");
  EXPECT_EQ(dtype_of("exp(x)", call), "f64");
}

TEST(TensorTypes, WhatADtypeMakesTrivialIsFolded) {
  const auto body = [](const std::string& text, const Call& call) { return call.simple(text); };
  EXPECT_NE(body("floor(x)", {"i32:5"}).find("%0 = load i32 x[i0]\n  out: i32[x.size(0)] = %0"), std::string::npos);
  EXPECT_NE(body("isnan(x)", {"i32:5"}).find("%0 = scalar bool False"), std::string::npos);
  EXPECT_NE(body("isfinite(x)", {"u8:5"}).find("%0 = scalar bool True"), std::string::npos);
  EXPECT_NE(body("signbit(x)", {"i8:5"}).find("lt bool"), std::string::npos);
  EXPECT_NE(body("abs(x)", {"u8:5"}).find("%0 = load u8 x[i0]\n  out: u8"), std::string::npos);
  EXPECT_NE(body("fmax(x, y)", {"i8:5", "i8:5"}).find("maximum i8"), std::string::npos);
}

TEST(TensorTypes, IntegersWrapToTheTensorsDtype) {
  EXPECT_NE(Call({"u8:3"}).simple("x + 300").find("scalar u8 44"), std::string::npos);
  EXPECT_NE(Call({"i8:3"}).simple("x * 200").find("scalar i8 -56"), std::string::npos);
}

struct Refused {
  const char* text;
  std::initializer_list<std::string> arguments;
  const char* message;
  const char* hint;
};

TEST(TensorTypes, WhatPyTorchRefusesIsRefusedInItsWords) {
  const Refused cases[] = {
      {"x - y",
       {"bool:3", "bool:3"},
       "subtraction, the `-` operator, with a bool tensor is not supported",
       "logical_xor"},
      {"1 - x", {"bool:3"}, "subtraction, the `-` operator, with a bool tensor", "~"},
      {"-x", {"bool:3"}, "negation, the `-` operator, on a bool tensor is not supported", "logical_not()"},
      {"x // 2", {"bool:"}, "accepted", ""},
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
  for (const Refused& one : cases) {
    const std::string message = refusal(one.text, Call(one.arguments));
    EXPECT_NE(message.find(one.message), std::string::npos) << one.text << ":\n" << message;
    EXPECT_NE(message.find(one.hint), std::string::npos) << one.text << ":\n" << message;
  }
}

TEST(TensorTypes, ANumberStandsFirstWherePyTorchTakesIt) {
  for (const char* name : {"mul", "multiply", "add", "sub", "subtract", "div", "divide", "true_divide", "pow",
                           "remainder", "floor_divide", "xlogy", "float_power"}) {
    EXPECT_EQ(refusal(std::string("torch.") + name + "(2.0, x)", {"f32:3"}), "accepted") << name;
  }
  for (const char* name : {"eq", "lt", "fmod", "maximum", "atan2", "copysign", "hypot", "logical_and"}) {
    const std::string message = refusal(std::string("torch.") + name + "(2.0, x)", {"f32:3"});
    EXPECT_NE(message.find("a tensor as its first argument, not a number"), std::string::npos) << name << message;
  }
}

TEST(TensorTypes, MemoryFormatsDecideStrides) {
  using Kind = ir::LayoutStep::Kind;
  const auto kind = [](const std::string& text) {
    const ir::Graph graph = Call{"f32:2x3x4x5"}.lower(text);
    return graph.eager_layouts[graph.results[0].layout].kind;
  };
  for (const char* text :
       {"x.contiguous(memory_format=torch.channels_last)", "x.half(memory_format=torch.channels_last)",
        "x.clone(memory_format=torch.channels_last)", "x.to(memory_format=torch.channels_last)",
        "torch.zeros_like(x, memory_format=torch.channels_last)"}) {
    EXPECT_EQ(kind(text), Kind::ChannelsLast) << text;
  }
  EXPECT_EQ(kind("x.clone(memory_format=torch.contiguous_format)"), Kind::Contiguous);
  EXPECT_EQ(kind("x.clone(memory_format=torch.preserve_format)"), Kind::Preserve);
  EXPECT_NE(refusal("x.clone(memory_format=torch.channels_last)", {"f32:3x4x5"})
                .find("required rank 4 tensor to use channels_last format"),
            std::string::npos);
  EXPECT_NE(refusal("x.contiguous(memory_format=torch.preserve_format)", {"f32:3"}).find("preserve memory format"),
            std::string::npos);
}

TEST(TensorTypes, UnsupportedFunctionsSayWhatToDo) {
  const Refused cases[] = {
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
  for (const Refused& one : cases) {
    const std::string message = refusal(one.text, Call(one.arguments));
    EXPECT_NE(message.find(one.message), std::string::npos) << one.text << ":\n" << message;
    EXPECT_NE(message.find(one.hint), std::string::npos) << one.text << ":\n" << message;
  }
}

TEST(TensorTypes, ShapesThatDoNotFitAreRefusedWhereTheyMeet) {
  const Refused cases[] = {
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
      // [9] and [9, 3] do not broadcast, but only a condition of the call finds that out.
      {"x[:, 0] + y[:, :3]", {"f32:9x4", "f32:9x4"}, "accepted", ""},
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
  for (const Refused& one : cases) {
    const std::string message = refusal(one.text, Call(one.arguments));
    EXPECT_NE(message.find(one.message), std::string::npos) << one.text << ":\n" << message;
    EXPECT_NE(message.find(one.hint), std::string::npos) << one.text << ":\n" << message;
  }
}

TEST(TensorTypes, WhatOnlySizesDecideIsAConditionWithItsMessage) {
  const auto definition = frontend::define("x.view(10, 10).flatten() + y");
  const ir::Graph graph = Call{"f32:100", "f32:100"}.lower(*definition);
  ASSERT_EQ(graph.conditions.size(), 2u);
  EXPECT_EQ(message_of(graph.conditions[0], ir::HostValue::of(int64_t{100}), ir::HostValue::of(int64_t{99})),
            "shape [10, 10] is invalid for a tensor of shape [x.size(0)]: it has 100 elements, not 99");
  EXPECT_EQ(message_of(graph.conditions[1], ir::HostValue::of(int64_t{100}), ir::HostValue::of(int64_t{99})),
            "The size of tensor a (100) must match the size of tensor b (99) at non-singleton dimension 0");
  EXPECT_EQ(graph.conditions[0].span.text(), "x.view(10, 10)");
}

TEST(TensorTypes, AMessageOfTheLibraryPointsAtTheAuthorsCall) {
  EXPECT_EQ(refusal("def f(x):\n  return 1 + gelu(x)", {"i32:3"}),
            "error: gelu: not implemented for int32\n"
            " --> <text>:2:14\n"
            "  |\n"
            "2 |   return 1 + gelu(x)\n"
            "  |              ^^^^^^^\n"
            "  = help: cast first: x.float()");
}

}  // namespace
}  // namespace ingot::frontend
