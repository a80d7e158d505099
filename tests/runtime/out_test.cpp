#include <c10/core/InferenceMode.h>

#include "tests/runtime/support.h"

// out=: accepted tensors, and the written values.

namespace ingot {
namespace {

using namespace testing_support;

void call(const Op& op, std::initializer_list<at::Tensor> arguments, std::initializer_list<at::Tensor> outs) {
  const std::vector<Argument> list(arguments.begin(), arguments.end());
  const std::vector<at::Tensor> results(outs);
  op.call_out(list, results);
}

std::string error_of_call(const Op& op, std::initializer_list<at::Tensor> arguments,
                          std::initializer_list<at::Tensor> outs) {
  return error_of([&] { call(op, arguments, outs); });
}

TEST(Out, WritesWithoutAllocating) {
  const Op op("x * y + 1");
  const at::Tensor x = at::randn({5, 6}), y = at::randn({6}), out = at::empty({5, 6});
  const Counters grown = growth([&] { call(op, {x, y}, {out}); });
  EXPECT_EQ(grown.allocations, 0u);
  EXPECT_EQ(grown.launches, 1u);
  EXPECT_TRUE(at::equal(out, x * y + 1));
}

TEST(Out, BumpsTheVersionAfterAPartialWrite) {
  const Op op("def f(table, i):\n    return table[i] + 1\n");
  const at::Tensor table = at::arange(4).to(at::kFloat), out = at::zeros({3});
  const auto before = out._version();
  EXPECT_NE(error_of_call(op, {table, at::tensor({0, 1, 99})}, {out}).find("index out of range"), std::string::npos);
  EXPECT_EQ(out._version(), before + 1);
}

TEST(Out, KeepsItsStrides) {
  const Op op("x * y + 1");
  const at::Tensor x = at::randn({5, 6}), out = at::zeros({6, 12}).slice(1, 0, 10, 2).t();
  call(op, {x, x}, {out});
  EXPECT_TRUE(at::equal(out, x * x + 1));
}

TEST(Out, BumpsTheVersion) {
  const Op op("x + 1");
  const at::Tensor out = at::empty({4});
  const auto before = out._version();
  call(op, {at::randn({4})}, {out});
  EXPECT_EQ(out._version(), before + 1);
}

TEST(Out, MayAliasAnInputReadAtTheSameIndex) {
  const Op op("x * 2 + y");
  const at::Tensor x = at::randn({4, 5}), y = at::randn({4, 5}), expected = x * 2 + y;
  call(op, {x, y}, {x});
  EXPECT_TRUE(at::equal(x, expected));
}

TEST(Out, MayInterleaveWithAnInput) {
  const Op op("x * 2");
  const at::Tensor columns = at::randn({100, 2});
  const at::Tensor first = columns.select(1, 0), second = columns.select(1, 1), expected = first * 2;
  call(op, {first}, {second});
  EXPECT_TRUE(at::equal(second, expected));
}

TEST(Out, RejectsUnsuitableTensors) {
  const Op op("x + y");
  const at::Tensor x = at::randn({4}), y = at::randn({4}), big = at::randn({8});
  EXPECT_NE(error_of_call(op, {x, y}, {at::empty({5})}).find("shape [4], but `out` has [5]"), std::string::npos);
  EXPECT_NE(error_of_call(op, {x, y}, {at::empty({4}, at::kDouble)}).find("float32, but `out` is float64"),
            std::string::npos);
  EXPECT_NE(error_of_call(op, {x, y}, {at::empty({1}).expand({4})}).find("refers to a single memory location"),
            std::string::npos);
  EXPECT_NE(error_of_call(op, {big.slice(0, 0, 4), y}, {big.slice(0, 1, 5)}).find("overlaps `x` in part"),
            std::string::npos);
  EXPECT_NE(error_of_call(op, {x, y}, {at::empty({4}).requires_grad_()}).find("requires grad"), std::string::npos);
  EXPECT_NE(error_of_call(op, {x, y}, {x, y}).find("returns 1 tensor, and out has 2"), std::string::npos);
  EXPECT_NE(error_of_call(op, {x, y}, {}).find("no tensor"), std::string::npos);
}

TEST(Out, RejectsAnInputReadAtOtherIndices) {
  const Op op("def f(x):\n    return x.flip(0) + x\n");
  const at::Tensor x = at::randn({4});
  EXPECT_NE(error_of_call(op, {x}, {x}).find("depends on other elements of it"), std::string::npos);
}

TEST(Out, AcceptsInferenceTensorsInInferenceMode) {
  const Op op("x + 1");
  at::Tensor out, x;
  {
    const c10::InferenceMode guard;
    out = at::empty({4});
    x = at::ones({4});
    call(op, {x}, {out});
    EXPECT_TRUE(at::equal(out, x + 1));
  }
  EXPECT_NE(error_of_call(op, {x}, {out}).find("inference mode"), std::string::npos);
}

TEST(Out, WritesSeveralResults) {
  const Op op("def two(x):\n    return x + 1, x * 2\n");
  const at::Tensor x = at::randn({4}), a = at::empty({4}), b = at::empty({4});
  call(op, {x}, {a, b});
  EXPECT_TRUE(at::equal(a, x + 1));
  EXPECT_TRUE(at::equal(b, x * 2));
  EXPECT_NE(error_of_call(op, {x}, {a, a}).find("`out[0]` and `out[1]` overlap"), std::string::npos);
}

}  // namespace
}  // namespace ingot
