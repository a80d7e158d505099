#include <fstream>

#include "tests/frontend/tensor_testing.h"

// The dtypes of results: promotion compared with PyTorch's own (tests/data/make_promotion.py), and simplifications that
// depend on a dtype.

namespace ingot::frontend {
namespace {

TEST(TensorTypes, PromotesAsPyTorchDoes) {
  std::ifstream file("tests/data/promotion.txt");
  ASSERT_TRUE(file) << "run the test in the repository root";
  size_t rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string a, b, type;
    words >> a >> b >> type;
    const ir::Graph graph = LoweringCase{a, b}.lower("x * y");
    EXPECT_EQ(short_name(graph.results[0].dtype), type) << a << " * " << b;
    ++rows;
  }
  EXPECT_EQ(rows, 520u);
}

std::string dtype_of(const std::string& text, const LoweringCase& call) {
  return std::string(short_name(call.lower(text).results[0].dtype));
}

TEST(TensorTypes, ResultDtypeFollowsTheRuleOfTheOp) {
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

TEST(TensorTypes, UsesTheDefaultDtypeOfTheSignature) {
  LoweringCase call{"i32:3"};
  call.signature.default_dtype = ir::DType::F64;
  EXPECT_EQ(dtype_of("x * 1.5", call), "f64");
  EXPECT_EQ(dtype_of("exp(x)", call), "f64");
}

TEST(TensorTypes, FoldsOpsThatAreTrivialForTheDtype) {
  const auto printed = [](const std::string& text, const LoweringCase& call) { return call.simplified_text(text); };
  EXPECT_NE(printed("floor(x)", {"i32:5"}).find("%0 = load i32 x[i0]\n  out: i32[x.size(0)] = %0"), std::string::npos);
  EXPECT_NE(printed("isnan(x)", {"i32:5"}).find("%0 = scalar bool False"), std::string::npos);
  EXPECT_NE(printed("isfinite(x)", {"u8:5"}).find("%0 = scalar bool True"), std::string::npos);
  EXPECT_NE(printed("signbit(x)", {"i8:5"}).find("lt bool"), std::string::npos);
  EXPECT_NE(printed("abs(x)", {"u8:5"}).find("%0 = load u8 x[i0]\n  out: u8"), std::string::npos);
  EXPECT_NE(printed("fmax(x, y)", {"i8:5", "i8:5"}).find("maximum i8"), std::string::npos);
}

TEST(TensorTypes, WrapsIntegersToTheDtypeOfTheTensor) {
  EXPECT_NE(LoweringCase({"u8:3"}).simplified_text("x + 300").find("scalar u8 44"), std::string::npos);
  EXPECT_NE(LoweringCase({"i8:3"}).simplified_text("x * 200").find("scalar i8 -56"), std::string::npos);
}

TEST(TensorTypes, AcceptsFloorDivisionOfABoolByANumber) {
  EXPECT_EQ(rejection_message("x // 2", {"bool:"}), "accepted");
}

}  // namespace
}  // namespace ingot::frontend
