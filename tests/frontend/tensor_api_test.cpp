#include <algorithm>
#include <set>

#include "frontend/frontend.h"
#include "tests/frontend/tensor_testing.h"

// The C++ API: an op defined by its source and the same op as a C++ function have the same graph.

namespace ingot {
namespace {

using frontend::LoweringCase;

void expect_same_graph(const std::string& text, const std::shared_ptr<const frontend::Definition>& function,
                       const LoweringCase& call) {
  EXPECT_EQ(ir::print(call.lower(text)), ir::print(call.lower(*function)));
}

TEST(CppApi, PointwiseOpWithARunTimeNumber) {
  expect_same_graph("def relu_add(x, y, bias: float): return relu(x) + y + bias",
                    define("relu_add(x, y, bias)", [](Value x, Value y, Scalar bias) { return relu(x) + y + bias; }),
                    LoweringCase{"f32:100x4", "f32:4", "float=0.5"});
}

TEST(CppApi, ScalarConvertsIntegersToFloats) {
  expect_same_graph("def f(x, n: float): return x * n", define("f(x, n)", [](Value x, Scalar n) { return x * n; }),
                    LoweringCase{"f32:8x8", "int=3"});
}

TEST(CppApi, DefaultParameterNamesAreXYZW) {
  const auto op = define("five", [](Value a, Value b, Value c, Value d, Value e) { return a + b + c + d + e; });
  std::vector<std::string> names;
  for (const auto& parameter : op->parameters()) names.push_back(parameter.name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "y", "z", "w", "x4"}));
}

TEST(CppApi, IndexingSlicesAndNames) {
  const char* text = R"(
def giou(pred, target):
    lt = maximum(pred[..., :2], target[..., :2])
    rb = minimum(pred[..., 2:], target[..., 2:])
    wh = (rb - lt).clamp(min=0)
    return wh[..., 0] * wh[..., 1]
)";
  const auto function = define("giou(pred, target)", [](Value pred, Value target) {
    const Value lt = maximum(pred[{Ellipsis, Slice(None, 2)}], target[{Ellipsis, Slice(None, 2)}]).named("lt");
    const Value rb = minimum(pred[{Ellipsis, Slice(2)}], target[{Ellipsis, Slice(2)}]).named("rb");
    const Value wh = (rb - lt).clamp(0).named("wh");
    return wh[{Ellipsis, 0}] * wh[{Ellipsis, 1}];
  });
  expect_same_graph(text, function, LoweringCase{"f32:1000x4", "f32:1000x4"});
}

TEST(CppApi, SeveralResultsStacksAndKeywords) {
  const char* text = R"(
def f(x, y):
    a, b = x.chunk(2, -1)
    return torch.stack([a, b * y], 0), softplus(x, beta=2.0), x.to(torch.float64)[None], -x // 3
)";
  const auto function = define("f(x, y)", [](Value x, Value y) {
    const auto [a, b] = chunk(x, 2, -1).unpack<2>();
    return std::tuple(stack({a.named("a"), b.named("b") * y}, 0), softplus(x, Keyword{"beta", 2.0}),
                      x.to(DType::F64)[None], floor_divide(-x, 3));
  });
  const LoweringCase call{"f32:20x40", "f32:20x20"};
  EXPECT_EQ(call.lower(*function).results.size(), 4u);
  expect_same_graph(text, function, call);
}

TEST(CppApi, ControlFlowDependsOnSizes) {
  expect_same_graph("def f(x): return sum([x[:, i] * i for i in range(x.size(1))])",
                    define("f(x)",
                           [](Value x) {
                             Value total = 0;
                             for (int64_t i = 0; i < x.size(1).known(); ++i) {
                               total = i == 0 ? 0 + x[{Slice(), i}] * i : total + x[{Slice(), i}] * i;
                             }
                             return total;
                           }),
                    LoweringCase{"f32:100x3"});
}

TEST(CppApi, DefinesAnOpFromAFunctionPointer) {
  const auto op = define("twice(x)", +[](Value x) { return x * 2; });
  expect_same_graph("def twice(x): return x * 2", op, LoweringCase{"f32:5"});
}

TEST(CppApi, ReportsMisuseAsAuthorErrors) {
  const auto error_message = [](const auto& definition, const LoweringCase& call) -> std::string {
    try {
      call.lower(*definition);
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::Author);
      return error.message();
    }
    return "accepted";
  };
  const LoweringCase floats{"f32:3", "f32:4"};
  const auto add = define("f", [](Value x, Value y) { return x + y; });
  EXPECT_EQ(error_message(add, LoweringCase{"f32:3"}), "`f` takes 2 arguments, but 1 are given");
  const auto scale = define("f(x, s)", [](Value x, Scalar s) { return x * s; });
  EXPECT_EQ(error_message(scale, floats), "`s` must be a number, not a float32 tensor");
  const auto repeat = define("f(x, n)", [](Value x, ScalarInt n) { return x * n; });
  EXPECT_EQ(error_message(repeat, (LoweringCase{"f32:3", "float=1.5"})), "`n` must be an integer, not a float");
  const auto constants = define("f(x)", [](Value) { return Value(1) + Value(2); });
  EXPECT_EQ(error_message(constants, LoweringCase{"f32:3"}), "`+` has only constant operands");
  EXPECT_THROW(define("f(x, y)", [](Value x) { return x; }), Error);
}

// The list of supported functions

TEST(Language, ListsEveryFunctionOnceWithASummary) {
  const std::vector<frontend::NameInfo> names = frontend::language_names();
  EXPECT_GE(names.size(), 150u);
  std::set<std::string_view> seen;
  for (const frontend::NameInfo& info : names) {
    EXPECT_TRUE(seen.insert(info.name).second) << info.name << " is listed twice";
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_FALSE(info.summary.ends_with('.')) << info.name;
    for (const std::string_view alias : info.aliases) EXPECT_TRUE(seen.insert(alias).second) << alias;
  }
}

}  // namespace
}  // namespace ingot
