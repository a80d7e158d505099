#include "tests/frontend/tensor_testing.h"

// Numbers that are known only at run time obey the same rules as constants: conditions check them at the call.

namespace ingot::frontend {
namespace {

/// The outcome of a call with these numbers: "fine", or the message of the condition that fails.
std::string outcome(const ir::Graph& graph, const LoweringCase& call) {
  std::vector<ir::HostValue> slots(graph.host.count());
  const SymbolValues symbol_values = call.symbol_values();
  ir::evaluate(graph.host, symbol_values, slots);
  for (const ir::Condition& condition : graph.conditions) {
    const ir::HostValue a = slots[condition.a.index], b = slots[condition.b.index];
    if (!ir::holds(condition.kind, a, b)) return ir::message_of(condition, a, b);
  }
  return "fine";
}

/// Lowers an op for the first call's signature, and checks the second call.
std::string outcome(const std::string& text, const LoweringCase& lowered, const LoweringCase& call) {
  const auto definition = define(text);
  return outcome(lowered.lower(*definition), call);
}

TEST(RunTimeNumbers, AreRejectedOutsideTheDtypesRange) {
  struct Case {
    const char* text;
    const char* dtype;
    const char* number;     ///< "int" or "float"
    const char* fits;       ///< a number that the dtype can represent
    const char* overflows;  ///< a number that it cannot represent
    const char* type;       ///< the dtype's name in PyTorch's message
  };
  const Case cases[] = {
      {"clamp(x, max=k)", "i8:3", "int", "127", "128", "int8_t"},
      {"clamp(x, min=k)", "i8:3", "int", "-128", "-129", "int8_t"},
      {"clamp(x, 0, k)", "i16:3", "int", "32767", "300000", "int16_t"},
      {"where(x > 0, x, k)", "i8:3", "int", "-128", "300", "int8_t"},
      {"where(x > 0, k, x)", "i32:3", "int", "7", "5000000000", "int"},
      {"full_like(x, k)", "i8:3", "int", "1", "300", "int8_t"},
      {"full_like(x, k)", "i8:3", "float", "127.0", "127.5", "int8_t"},
      {"full_like(x, k)", "i8:3", "float", "-128.0", "-128.5", "int8_t"},
      {"full_like(x, k)", "u8:3", "int", "-255", "-256", "uint8_t"},
      {"full_like(x, k)", "u8:3", "float", "0.0", "-1.0", "uint8_t"},
      {"full_like(x, k)", "f16:3", "int", "65504", "65505", "c10::Half"},
      {"clamp(x, max=k)", "f16:3", "float", "65504.0", "1e6", "c10::Half"},
      {"clamp(x, max=k)", "f16:3", "float", "inf", "-65520.0", "c10::Half"},
      {"clamp(x, 0.0, k)", "f32:3", "float", "nan", "1e39", "float"},
      {"clamp(x, max=k)", "bf16:3", "float", "1e38", "1e39", "c10::BFloat16"},
  };
  for (const Case& test_case : cases) {
    const auto call = [&](const char* value) {
      return LoweringCase{test_case.dtype, std::string(test_case.number) + "=" + value};
    };
    const std::string expected =
        std::string("value cannot be converted to type ") + test_case.type + " without overflow";
    EXPECT_EQ(outcome(test_case.text, call(test_case.fits), call(test_case.fits)), "fine")
        << test_case.text << " of " << test_case.dtype;
    EXPECT_EQ(outcome(test_case.text, call(test_case.fits), call(test_case.overflows)), expected)
        << test_case.text << " of " << test_case.dtype;
    // A constant is checked when the op is compiled.
    const std::string constant = std::string("(lambda k: ") + test_case.text + ")(" + test_case.overflows + ")";
    EXPECT_NE(rejection_message(constant, {test_case.dtype}).find(expected), std::string::npos) << constant;
  }
}

TEST(RunTimeNumbers, AreNotCheckedIfEagersKernelDoesNotCheck) {
  EXPECT_EQ(outcome("x + k", {"i8:3", "int=1"}, {"i8:3", "int=300"}), "fine");
  EXPECT_EQ(outcome("where(x > 0, x, k)", {"f16:3", "float=1"}, {"f16:3", "float=1e6"}), "fine");
  const LoweringCase call = LoweringCase{"f16:3", "float=1e6"}.on(Device::Cuda);  // CUDA's kernel computes in float32
  EXPECT_EQ(outcome("clamp(x, max=k)", call, call), "fine");
}

TEST(RunTimeNumbers, AreCheckedAsSizes) {
  const LoweringCase x3{"f32:3", "int=3"}, one{"f32:1", "int=1"};
  const auto with = [](const char* x, int64_t k) { return LoweringCase{x, "int=" + std::to_string(k)}; };
  EXPECT_EQ(outcome("x[:k].expand(1)", with("f32:9", 1), with("f32:9", 1)), "fine");
  EXPECT_EQ(outcome("x[:k].expand(1)", with("f32:9", 5), with("f32:9", 5)),
            "the expanded size of the tensor (1) must match the existing size (5) at non-singleton dimension 0");
  EXPECT_EQ(outcome("x[:k].expand(4)", with("f32:9", 1), with("f32:9", 4)), "fine");
  EXPECT_EQ(outcome("x.expand(2, k)", x3, with("f32:3", -1)), "fine");
  EXPECT_EQ(outcome("x.expand(k, 3)", x3, with("f32:3", -1)),
            "the expanded size (-1) is not allowed in a leading, non-existing dimension");
  EXPECT_EQ(outcome("x.view(k, 4)", with("f32:20", 5), with("f32:20", -1)), "fine");
  EXPECT_EQ(outcome("x.view(k, 4)", with("f32:20", 5), with("f32:20", -5)), "invalid shape dimension -5");
  EXPECT_EQ(outcome("x.narrow(0, k, 1)", with("f32:20", 5), with("f32:20", -20)), "fine");
  EXPECT_EQ(outcome("x.narrow(0, k, 1)", with("f32:20", 5), with("f32:20", -21)), "narrow: start -1 is out of range");
  EXPECT_NE(rejection_message("x.view(-2, -1)", {"f32:4"}).find("invalid shape dimension -2"), std::string::npos);
  EXPECT_NE(rejection_message("x.view(-1, -1)", {"f32:4"}).find("only one dimension can be inferred"),
            std::string::npos);
}

TEST(RunTimeNumbers, AreSpecializedByAChunkOfASmallSize) {
  const auto chunks = [](const std::string& text, const LoweringCase& call) {
    return call.lower(text).results[0].shape.size();
  };
  EXPECT_EQ(chunks("x.chunk(4)[0].chunk(4)[-1]", {"f32:20"}), 1u);
  EXPECT_EQ(chunks("x[:k].chunk(2)[0]", {"f32:20", "int=1"}), 1u);
  EXPECT_TRUE(LoweringCase{"f32:100"}.lower("x.chunk(3)[0]").statics.empty());
  EXPECT_EQ(LoweringCase{"f32:17"}.lower("cat(x.chunk(10))").statics.size(), 1u);
}

TEST(Indices, DoNotWrapInGatherAndIndexSelect) {
  for (const char* text : {"torch.gather(x, 0, i)", "torch.index_select(x, 0, i)"}) {
    const std::string graph = LoweringCase({"f32:5", "i64:3"}).simplified_text(text);
    EXPECT_NE(graph.find("scalar i64 9223372036854775807"), std::string::npos) << graph;
  }
  for (const char* text : {"torch.take(x, i)", "x[i]"}) {
    EXPECT_EQ(LoweringCase({"f32:5", "i64:3"}).simplified_text(text).find("9223372036854775807"), std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace ingot::frontend
