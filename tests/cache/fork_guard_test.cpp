#include "runtime/cache/fork_guard.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"

namespace ingot::runtime {
namespace {

using namespace std::chrono_literals;

/// Runs `body` in a child and returns its exit status, or -1 if it is still running after a while and is killed.
int status_of_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (::waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
    std::this_thread::sleep_for(1ms);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return -1;
}

int use_guard() {
  const ForkGuard guard;
  return 7;
}

TEST(ForkGuard, DelaysAForkWhileAnotherThreadHoldsOne) {
  std::atomic<bool> holding = false, released = false;
  std::thread other([&] {
    const ForkGuard guard;
    const ForkGuard nested;
    holding = true;
    std::this_thread::sleep_for(100ms);
    released = true;
  });
  while (!holding) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(status_of_child([&] { return released ? use_guard() : 1; }), 7);
  other.join();
}

TEST(ForkGuard, AllowsAForkUnderTheThreadsOwnGuard) {
  const ForkGuard guard;
  EXPECT_EQ(status_of_child(use_guard), 7);
}

TEST(ForkGuard, DelaysNewGuardsDuringAFork) {
  std::atomic<bool> stop = false;
  std::atomic<int> inside = 0;
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([&] {
      while (!stop) {
        const ForkGuard guard;
        ++inside;
        std::this_thread::yield();
        --inside;
      }
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_EQ(status_of_child([&] { return inside == 0 ? use_guard() : 1; }), 7);
  stop = true;
  for (std::thread& other : others) other.join();
}

TEST(ForkGuard, AllowsForksOfSeveralThreadsAtOnce) {
  std::atomic<int> correct = 0;
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i)
    others.emplace_back([&] {
      for (int k = 0; k < 10; ++k) correct += status_of_child(use_guard) == 7;
    });
  for (std::thread& other : others) other.join();
  EXPECT_EQ(correct, 40);
}

TEST(ForkGuard, AllowsAForkInAChild) {
  EXPECT_EQ(status_of_child([] { return status_of_child(use_guard); }), 7);
}

thread_local bool has_gil = false;
std::mutex gil;

void* release() {
  if (!has_gil) return nullptr;
  has_gil = false;
  gil.unlock();
  return &gil;
}
void acquire(void*) {
  gil.lock();
  has_gil = true;
}

TEST(ForkGuard, ReleasesTheGil) {
  set_python_lock({release, acquire});
  acquire(nullptr);
  {
    const ForkGuard guard;
    EXPECT_FALSE(has_gil);
    {
      const ForkGuard nested;
      EXPECT_FALSE(has_gil);
    }
    EXPECT_THROW(refuse_under_fork_guard("a lock"), Error);
    // Another thread can take the lock. A thread that forks may hold it. That causes no deadlock: the fork waits
    // for this guard, while this thread waits for nothing that the forking thread holds.
    std::thread other([] {
      acquire(nullptr);
      release();
    });
    other.join();
  }
  EXPECT_TRUE(has_gil);
  EXPECT_NO_THROW(refuse_under_fork_guard("a lock"));
  release();
  set_python_lock({});
}

}  // namespace
}  // namespace ingot::runtime
