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

int hold_once() {
  const ForkGuard guard;
  return 7;
}

TEST(ForkGuard, AForkWaitsForAnotherThread) {
  std::atomic<bool> holding = false, released = false;
  std::thread other([&] {
    const ForkGuard guard;
    const ForkGuard nested;
    holding = true;
    std::this_thread::sleep_for(100ms);
    released = true;
  });
  while (!holding) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(status_of_child([&] { return released ? hold_once() : 1; }), 7);
  other.join();
}

TEST(ForkGuard, AThreadMayForkUnderItsOwn) {
  const ForkGuard guard;
  EXPECT_EQ(status_of_child(hold_once), 7);
}

TEST(ForkGuard, NewcomersWaitForTheFork) {
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
  for (int i = 0; i < 50; ++i) EXPECT_EQ(status_of_child([&] { return inside == 0 ? hold_once() : 1; }), 7);
  stop = true;
  for (std::thread& other : others) other.join();
}

TEST(ForkGuard, TwoThreadsMayForkAtOnce) {
  std::atomic<int> right = 0;
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i)
    others.emplace_back([&] {
      for (int k = 0; k < 10; ++k) right += status_of_child(hold_once) == 7;
    });
  for (std::thread& other : others) other.join();
  EXPECT_EQ(right, 40);
}

TEST(ForkGuard, AChildMayForkAgain) {
  EXPECT_EQ(status_of_child([] { return status_of_child(hold_once); }), 7);
}

thread_local bool has_lock = false;
std::mutex python;

void* release() {
  if (!has_lock) return nullptr;
  has_lock = false;
  python.unlock();
  return &python;
}
void acquire(void*) {
  python.lock();
  has_lock = true;
}

TEST(ForkGuard, ReleasesTheGilMeanwhile) {
  set_python_lock({release, acquire});
  acquire(nullptr);
  {
    const ForkGuard guard;
    EXPECT_FALSE(has_lock);
    {
      const ForkGuard nested;
      EXPECT_FALSE(has_lock);
    }
    EXPECT_THROW(refuse_under_fork_guard("a lock"), Error);
    // Another thread may take the lock and fork. The fork waits for this guard, and this thread waits for nothing that
    // the other thread holds.
    std::thread other([] {
      acquire(nullptr);
      release();
    });
    other.join();
  }
  EXPECT_TRUE(has_lock);
  EXPECT_NO_THROW(refuse_under_fork_guard("a lock"));
  release();
  set_python_lock({});
}

}  // namespace
}  // namespace ingot::runtime
