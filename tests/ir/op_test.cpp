#include "ir/op.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"

namespace ingot::ir {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// torch.promote_types of PyTorch 2.11 for the types that promote with one another.
constexpr DType kCommon[] = {DType::Bool, DType::U8,  DType::I8,   DType::I16, DType::I32,
                             DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};
constexpr size_t kCommonCount = std::size(kCommon);
constexpr std::string_view kPromoted[kCommonCount][kCommonCount] = {
    {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"u8", "u8", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i8", "i16", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i16", "i16", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i32", "i32", "i32", "i32", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i64", "i64", "i64", "i64", "i64", "i64", "f16", "bf16", "f32", "f64"},
    {"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f32", "f32", "f64"},
    {"bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "f32", "bf16", "f32", "f64"},
    {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64"},
    {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
};

TEST(DType, PromotesAsPyTorchDoes) {
  for (size_t a = 0; a < kCommonCount; ++a) {
    for (size_t b = 0; b < kCommonCount; ++b) {
      const auto promoted = promote(kCommon[a], kCommon[b]);
      ASSERT_TRUE(promoted);
      EXPECT_EQ(short_name(*promoted), kPromoted[a][b]) << short_name(kCommon[a]) << " with " << short_name(kCommon[b]);
    }
  }
}

TEST(DType, RestrictsPromotionOfExtendedUnsignedAndFloat8Types) {
  for (int a = 0; a < kDTypeCount; ++a) {
    const auto type = DType(a);
    EXPECT_EQ(promote(type, type), type);
    for (const DType extended : {DType::U16, DType::U32, DType::U64}) {
      const bool is_common_float = is_floating(type) && !is_float8(type);
      if (type == extended) continue;
      EXPECT_EQ(promote(extended, type), is_common_float ? std::optional(type) : std::nullopt) << short_name(type);
      EXPECT_EQ(promote(type, extended), promote(extended, type));
    }
    for (const DType small : {DType::F8E4M3FN, DType::F8E5M2, DType::F8E4M3FNUZ, DType::F8E5M2FNUZ}) {
      if (type == small) continue;
      EXPECT_EQ(promote(small, type), std::nullopt);
      EXPECT_EQ(promote(type, small), std::nullopt);
    }
  }
}

TEST(DType, RoundsToFloat8) {
  // torch.tensor(x).to(dtype).item(), for e4m3fn, e5m2, e4m3fnuz and e5m2fnuz
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const struct {
    double value;
    double rounded[4];
  } kRecorded[] = {
      {0.3, {0.3125, 0.3125, 0.3125, 0.3125}},
      {464.0, {448.0, 448.0, kNaN, 448.0}},
      {464.1, {kNaN, 448.0, kNaN, 448.0}},
      {248.0, {256.0, 256.0, kNaN, 256.0}},
      {61440.0, {kNaN, kInf, kNaN, kNaN}},
      {-kInf, {kNaN, -kInf, kNaN, kNaN}},
      {0.001, {0.001953125, 0.0009765625, 0.0009765625, 0.0009765625}},
      {1e-05, {0.0, 1.52587890625e-05, 0.0, 7.62939453125e-06}},
      {-0.0, {-0.0, -0.0, 0.0, 0.0}},
  };
  for (const auto& [value, rounded] : kRecorded) {
    for (int k = 0; k < 4; ++k) {
      const double result = round_to(DType(static_cast<int>(DType::F8E4M3FN) + k), value);
      EXPECT_TRUE(result == rounded[k] || (std::isnan(result) && std::isnan(rounded[k]))) << value << ": " << result;
      EXPECT_TRUE(result != 0 || std::signbit(result) == std::signbit(rounded[k])) << value;
    }
  }
}

TEST(DType, ParsesItsNames) {
  for (int i = 0; i < kDTypeCount; ++i) {
    EXPECT_EQ(parse_dtype(name_of(DType(i))), DType(i));
    EXPECT_EQ(parse_dtype(short_name(DType(i))), DType(i));
  }
  EXPECT_EQ(parse_dtype("float"), DType::F32);
  EXPECT_EQ(parse_dtype("half"), DType::F16);
  EXPECT_EQ(parse_dtype("long"), DType::I64);
  EXPECT_EQ(parse_dtype("complex64"), std::nullopt);
}

TEST(DType, RoundsAsPyTorchConverts) {
  // torch.tensor(x, dtype=float64).to(float32).to(float16 / bfloat16).item()
  const struct {
    double value, half, bfloat, single;
  } kRecorded[] = {
      {0.1, 0.0999755859375, 0.10009765625, 0.10000000149011612},
      {65519.99, 65504.0, 65536.0, 65519.98828125},
      {65520.0, kInf, 65536.0, 65520.0},
      {1e-08, 0.0, 1.0011717677116394e-08, 9.99999993922529e-09},
      {3e-08, 5.960464477539063e-08, 3.003515303134918e-08, 2.999999892949745e-08},
      {2049.0, 2048.0, 2048.0, 2049.0},
      {2051.0, 2052.0, 2048.0, 2051.0},
      {1.0004882812509095, 1.0, 1.0, 1.00048828125},  // rounded twice; rounded once it would be 1.0009765625
      {-1e+39, -kInf, -kInf, -kInf},
      {3.4e+38, kInf, kInf, 3.3999999521443642e+38},
      {1e-45, 0.0, 0.0, 1.401298464324817e-45},
  };
  for (const auto& row : kRecorded) {
    EXPECT_EQ(round_to(DType::F16, row.value), row.half) << row.value;
    EXPECT_EQ(round_to(DType::BF16, row.value), row.bfloat) << row.value;
    EXPECT_EQ(round_to(DType::F32, row.value), row.single) << row.value;
    EXPECT_EQ(round_to(DType::F64, row.value), row.value);
  }
  EXPECT_TRUE(std::signbit(round_to(DType::F16, -1e-30)));
  EXPECT_TRUE(std::isnan(round_to(DType::BF16, std::nan(""))));
}

TEST(DType, WrapsIntegers) {
  EXPECT_EQ(wrap_to(DType::U8, 300), 44);
  EXPECT_EQ(wrap_to(DType::I8, 200), -56);
  EXPECT_EQ(wrap_to(DType::I32, int64_t{1} << 31), -(int64_t{1} << 31));
  EXPECT_EQ(wrap_to(DType::I64, INT64_MIN), INT64_MIN);
}

TEST(Op, FindsEveryRowByName) {
  std::set<std::string_view> names;
  for (const OpInfo& row : primitives()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " occurs twice";
    EXPECT_EQ(primitive_named(row.name), row.op);
    EXPECT_EQ(info(row.op).id, row.id);
    EXPECT_EQ(id_of(row.op), row.id);
    EXPECT_TRUE(is_primitive(row.op));
    EXPECT_TRUE(row.arity >= 1 && row.arity <= 3);
  }
  EXPECT_EQ(primitive_named("relu"), std::nullopt);
}

TEST(Op, HasNoRowForStructuralOps) {
  EXPECT_FALSE(is_primitive(Op::Call));
  EXPECT_EQ(id_of(Op::Load), "Load");
  EXPECT_EQ(id_of(Op::Call), "Call");
  EXPECT_THROW(info(Op::Gather), Error);
}

}  // namespace
}  // namespace ingot::ir
