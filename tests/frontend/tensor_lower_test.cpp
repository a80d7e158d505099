#include "tests/frontend/tensor_testing.h"

// The printed graphs of ops: a graph computes no more than careful hand-written code would. In an access, `i1?` is the
// index i1, or 0 if the size of the loaded tensor along that dim is 1 (ir/graph.h, `print`).

namespace ingot::frontend {
namespace {

TEST(TensorLower, PointwiseWithARunTimeNumber) {
  EXPECT_EQ(LoweringCase({"f32:100x4", "f32:4", "float=0.5"})
                .simplified_text("def relu_add(x, y, bias: float): return relu(x) + y + bias"),
            R"(relu_add(x: f32[x.size(0), x.size(1)], y: f32[y.size(0)], bias: float)
  %0 = scalar f32 0.0
  %1 = load f32 x[i0, i1]
  %2 = maximum f32 %0, %1
  %3 = load f32 y[i1]
  %4 = add f32 %2, %3
  %5 = scalar f32 bias
  %6 = add f32 %4, %5
  out: f32[x.size(0), x.size(1)] = %6
  require x.size(1) == y.size(0)
)");
}

TEST(TensorLower, BroadcastsASizeOfOne) {
  EXPECT_EQ(LoweringCase({"f32:100x1", "f32:100x30"}).simplified_text("x * y"),
            R"(expression(x: f32[x.size(0), 1], y: f32[y.size(0), y.size(1)])
  %0 = load f32 x[i0, 0]
  %1 = load f32 y[i0, i1]
  %2 = mul f32 %0, %1
  out: f32[x.size(0), y.size(1)] = %2
  require x.size(0) == y.size(0)
)");
}

TEST(TensorLower, SpecializesTheCoordinatesOfABox) {
  EXPECT_EQ(LoweringCase({"f32:1000x4"}).simplified_text("(x[..., 2] - x[..., 0]) * (x[..., 3] - x[..., 1])"),
            R"(expression(x: f32[x.size(0), 4])
  %0 = load f32 x[i0, 2]
  %1 = load f32 x[i0, 0]
  %2 = sub f32 %0, %1
  %3 = load f32 x[i0, 3]
  %4 = load f32 x[i0, 1]
  %5 = sub f32 %3, %4
  %6 = mul f32 %2, %5
  out: f32[x.size(0)] = %6
  static x.size(1) == 4
)");
}

TEST(TensorLower, SplitsShortPartsOfACatIntoElements) {
  EXPECT_EQ(LoweringCase({"f32:1000x4"}).simplified_text("cat([x[:, :2], x[:, 2:] - x[:, :2]], -1)"),
            R"(expression(x: f32[x.size(0), 4])
  %0 = load f32 x[i0, 0]
  %1 = load f32 x[i0, 1]
  %2 = load f32 x[i0, 2]
  %3 = sub f32 %2, %0
  %4 = load f32 x[i0, 3]
  %5 = sub f32 %4, %1
  out: f32[x.size(0), 4] =
    %0 over [x.size(0), 1] at [i0, 0]
    %1 over [x.size(0), 1] at [i0, 1]
    %3 over [x.size(0), 1] at [i0, 2]
    %5 over [x.size(0), 1] at [i0, 3]
  static x.size(1) == 4
)");
}

TEST(TensorLower, GathersConstantsByAZeroDimTimestep) {
  const char* text = R"(
def denoise(eps, sample, noise, table, t):
    x0 = clamp((sample - table[0, t] * eps) * table[1, t], -1, 1)
    return table[2, t] * x0 + table[3, t] * sample + table[4, t] * noise
)";
  EXPECT_EQ(
      LoweringCase({"f32:4096", "f32:4096", "f32:4096", "f32:5x1000", "i64:"}).simplified_text(text),
      R"(denoise(eps: f32[eps.size(0)], sample: f32[sample.size(0)], noise: f32[noise.size(0)], table: f32[5, table.size(1)], t: i64[])
  %0 = load i64 t[]
  %1 = gather f32 table[2, %0]
  %2 = scalar f32 1.0
  %3 = scalar f32 -1.0
  %4 = load f32 sample[i0]
  %5 = gather f32 table[0, %0]
  %6 = load f32 eps[i0]
  %7 = mul f32 %5, %6
  %8 = sub f32 %4, %7
  %9 = gather f32 table[1, %0]
  %10 = mul f32 %8, %9
  %11 = maximum f32 %3, %10
  %12 = minimum f32 %2, %11   ; x0
  %13 = mul f32 %1, %12
  %14 = gather f32 table[3, %0]
  %15 = mul f32 %14, %4
  %16 = add f32 %13, %15
  %17 = gather f32 table[4, %0]
  %18 = load f32 noise[i0]
  %19 = mul f32 %17, %18
  %20 = add f32 %16, %19
  out: f32[eps.size(0)] = %20
  require eps.size(0) == noise.size(0)
  require sample.size(0) == eps.size(0)
  require table.size(1) > 0
  static table.size(0) == 5
)");
}

TEST(TensorLower, LowersGiouToFewNamedNodes) {
  const char* text = R"(
def giou(pred, target):
    target = target.float()
    lt, rb = max(pred[..., :2], target[..., :2]), min(pred[..., 2:], target[..., 2:])
    wh = (rb - lt).clamp(min=0)
    overlap = wh[..., 0] * wh[..., 1]
    area_p = (pred[..., 2] - pred[..., 0]) * (pred[..., 3] - pred[..., 1])
    area_t = (target[..., 2] - target[..., 0]) * (target[..., 3] - target[..., 1])
    union = area_p + area_t - overlap
    lt, rb = min(pred[..., :2], target[..., :2]), max(pred[..., 2:], target[..., 2:])
    wh = (rb - lt).clamp(min=0)
    hull = wh[..., 0] * wh[..., 1]
    return 1 - (overlap / union - (hull - union) / hull)
)";
  const ir::Graph graph = ir::simplify(LoweringCase{"f32:8x100x4", "u8:8x100x4"}.lower(text));
  EXPECT_LE(graph.count(), 48u);
  const std::string printed = ir::print(graph);
  for (const char* name : {"; lt", "; rb", "; overlap", "; union", "; hull"}) {
    EXPECT_NE(printed.find(name), std::string::npos) << name << " is not in\n" << printed;
  }
}

TEST(TensorLower, StoresAFlattenedStackInterleaved) {
  EXPECT_EQ(LoweringCase({"f32:50", "f32:50"}).simplified_text("stack([x, -y], -1).flatten() * 2"),
            R"(expression(x: f32[x.size(0)], y: f32[y.size(0)])
  %0 = load f32 x[i0]
  %1 = scalar f32 2.0
  %2 = mul f32 %0, %1
  %3 = load f32 y[i0]
  %4 = neg f32 %3
  %5 = mul f32 %4, %1
  out: f32[x.size(0)*2] =
    %2 over [x.size(0), 1] at [i0*2]
    %5 over [x.size(0), 1] at [i0*2 + 1]
  require x.size(0) == y.size(0)
)");
}

TEST(TensorLower, SelectsAnElementOfNestedStacks) {
  EXPECT_EQ(LoweringCase({"f32:50", "f32:50"})
                .simplified_text("stack([stack([x, -y], -1), stack([y, x], -1)], -2)[..., 0, 1]"),
            R"(expression(x: f32[x.size(0)], y: f32[y.size(0)])
  %0 = load f32 y[i0]
  %1 = neg f32 %0
  out: f32[x.size(0)] = %1
  require x.size(0) == y.size(0)
)");
}

TEST(TensorLower, KeepsMergedDimsUpToTheStore) {
  EXPECT_EQ(LoweringCase({"f32:30x40", "f32:1200"}).simplified_text("x.reshape(-1) + y"),
            R"(expression(x: f32[x.size(0), x.size(1)], y: f32[y.size(0)])
  %0 = load f32 x[i0, i1]
  %1 = load f32 y[i0*x.size(1) + i1]
  %2 = add f32 %0, %1
  out: f32[y.size(0)] =
    %2 over [x.size(0), x.size(1)] at [i0*x.size(1) + i1]
  require x.size(0)*x.size(1) == y.size(0)
)");
}

TEST(TensorLower, SymbolicSlicesAndHostNumbers) {
  EXPECT_EQ(
      LoweringCase({"f32:60x40", "int=7"}).simplified_text("def f(x, n: int): return x[:, n:] * (1.0 / x.shape[-1])"),
      R"(f(x: f32[x.size(0), x.size(1)], n: int)
  %0 = load f32 x[i0, i1? + min(x.size(1), max(0, x.size(1) + n if n < 0 else n))]
  %1 = scalar f32 1.0 / x.size(1)
  %2 = mul f32 %0, %1
  out: f32[x.size(0), x.size(1) - min(x.size(1), max(0, x.size(1) + n if n < 0 else n))] = %2
  require not x.size(1) == 0
)");
}

TEST(TensorLower, KeepsSixteenBitFloatsInFloat32BetweenOps) {
  EXPECT_EQ(LoweringCase({"f16:100", "f16:100"}).simplified_text("x * y + 0.1"),
            R"(expression(x: f16[x.size(0)], y: f16[y.size(0)])
  %0 = load f16 x[i0]
  %1 = cast f32 %0
  %2 = load f16 y[i0]
  %3 = cast f32 %2
  %4 = scalar f32 0.1
  %5 = fma f32 %1, %3, %4
  %6 = cast f16 %5
  out: f16[x.size(0)] = %6
  require x.size(0) == y.size(0)
)");
}

TEST(TensorLower, ContractsProductsAndSumsOfSixteenBitFloats) {
  const auto contracts = [](const std::string& text, const std::string& type, Numerics numerics) {
    const LoweringCase call = LoweringCase({type + ":100", type + ":100", "f32:100", "f32:"}).with(numerics);
    return call.simplified_text("def f(x, y, wide, number): return " + text).find("fma") != std::string::npos;
  };
  for (const Numerics numerics : {Numerics::Default, Numerics::Fast}) {
    for (const std::string type : {"f16", "bf16"}) {
      EXPECT_TRUE(contracts("x * y + x", type, numerics));
      EXPECT_TRUE(contracts("x - 0.1 * y", type, numerics));
      EXPECT_TRUE(contracts("x - -(number * y)", type, numerics));
      EXPECT_TRUE(contracts("silu(x) * y + x", type, numerics));
      EXPECT_FALSE(contracts("x * y + wide", type, numerics)) << "float32 by promotion";
      EXPECT_FALSE(contracts("x * wide + y", type, numerics));
      EXPECT_FALSE(contracts("number * number + y", type, numerics));
      EXPECT_FALSE(contracts("(x.float() * y + x).to(x.dtype)", type, numerics));
      EXPECT_FALSE(contracts("(x * y).to(x.dtype) + x", type, numerics)) << "rounded on purpose";
    }
    EXPECT_FALSE(contracts("x * y + x", "f32", numerics));
    EXPECT_FALSE(contracts("x * y + x", "f64", numerics));
  }
  EXPECT_FALSE(contracts("x * y + x", "bf16", Numerics::Eager));
}

TEST(TensorLower, RoundsAfterEachNativeFunctionWithEagerNumerics) {
  EXPECT_EQ(LoweringCase({"f16:100", "f16:100"}).with(Numerics::Eager).simplified_text("silu(x) * y"),
            R"(expression(x: f16[x.size(0)], y: f16[y.size(0)])
  %0 = load f16 x[i0]
  %1 = cast f32 %0
  %2 = scalar f32 1.0
  %3 = neg f32 %1
  %4 = exp f32 %3
  %5 = add f32 %2, %4
  %6 = div f32 %1, %5
  %7 = cast f16 %6
  %8 = cast f32 %7
  %9 = load f16 y[i0]
  %10 = cast f32 %9
  %11 = mul f32 %8, %10
  %12 = cast f16 %11
  out: f16[x.size(0)] = %12
  require x.size(0) == y.size(0)
)");
}

TEST(TensorLower, RoundsInAnExplicitCastToSixteenBits) {
  EXPECT_EQ(LoweringCase({"f32:100"}).simplified_text("x.half().float()"),
            R"(expression(x: f32[x.size(0)])
  %0 = load f32 x[i0]
  %1 = cast f16 %0
  %2 = cast f32 %1
  out: f32[x.size(0)] = %2
)");
}

TEST(TensorLower, RoundsNumbersToSixteenBitsOnlyInComparisons) {
  const std::string compared = LoweringCase({"f16:100"}).simplified_text("x > 0.3");
  EXPECT_NE(compared.find("scalar f32 0.300048828125"), std::string::npos) << compared;
  const std::string added = LoweringCase({"f16:100"}).simplified_text("x + 0.3");
  EXPECT_NE(added.find("scalar f32 0.3\n"), std::string::npos) << added;
}

TEST(TensorLower, DividesAsTheDevicesKernelDoes) {
  const auto has = [](const std::string& text, const char* expected, const LoweringCase& call) {
    const std::string printed = call.simplified_text(text);
    EXPECT_NE(printed.find(expected), std::string::npos) << text << " has no " << expected << "\n" << printed;
  };
  has("x / 4", "= div f32", LoweringCase{"f32:8"});
  has("x / 4", "scalar f32 0.25", LoweringCase({"f32:8"}).on(Device::Cuda));
  has("x / y", "= mul f32", LoweringCase({"f32:8", "cpu f32"}).on(Device::Cuda));
  has("x / y", "= div f32", LoweringCase({"f32:8", "f32:"}).on(Device::Cuda));
  has("3 / x", "reciprocal f32", LoweringCase{"f32:8"});
  has("torch.div(3, x)", "= div f32", LoweringCase{"f32:8"});
  has("softplus(x, 3.0)", "= div f32", LoweringCase({"f32:8"}).on(Device::Cuda));
  has("x // 3", "= floor_divide f32", LoweringCase{"f32:8"});
  has("x // 3", "fmod f32", LoweringCase({"f32:8"}).on(Device::Cuda));
  has("x // 3", "= floor_divide i32", LoweringCase({"i32:8"}).on(Device::Cuda));
  has("torch.div(x, 3, rounding_mode='trunc')", "= trunc f32", LoweringCase({"f32:8"}).on(Device::Cuda));
}

TEST(TensorLower, NamesResults) {
  const ir::Graph graph =
      LoweringCase({"f32:9x40"}).lower("def f(x):\n  scaled = x * 2\n  return scaled, x.t(), scaled[0]");
  ASSERT_EQ(graph.results.size(), 3u);
  EXPECT_EQ(graph.results[0].name, "scaled");
  EXPECT_EQ(graph.results[1].name, "out1");
  EXPECT_EQ(graph.results[2].shape.size(), 1u);
}

TEST(TensorLower, KeepsTheNamesOfEqualTensors) {
  const ir::Graph graph = LoweringCase({"f32:9"}).lower("def f(x):\n  a = x + 1\n  b = x + 1\n  return a, b * 2, b");
  ASSERT_EQ(graph.results.size(), 3u);
  EXPECT_EQ(graph.results[0].name, "a");
  EXPECT_EQ(graph.results[2].name, "b");
}

TEST(TensorLower, ReturnsPyTorchsNamedTuples) {
  const auto returns = [](const char* text) { return LoweringCase({"f32:9x4"}).lower(text).returns; };
  EXPECT_EQ(returns("x.max(1)"), ir::Returns::Max);
  EXPECT_EQ(returns("torch.min(x, dim=0)"), ir::Returns::Min);
  EXPECT_EQ(returns("x.aminmax(dim=1)"), ir::Returns::AMinMax);
  EXPECT_EQ(returns("torch.frexp(x)"), ir::Returns::Frexp);
  EXPECT_EQ(returns("tuple(x.max(1))"), ir::Returns::Tuple);
  EXPECT_EQ(returns("x.max(1).values"), ir::Returns::Tensor);
}

TEST(TensorLower, KeepsADeepStencilOfViewsSmall) {
  const char* text = R"(
def f(x):
    for _ in range(16):
        x = x[1:-1] * 0.5 + (x[2:] + x[:-2]) * 0.25
    return x
)";
  EXPECT_LE((LoweringCase{"f32:100000"}.lower(text).count()), 1100u);
}

TEST(TensorLower, SpecializesAllSizesOfOpsAboveFiveThousandNodes) {
  const char* text = R"(
def f(x):
    y = x
    for i in range(2000):
        y = y * 1.5 + i
    return y
)";
  EXPECT_TRUE(LoweringCase{"f32:100"}.lower("x * 1.5").statics.empty());
  EXPECT_EQ(LoweringCase{"f32:100"}.lower(text).statics.size(), 1u);
  const std::string message =
      rejection_message("def f(x):\n  for i in range(60000):\n    x = x + i\n  return x", {"f32:100"});
  EXPECT_NE(message.find("the op is larger than 50000 nodes"), std::string::npos) << message;
}

TEST(TensorLower, SpecializesIndexedSizesOnlyIfTheyAreSmall) {
  const ir::Graph small = LoweringCase{"f32:10x4"}.lower("x[:, 0]");
  ASSERT_EQ(small.statics.size(), 1u);
  EXPECT_TRUE(small.statics[0].only_if_special);
  const ir::Graph large = LoweringCase{"f32:10x400"}.lower("x[:, 0]");
  EXPECT_TRUE(large.statics.empty());
  EXPECT_EQ(large.unspecialized.size(), 1u);
}

}  // namespace
}  // namespace ingot::frontend
