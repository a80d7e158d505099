#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include "frontend/interpret/evaluation.h"
#include "frontend/tensor/results.h"
#include "runtime/api/op_state.h"
#include "tests/runtime/support.h"
#include "tests/scratch.h"

// Results written into parameters. The values equal the values of eager's in-place ops, whatever the kernels read
// meanwhile, and the version counter is incremented.

namespace ingot {
namespace {

using namespace testing_support;
using runtime::Scratch;

/// The op of a source text whose first results are written into `params`.
class Mutating final : public frontend::Definition {
 public:
  Mutating(const std::string& text, std::vector<uint32_t> params, size_t block_count)
      : inner_(frontend::define(text)),
        text_("# in place\n" + text),
        params_(std::move(params)),
        block_count_(block_count) {}

  const std::string& name() const override { return inner_->name(); }
  std::span<const frontend::Parameter> parameters() const override { return inner_->parameters(); }
  std::string_view source_text() const override { return text_; }

  frontend::Value evaluate(frontend::Evaluation& evaluation,
                           std::span<const std::optional<frontend::Value>> arguments) const override {
    const frontend::Value all = inner_->evaluate(evaluation, arguments);
    std::vector<frontend::Value> items = *all.items();
    for (size_t i = 0; i < params_.size(); ++i) {
      frontend::make_results(evaluation, items[i]);
      ir::Result& result = evaluation.graph.results.back();
      result.mutates = params_[i];
      result.name = evaluation.graph.params[params_[i]].name;
      result.blocks.resize(std::min(block_count_, result.blocks.size()));
    }
    return frontend::Value::tuple({items.begin() + static_cast<std::ptrdiff_t>(params_.size()), items.end()});
  }

 private:
  std::shared_ptr<const frontend::Definition> inner_;
  std::string text_;
  std::vector<uint32_t> params_;
  size_t block_count_;
};

/// `block_count`: how many output blocks of a mutated result are written; the elements of the others stay unwritten.
Op mutating(const std::string& text, std::vector<uint32_t> params = {0}, size_t block_count = 100) {
  return Op(std::make_shared<const Mutating>(text, std::move(params), block_count));
}

std::vector<at::Tensor> call(const Op& op, std::initializer_list<at::Tensor> arguments) {
  const std::vector<Argument> list(arguments.begin(), arguments.end());
  return op.call(list);
}

std::string error_of_call(const Op& op, std::initializer_list<at::Tensor> arguments) {
  return error_of([&] { call(op, arguments); });
}

constexpr const char* kScaleAndAdd = "def f(x, y):\n    return x * 2 + y, x - y\n";

TEST(InPlaceResults, WritesTheParameterAndReturnsTheRest) {
  const Op op = mutating(kScaleAndAdd);
  for (at::Tensor x :
       {at::randn({5, 6}), at::randn({6, 5}).t(), at::randn({5, 12}).slice(1, 0, 12, 2), at::ones({5, 0})}) {
    const at::Tensor y = at::randn(x.sizes()), expected = x * 2 + y, rest = x - y;
    const auto version = x._version();
    const std::vector<int64_t> strides = x.strides().vec();
    std::vector<at::Tensor> returned;
    const Counters grown = growth([&] { returned = call(op, {x, y}); });
    EXPECT_EQ(grown.allocations, 1u);
    EXPECT_TRUE(at::equal(x, expected));
    EXPECT_EQ(x._version(), version + 1);
    EXPECT_EQ(x.strides().vec(), strides);
    ASSERT_EQ(returned.size(), 1u);
    expect_same(returned[0], rest);
  }
}

TEST(InPlaceResults, ReadsTheValuesBeforeTheWrite) {
  const at::Tensor start = at::randn({40, 6});
  const auto expect = [&](const char* text, const std::function<at::Tensor(const at::Tensor&)>& eager) {
    const at::Tensor x = start.clone();
    const auto version = x._version();
    const std::vector<at::Tensor> returned = call(mutating(text), {x});
    EXPECT_TRUE(at::equal(x, eager(start))) << text;
    EXPECT_EQ(x._version(), version + 1) << text;
    EXPECT_TRUE(at::equal(returned[0], start.slice(0, 1) * 3)) << text;
  };
  // Each op returns a result of another shape, so that a second kernel reads x.
  expect("def f(x):\n    return x * 2, x[1:] * 3\n", [](const at::Tensor& x) { return x * 2; });
  expect("def f(x):\n    return x.flip(0) + 1, x[1:] * 3\n", [](const at::Tensor& x) { return x.flip(0) + 1; });
  expect("def f(x):\n    return x * 0 + x[0], x[1:] * 3\n", [](const at::Tensor& x) { return x * 0 + x[0]; });
  expect("def f(x):\n    return cat([x[:7] * 2, x[7:]]), x[1:] * 3\n",
         [](const at::Tensor& x) { return at::cat({x.slice(0, 0, 7) * 2, x.slice(0, 7)}); });
}

TEST(InPlaceResults, CopiesOnlyIfAKernelReadsOtherElements) {
  const auto allocated = [](const char* text) {
    const at::Tensor x = at::randn({40, 6});
    return growth([&] { call(mutating(text), {x}); }).allocations;
  };
  EXPECT_EQ(allocated("def f(x):\n    return x * 2, x + 1\n"), 1u);
  EXPECT_EQ(allocated("def f(x):\n    return cat([x[:7] * 2, x[7:] * 3]), ones_like(x[:3])\n"), 1u);
  EXPECT_EQ(allocated("def f(x):\n    return cat([x[:20] * 2, x[20:] * 3]), ones_like(x[:3])\n"), 1u);
  EXPECT_EQ(allocated("def f(x):\n    return x.flip(0), x + 1\n"), 2u);
}

TEST(InPlaceResults, LeavesElementsOutsideOutputBlocks) {
  // In the first op the kernel writes x itself. In the second op the kernel reads other elements than it writes, so it
  // needs a copy.
  for (const char* text : {"def f(x):\n    return cat([x[:7] * 2, x[7:]]), ones_like(x[:3])\n",
                           "def f(x):\n    return cat([x[33:] * 2, x[7:]]), ones_like(x[:3])\n"}) {
    const at::Tensor x = at::randn({40, 6}), before = x.clone();
    const bool reads_other_elements = std::string_view(text).find("33") != std::string_view::npos;
    call(mutating(text, {0}, 1), {x});
    EXPECT_TRUE(at::equal(x.slice(0, 0, 7), (reads_other_elements ? before.slice(0, 33) : before.slice(0, 0, 7)) * 2))
        << text;
    EXPECT_TRUE(at::equal(x.slice(0, 7), before.slice(0, 7))) << text;
  }
}

TEST(InPlaceResults, WritesSeveralParameters) {
  const Op op = mutating("def f(x, y):\n    return x + y, x - y, x * y\n", {0, 1});
  const at::Tensor x = at::randn({9}), y = at::randn({9}), sum = x + y, difference = x - y, product = x * y;
  const std::vector<at::Tensor> returned = call(op, {x, y});
  EXPECT_TRUE(at::equal(x, sum) && at::equal(y, difference) && at::equal(returned.at(0), product));
  EXPECT_NE(error_of_call(op, {x, x}).find("`x` is written in place, and `y` is in the same memory"),
            std::string::npos);
}

TEST(InPlaceResults, RejectsMemorySharedWithAnotherArgument) {
  const Op op = mutating(kScaleAndAdd);
  const at::Tensor interleaved = at::randn({8, 2}), x = interleaved.select(1, 0), y = interleaved.select(1, 1);
  const at::Tensor expected = x * 2 + y, buffer = at::randn({17});
  // Keys that differ only in the overlap of tensors: the bound call of one must not serve another.
  EXPECT_EQ(error_of_call(op, {x, y}), "no error");
  EXPECT_TRUE(at::equal(x, expected));
  EXPECT_NE(error_of_call(op, {x, x}).find("in the same memory"), std::string::npos);
  EXPECT_NE(error_of_call(op, {buffer.slice(0, 0, 15, 2), buffer.slice(0, 2, 17, 2)}).find("pass y.clone()"),
            std::string::npos);
  EXPECT_EQ(error_of_call(op, {x, y}), "no error");
  // Nothing reads `y` here.
  EXPECT_EQ(error_of_call(mutating("def f(x, y):\n    return x * 2, x + 1\n"), {x, x}), "no error");
}

TEST(InPlaceResults, RejectsTensorsThatEagerRejects) {
  const Op op = mutating(kScaleAndAdd);
  const at::Tensor y = at::randn({4}), leaf = at::randn({4}).requires_grad_(), plain = at::randn({4});
  EXPECT_NE(error_of_call(op, {at::randn({1}).expand({4}), y}).find("refers to a single memory location"),
            std::string::npos);
  EXPECT_NE(error_of_call(op, {leaf, y}).find("`x` requires grad"), std::string::npos);
  EXPECT_NE(error_of_call(op, {leaf.view({4}), y}).find("`x` requires grad"), std::string::npos);
  {
    const c10::AutoGradMode guard(false);  // as optimizers do
    const at::Tensor expected = leaf * 2 + y;
    EXPECT_EQ(error_of_call(op, {leaf, y}), "no error");
    EXPECT_TRUE(at::equal(leaf, expected));
  }
  at::Tensor inference;
  {
    const c10::InferenceMode guard;
    inference = at::ones({4});
    EXPECT_EQ(error_of_call(op, {inference, y}), "no error");
    EXPECT_EQ(error_of_call(op, {plain, y}), "no error");
    EXPECT_TRUE(at::equal(inference, at::ones({4}) * 2 + y));
  }
  EXPECT_NE(error_of_call(op, {inference, y}).find("inference mode"), std::string::npos);
}

TEST(InPlaceResults, IncrementsVersionsThatAutogradChecks) {
  const Op op = mutating(kScaleAndAdd);
  const at::Tensor leaf = at::ones({4}).requires_grad_(), x = at::ones({4});
  const at::Tensor loss = (leaf * x).sum();
  call(op, {x, x.clone()});
  EXPECT_NE(error_of([&] { loss.backward(); }).find("modified by an inplace operation"), std::string::npos);
}

TEST(InPlaceResults, IndexErrorLeavesParameterUnchanged) {
  const Op op = mutating("def f(x, i):\n    return x + x[i], x + 1\n");
  const at::Tensor x = at::arange(4).to(at::kFloat), before = x.clone();
  const auto version = x._version();
  EXPECT_NE(error_of_call(op, {x, at::tensor({0, 1, 2, 99})}).find("index out of range"), std::string::npos);
  EXPECT_TRUE(at::equal(x, before));
  EXPECT_EQ(x._version(), version);
  call(op, {x, at::tensor({3, 2, 1, 0})});
  EXPECT_TRUE(at::equal(x, at::full({4}, 3.0f)));
  EXPECT_EQ(x._version(), version + 1);
}

TEST(InPlaceResults, DivisionByZeroLeavesParameterUnchanged) {
  const Op op = mutating("def f(x, y):\n    return x // y, x + 1\n");
  const at::Tensor x = at::arange(4), before = x.clone();
  EXPECT_NE(error_of_call(op, {x, at::tensor({1, 1, 1, 0}, at::kLong)}).find("ZeroDivisionError"), std::string::npos);
  EXPECT_TRUE(at::equal(x, before));
}

TEST(InPlaceResults, WritesAParameterAndAnOut) {
  const Op op = mutating(kScaleAndAdd);
  const at::Tensor x = at::randn({4}), y = at::randn({4}), out = at::empty({4}), sum = x * 2 + y, difference = x - y;
  const std::vector<Argument> arguments{x, y};
  op.call_out(arguments, std::vector<at::Tensor>{out});
  EXPECT_TRUE(at::equal(x, sum) && at::equal(out, difference));
  const auto into = [&](std::vector<at::Tensor> outs) { return error_of([&] { op.call_out(arguments, outs); }); };
  EXPECT_NE(into({x}).find("`x` and `out` overlap"), std::string::npos);
  EXPECT_NE(into({out, y}).find("returns 1 tensor, and out has 2"), std::string::npos);
}

TEST(InPlaceResults, WorksInASecondProcess) {
  const Scratch scratch;
  for (int i = 0; i < 2; ++i) {
    runtime::Runtime runtime{runtime::Store(scratch.path())};
    const OpState op(std::make_shared<const Mutating>(kScaleAndAdd, std::vector<uint32_t>{0}, 100), {}, runtime);
    const at::Tensor x = at::randn({4}), y = at::randn({4}), expected = x * 2 + y;
    const std::vector<Argument> arguments{x, y};
    Results results;
    op.call(arguments, results);
    EXPECT_TRUE(at::equal(x, expected));
    EXPECT_EQ(results.size(), 1u);
    EXPECT_EQ(runtime.counters.lowerings, i == 0 ? 1u : 0u);
  }
}

TEST(InPlaceResults, RejectsAParameterPastThe64th) {
  std::string names = "x0", sum = "x0";
  std::vector<at::Tensor> tensors{at::randn({2})};
  for (int i = 1; i <= 64; ++i) {
    names += ", x" + std::to_string(i);
    tensors.push_back(at::randn({2}));
  }
  const Op op = mutating("def f(" + names + "):\n    return x64 * 2, x0 + 1\n", {64});
  const std::vector<Argument> arguments(tensors.begin(), tensors.end());
  EXPECT_NE(error_of([&] { op.call(arguments); }).find("only the first 64 parameters"), std::string::npos);
}

TEST(InPlaceResults, AppearsInEmittedStages) {
  const at::Tensor x = at::randn({4}, at::device(at::kMeta));
  const std::vector<Argument> arguments{x, x};
  const Op op = mutating(kScaleAndAdd);
  EXPECT_NE(op.emit(Stage::Ir, arguments).find("x: f32[x.size(0)] into x ="), std::string::npos);
  EXPECT_NE(op.emit(Stage::Source, arguments).find("x_1"), std::string::npos) << op.emit(Stage::Source, arguments);
}

}  // namespace
}  // namespace ingot
