#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>

#include "tests/runtime/support.h"

#if defined(__linux__) && defined(__x86_64__)
#define INGOT_CAN_STEP 1
#include <dlfcn.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#endif

// The cost of a bound call: instructions, allocations and locks, counted by single steps.

namespace ingot {
namespace {

struct Cost {
  int64_t instructions = 0, allocations = 0, locks = 0;
};

#ifdef INGOT_CAN_STEP

/// Only the measured work runs between these two functions.
[[gnu::noinline]] void begin_of_work() { asm volatile(""); }
[[gnu::noinline]] void end_of_work() { asm volatile("nop"); }

uint64_t address_of(const char* function) { return reinterpret_cast<uint64_t>(::dlsym(RTLD_DEFAULT, function)); }

/// Steps the child from `begin_of_work` to `end_of_work`; empty if the child does not reach `end_of_work`.
std::optional<Cost> step(pid_t child) {
  const std::vector<uint64_t> allocators = {address_of("malloc"), address_of("calloc"), address_of("realloc"),
                                            address_of("posix_memalign"), address_of("aligned_alloc")};
  const std::vector<uint64_t> lockers = {address_of("pthread_mutex_lock"), address_of("pthread_mutex_trylock"),
                                         address_of("pthread_rwlock_rdlock"), address_of("pthread_rwlock_wrlock")};
  const auto first = reinterpret_cast<uint64_t>(&begin_of_work), last = reinterpret_cast<uint64_t>(&end_of_work);
  std::optional<Cost> cost;
  for (int status = 0; ::waitpid(child, &status, 0) == child && WIFSTOPPED(status);) {
    user_regs_struct registers{};
    if (::ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0) break;
    if (registers.rip == first) cost.emplace();
    if (cost && registers.rip == last) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return cost;
    }
    if (cost) {
      ++cost->instructions;
      cost->allocations += std::ranges::count(allocators, registers.rip);
      cost->locks += std::ranges::count(lockers, registers.rip);
    }
    if (::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) break;
  }
  return std::nullopt;
}

/// The cost of `work` in a child process, after three runs here; empty if the child cannot be stepped.
template <typename Work>
std::optional<Cost> cost_of(Work work) {
  for (int warm = 0; warm < 3; ++warm) work();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
    ::raise(SIGSTOP);
    begin_of_work();
    work();
    end_of_work();
    ::_exit(0);
  }
  return step(child);
}

#else

template <typename Work>
std::optional<Cost> cost_of(Work) {
  return std::nullopt;
}

#endif

class WarmCall : public testing::Test {
 protected:
  const at::Tensor x_ = at::rand({4, 8}), y_ = at::rand({4, 8}), out_ = at::empty({4, 8});
};

#define SKIP_IF_UNMEASURED(cost) \
  if (!(cost))                   \
  GTEST_SKIP() << "explained: instructions are stepped through on Linux and x86-64, where ptrace is allowed"

TEST_F(WarmCall, AllocatesAndLocksNothingWithOut) {
  const Op op("torch.relu(x) * y + 0.5");
  const Argument arguments[] = {x_, y_};
  const auto actual = cost_of([&] { op.call_out(arguments, {&out_, 1}); });
  SKIP_IF_UNMEASURED(actual);
  EXPECT_EQ(actual->allocations, 0);
  EXPECT_EQ(actual->locks, 0);
  // Eager needs more instructions for one op than Ingot for three.
  const auto eager = cost_of([&] { at::mul_out(const_cast<at::Tensor&>(out_), x_, y_); });
  EXPECT_LT(actual->instructions, eager->instructions);
}

TEST_F(WarmCall, AllocatesOnlyItsResult) {
  const Op op("torch.relu(x) * y + 0.5");
  const auto actual = cost_of([&] { return op(x_, y_); });
  SKIP_IF_UNMEASURED(actual);
  const auto result = cost_of([&] { return at::empty({4, 8}); });
  EXPECT_EQ(actual->allocations, result->allocations);
  EXPECT_EQ(actual->locks, result->locks);
  const auto eager = cost_of([&] { return at::mul(x_, y_); });
  EXPECT_LT(actual->instructions, eager->instructions);
}

TEST_F(WarmCall, CountsAllocationsAndLocks) {
  const auto cost = cost_of([] {
    static char* volatile pointer;
    pointer = new char[100];
    delete[] pointer;
    std::mutex mutex;
    const std::scoped_lock lock(mutex);
  });
  SKIP_IF_UNMEASURED(cost);
  EXPECT_EQ(cost->allocations, 1);
  EXPECT_EQ(cost->locks, 1);
  EXPECT_GT(cost->instructions, 20);
}

}  // namespace
}  // namespace ingot
