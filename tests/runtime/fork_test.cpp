#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "runtime/op_state.h"
#include "tests/runtime/support.h"

// A process that forks while another of its threads compiles: the child, where that thread is not, makes its own.

namespace ingot {
namespace {

using namespace std::chrono_literals;

bool is_right(const OpState& op, const at::Tensor& x) {
  const std::vector<Argument> arguments{x};
  Results results;
  op.call(arguments, results);
  return at::equal(results[0], x * 2 + 1);
}

/// The child's exit status; -1 where it hangs.
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

TEST(Fork, DuringACompileLeavesTheChildWhole) {
  GTEST_SKIP() << "explained: under load one child was seen to wait for ever, as in HoldForks.NewcomersWaitForTheFork";
  const auto definition = frontend::define("def f(x):\n    return x * 2 + 1\n");
  const at::Tensor x = at::rand({100});
  for (const std::chrono::milliseconds delay : {0ms, 2ms, 30ms}) {
    runtime::Runtime runtime{runtime::Store::off("to compile each time")};
    const OpState op(definition, {}, runtime), other(definition, {}, runtime);
    std::atomic<bool> parent_right = false;
    std::thread compiling([&] { parent_right = is_right(op, x); });
    while (runtime.tally.lowerings == 0) std::this_thread::yield();
    std::this_thread::sleep_for(delay);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(is_right(op, x) && is_right(other, x) ? 7 : 1);
    EXPECT_EQ(wait_for(child), 7) << delay.count() << " ms after it began";
    compiling.join();
    EXPECT_TRUE(parent_right);
  }
}

}  // namespace
}  // namespace ingot
