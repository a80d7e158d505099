#include "tests/frontend/tensor_testing.h"

// In-place ops: the values that all tensors of a storage have after an op, the values written to parameters, and the
// errors.

namespace ingot::frontend {
namespace {

using Index = std::vector<int64_t>;
using Values = std::function<int64_t(const Index&)>;

struct Program {
  std::string body;            ///< of `def f(x)`, for the x of shape [4, 3] with x[i, j] = 10 * i + j
  std::vector<int64_t> shape;  ///< of the first result
  Values expected;             ///< the elements of the first result
};

Array input() {
  return Array::of({4, 3}, [](const Index& i) { return 10 * i[0] + i[1]; });
}

ir::Graph lowered(const std::string& body) { return LoweringCase{"i64:4x3"}.lower("def f(x):\n" + body); }

void expect(const Program& program) {
  const ir::Graph graph = lowered(program.body);
  const std::vector<Array> arguments{input()};
  GraphRun run(graph, arguments);
  EXPECT_TRUE(run.conditions_hold());
  EXPECT_EQ(run.result(0).data, Array::of(program.shape, program.expected).data) << program.body;
}

int64_t x(int64_t i, int64_t j) { return 10 * i + j; }
int64_t x(const Index& i) { return x(i[0], i[1]); }

TEST(InPlace, ChangesAllTensorsOfAStorage) {
  const Program programs[] = {
      {"    a = x * 2\n    b = a\n    b += 1\n    return a", {4, 3}, [](const Index& i) { return x(i) * 2 + 1; }},
      {"    a = x * 2\n    b = a.clone()\n    b += 1\n    return a", {4, 3}, [](const Index& i) { return x(i) * 2; }},
      {"    a = x * 1\n    b = a.long().detach()\n    b.neg_()\n    return a",
       {4, 3},
       [](const Index& i) { return -x(i); }},
      {"    a = x * 1\n    b = a[1:]\n    a += 5\n    return b",
       {3, 3},
       [](const Index& i) { return x(i[0] + 1, i[1]) + 5; }},
      {"    a = x * 1\n    def g(y):\n        y += 7\n    g(a)\n    return a",
       {4, 3},
       [](const Index& i) { return x(i) + 7; }},
  };
  for (const Program& program : programs) expect(program);
}

TEST(InPlace, WritesThroughViewsToTheirBase) {
  const auto base = [](std::string write) { return "    a = x * 1\n" + write + "\n    return a"; };
  const auto plus = [](std::function<bool(const Index&)> where, int64_t more) {
    return [=](const Index& i) { return x(i) + (where(i) ? more : 0); };
  };
  const Program programs[] = {
      {base("    b = a[0]\n    b += 5"), {4, 3}, plus([](const Index& i) { return i[0] == 0; }, 5)},
      {base("    a[1:3, 0] += 5"), {4, 3}, plus([](const Index& i) { return i[0] >= 1 && i[0] < 3 && i[1] == 0; }, 5)},
      {base("    a[::2] += 5"), {4, 3}, plus([](const Index& i) { return i[0] % 2 == 0; }, 5)},
      {base("    a.t()[1] += 5"), {4, 3}, plus([](const Index& i) { return i[1] == 1; }, 5)},
      {base("    a.unsqueeze(1)[2, 0, 1:] += 5"),
       {4, 3},
       plus([](const Index& i) { return i[0] == 2 && i[1] > 0; }, 5)},
      {base("    a.chunk(2)[1].add_(5)"), {4, 3}, plus([](const Index& i) { return i[0] >= 2; }, 5)},
      {base("    a.view(12)[:4] += 5"), {4, 3}, plus([](const Index& i) { return i[0] * 3 + i[1] < 4; }, 5)},
      {base("    a[a > 20] += 5"), {4, 3}, plus([](const Index& i) { return x(i) > 20; }, 5)},
      {base("    for row in a:\n        row += 5"), {4, 3}, plus([](const Index&) { return true; }, 5)},
      {base("    a[0] += a[1]"), {4, 3}, [](const Index& i) { return x(i) + (i[0] == 0 ? x(1, i[1]) : 0); }},
      {base("    b = a[1:]\n    c = b[:, 2]\n    b[0] = 100\n    c -= 1"),
       {4, 3},
       [](const Index& i) { return (i[0] == 1 ? 100 : x(i)) - (i[0] >= 1 && i[1] == 2); }},
  };
  for (const Program& program : programs) expect(program);
}

TEST(InPlace, FillsEmptyTensors) {
  expect({"    y = torch.empty_like(x)\n    y[:1] = 7\n    y[1:] = x[1:]\n    return y", {4, 3}, [](const Index& i) {
            return i[0] == 0 ? 7 : x(i);
          }});
  EXPECT_NE(rejection_message("def f(x):\n    y = torch.empty_like(x)\n    y[:1] = 7\n    return y + 1", {"i64:4x3"})
                .find("elements of `y` are read that were never given a value"),
            std::string::npos);
}

TEST(InPlace, MutatesParameters) {
  const ir::Graph graph = lowered("    y = x + 1\n    x[1] = 9\n    return y");
  ASSERT_EQ(graph.results.size(), 2u);
  EXPECT_EQ(graph.results[0].mutates, 0u);
  EXPECT_EQ(graph.results[0].blocks.size(), 1u) << "rows that nothing wrote are stored";
  const std::vector<Array> arguments{input()};
  GraphRun run(graph, arguments);
  EXPECT_EQ(run.result(0).data, Array::of({4, 3}, [](const Index& i) { return i[0] == 1 ? 9 : x(i); }).data);
  EXPECT_EQ(run.result(1).data, Array::of({4, 3}, [](const Index& i) { return x(i) + 1; }).data);
  EXPECT_EQ(lowered("    x.relu_()").results.size(), 1u);
  EXPECT_EQ(lowered("    F.relu(x, inplace=True)").results.size(), 1u);
}

TEST(InPlace, DecidesByStridesWhetherStorageIsShared) {
  const auto writes = [](const std::string& body, std::vector<int64_t> strides) {
    const auto definition = define("def f(x):\n" + body);
    Signature signature;
    signature.arguments.push_back({.rank = 2});
    SymbolValues symbol_values;
    symbol_values.size = [](uint32_t, uint32_t dim) { return dim == 0 ? 6 : 4; };
    symbol_values.strides = [&](uint32_t) { return strides; };
    const ir::Graph graph = lower(*definition, signature, symbol_values);
    EXPECT_EQ(graph.aliases.size(), 1u) << body;
    return graph.results.front().mutates.has_value();
  };
  for (const char* body :
       {"    y = x.contiguous()\n    y += 1\n    return y * 2", "    y = x.reshape(-1)\n    y += 1\n    return y * 2",
        "    y = x.flatten()\n    x += 1\n    return y * 2"}) {
    EXPECT_TRUE(writes(body, {4, 1})) << body;
    EXPECT_EQ(writes(body, {1, 6}), std::string_view(body).find("x += 1") != std::string_view::npos) << body;
  }
  EXPECT_TRUE(writes("    y = x.float(memory_format=torch.contiguous_format)\n    y += 1\n    return y * 2", {1, 6}));
}

TEST(InPlace, AcceptsViewsOfTheSameElementsAtTheSameIndices) {
  for (const char* body : {"    a = x * 2\n    a.view(a.shape).add_(a)\n    return a",
                           "    a = x[0] * 2\n    a.view(-1).add_(a)\n    return a",
                           "    a = (x * 2)[:1, :1]\n    a.mT.copy_(a)\n    return a",
                           "    a = x * 2\n    a.unsqueeze(0).view(4, 1, 3)[:, 0].add_(a)\n    return a"})
    EXPECT_EQ(rejection_message("def f(x):\n" + std::string(body), {"i64:4x3"}), "accepted") << body;
}

TEST(InPlace, RejectsInvalidWritesWithMessages) {
  const struct {
    const char *body, *message;
  } cases[] = {
      {"    a = x * 1\n    a /= 2\n    return a", "result type Float can't be cast to the desired output type Long"},
      {"    a = x[0] * 1\n    a += x\n    return a",
       "output with shape [x.size(1)] doesn't match the broadcast shape [4, x.size(1)]"},
      {"    a = x[:1] * 1\n    a += x\n    return a",
       "output with shape [1, x.size(1)] doesn't match the broadcast shape [4, x.size(1)]"},
      {"    a = (x[:1] * 1).expand(4, 3)\n    a += x\n    return a", "more than one element of the written-to tensor"},
      {"    a = x * 1\n    a[1:] += a[:-1]\n    return a",
       "some elements of the input tensor and the written-to tensor"},
      {"    a = x * 1\n    b = a.reshape(12)\n    b += 1\n    return a",
       "a tensor was changed in place that may share memory"},
      {"    a = x * 1\n    b = a.reshape(12)\n    a += 1\n    return b",
       "a tensor was changed in place that may share memory"},
      {"    b = x.reshape(12)\n    b += 1\n    return b", "may be in the memory of `x` or be a copy"},
      {"    x += 1\n    return x", "`x` is changed in place, but it or a view of it is returned"},
      {"    a = x * 1\n    a[x] = 1\n    return a", "assignment to a tensor index is not supported"},
      {"    a = x * 1\n    a[a > 1] = x\n    return a", "assignment to a mask takes one value"},
      {"    a = x * 1\n    a[0] = 'b'\n    return a", "can't assign a string to a int64 tensor"},
      {"    y = x + 1", "`f` returns nothing"},
  };
  for (const auto& test_case : cases) {
    const std::string message = rejection_message(std::string("def f(x):\n") + test_case.body, {"i64:4x3"});
    EXPECT_NE(message.find(test_case.message), std::string::npos) << test_case.body << "\n" << message;
  }
}

TEST(InPlace, AcceptsAWriteToATensorThatMayShareUnusedStorage) {
  expect({"    b = (x * 1).reshape(12)\n    b += 1\n    return b", {12}, [](const Index& i) {
            return x(i[0] / 3, i[0] % 3) + 1;
          }});
}

}  // namespace
}  // namespace ingot::frontend
