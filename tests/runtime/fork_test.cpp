#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "runtime/api/op_state.h"
#include "tests/runtime/support.h"

// A process that forks while another of its threads compiles: the child lacks that thread, and compiles its own kernel.

namespace ingot {
namespace {

using namespace std::chrono_literals;

at::Tensor result_of(const OpState& op, const at::Tensor& x) {
  const std::vector<Argument> arguments{x};
  Results results;
  op.call(arguments, results);
  return results[0];
}

/// Returns the child's exit status; -1 if the child hangs.
int wait_for(pid_t child) {
  int status = 0;
  for (int i = 0; i < 60'000; ++i) {
    if (::waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
    std::this_thread::sleep_for(1ms);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return -1;
}

TEST(Fork, DuringACompilationLeavesTheChildConsistent) {
  const auto definition = frontend::define("def f(x):\n    return x * 2 + 1\n");
  const at::Tensor x = at::rand({100});
  const at::Tensor expected = x * 2 + 1;
  // A fork does not wait for PyTorch's own initialisation, so that must be complete before.
  ASSERT_TRUE(at::equal(result_of(OpState(definition, {}, runtime::default_runtime()), x), expected));
  for (const std::chrono::milliseconds delay : {0ms, 2ms, 30ms}) {
    runtime::Runtime runtime{runtime::Store::off("to compile each time")};
    const OpState op(definition, {}, runtime), other(definition, {}, runtime);
    at::Tensor result_of_parent;
    std::thread compiling([&] { result_of_parent = result_of(op, x); });
    while (runtime.counters.lowerings == 0) std::this_thread::yield();
    std::this_thread::sleep_for(delay);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(at::equal(result_of(op, x), expected) && at::equal(result_of(other, x), expected) ? 7 : 1);
    EXPECT_EQ(wait_for(child), 7) << delay.count() << " ms after it began";
    compiling.join();
    EXPECT_TRUE(at::equal(result_of_parent, expected));
  }
}

}  // namespace
}  // namespace ingot
