#include <fmt/format.h>

#include <filesystem>

#include "frontend/frontend.h"
#include "runtime/api/op_state.h"
#include "tests/runtime/support.h"
#include "tests/scratch.h"

// Kernels compiled together: each gives the same result as the kernel compiled alone, from memory, from disk, and after
// a record is lost.

namespace ingot {
namespace {

void add(const OpState& op, std::span<const Argument> call, runtime::KernelBatch& batch) {
  OpState::PendingCall pending = op.make_pending_call(call);
  OpState::prepare(pending, batch);
}

using namespace testing_support;
using runtime::Scratch;

/// Ops of one name, whose kernels need distinct names, with several numerics and with two results.
struct Ops {
  explicit Ops(runtime::Runtime& runtime) {
    for (int k = 0; k < 5; ++k) {
      const std::string text = fmt::format("def f(x, y):\n    return relu(x) * {0} + y, x - {0}\n", k);
      const auto source = std::make_shared<const Source>("op.py", text);
      OpOptions options;
      if (k == 4) options.numerics = Numerics::Fast;
      states.push_back(std::make_shared<OpState>(frontend::define(source), options, runtime));
    }
  }
  std::vector<std::shared_ptr<OpState>> states;
};

struct BatchTest : testing::Test {
  const Scratch scratch;
  const at::Tensor x = at::randn({7, 5}), y = at::randn({5}), transposed = at::randn({5, 7}).t();
  const std::vector<std::vector<Argument>> calls = {{x, y}, {transposed, y}, {x, transposed}};

  void expect_correct(const Ops& ops, runtime::Runtime& runtime, uint64_t compiles) {
    const uint64_t before = runtime.counters.compiles;
    for (size_t k = 0; k < ops.states.size(); ++k)
      for (const std::vector<Argument>& call : calls) {
        Results results;
        ops.states[k]->call(call, results);
        const at::Tensor &a = *call[0].tensor(), &b = *call[1].tensor();
        expect_same(results[0], at::relu(a) * static_cast<int64_t>(k) + b);
        expect_same(results[1], a - static_cast<int64_t>(k));
      }
    EXPECT_EQ(runtime.counters.compiles - before, compiles);
  }
};

TEST_F(BatchTest, CompilesOneFilePerNumericsBeforeTheCalls) {
  runtime::Runtime runtime{runtime::Store(scratch.path())};
  const Ops ops(runtime);
  runtime::KernelBatch batch(runtime.kernels);
  for (int round = 0; round < 2; ++round)
    for (const auto& op : ops.states)
      for (const std::vector<Argument>& call : calls) add(*op, call, batch);
  batch.compile();
  EXPECT_EQ(runtime.counters.compiles, 2u);
  EXPECT_EQ(runtime.counters.launches, 0u);
  expect_correct(ops, runtime, 0);
}

TEST_F(BatchTest, LoadsFromDiskAndCompilesAgainIfABinaryIsMissing) {
  {
    runtime::Runtime runtime{runtime::Store(scratch.path())};
    const Ops ops(runtime);
    runtime::KernelBatch batch(runtime.kernels);
    for (const auto& op : ops.states)
      for (const std::vector<Argument>& call : calls) add(*op, call, batch);
    batch.compile();
  }
  {
    runtime::Runtime runtime{runtime::Store(scratch.path())};
    const Ops ops(runtime);
    runtime::KernelBatch batch(runtime.kernels);
    add(*ops.states[0], calls[0], batch);
    batch.compile();
    expect_correct(ops, runtime, 0);
    EXPECT_EQ(runtime.counters.plans, 0u);
  }
  size_t removed = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(scratch.path()))
    if (file.path().filename().string().find("library") != std::string::npos)
      removed += std::filesystem::remove(file.path());
  EXPECT_EQ(removed, 2u);
  runtime::Runtime runtime{runtime::Store(scratch.path())};
  expect_correct(Ops(runtime), runtime, 15);
}

TEST(Prepare, ContinuesAfterAFailure) {
  const Op good("def good(x):\n    return x * 2 + " + std::to_string(::getpid()) + "\n"), bad("x.view(3)");
  const at::Tensor x = at::randn({8});
  const Argument arguments[] = {x};
  const CallToPrepare calls[] = {{bad, arguments}, {good, arguments}};
  EXPECT_NE(error_of([&] { prepare(calls); }).find("view"), std::string::npos);
  EXPECT_EQ(growth([&] { good(x); }).compiles, 0u);
}

}  // namespace
}  // namespace ingot
