#include "runtime/cache/fork_guard.h"

#include <pthread.h>

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "base/error.h"

namespace ingot::runtime {

namespace {

thread_local size_t depth = 0;
PythonLock python_lock{};

class Gate {
 public:
  void enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !forking_; });
    ++inside_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --inside_;
    changed_.notify_all();
  }

  void close() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !forking_; });  // if two threads fork at once, one waits
    forking_ = true;
    const size_t mine = depth > 0 ? 1 : 0;
    changed_.wait(lock, [&] { return inside_ == mine; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    forking_ = false;
    changed_.notify_all();
  }

  explicit Gate(size_t inside = 0) : inside_(inside) {}

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool forking_ = false;
  size_t inside_;
};

Gate* gate = nullptr;

void before_fork() { gate->close(); }
void in_parent() { gate->open(); }
/// Makes a new gate for the child. Threads that waited at the old gate do not exist in the child, and it would wait for
/// them.
void in_child() { gate = new Gate(depth > 0 ? 1 : 0); }

Gate& the_gate() {
  static const bool made = [] {
    gate = new Gate;
    ::pthread_atfork(before_fork, in_parent, in_child);
    return true;
  }();
  static_cast<void>(made);
  return *gate;
}

/// Creates the gate when the library is loaded, not at first use: a child forked during the first use would wait for a
/// thread that it does not have.
[[maybe_unused]] const Gate& made_at_load = the_gate();

}  // namespace

ForkGuard::ForkGuard() {
  if (depth == 0) {
    if (python_lock.release) lock_ = python_lock.release();
    the_gate().enter();
  }
  ++depth;
}

ForkGuard::~ForkGuard() {
  if (--depth > 0) return;
  the_gate().leave();
  if (lock_) python_lock.acquire(lock_);
}

void set_python_lock(PythonLock lock) { python_lock = lock; }

void refuse_while_forks_are_held(const char* wanted) {
  if (depth > 0) throw_internal("a thread under a ForkGuard waits for the GIL", wanted);
}

}  // namespace ingot::runtime
