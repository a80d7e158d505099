#include "runtime/cache/fork_guard.h"

#include <pthread.h>

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "base/error.h"

namespace ingot::runtime {

namespace {

thread_local size_t depth = 0;  // how many guards this thread holds
PythonLock python_lock{};

/// Counts the threads that hold guards. While a thread forks, no other thread can take its first guard.
class Gate {
 public:
  void enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !is_forking_; });
    ++inside_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --inside_;
    changed_.notify_all();
  }

  void close() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !is_forking_; });  // if two threads fork at once, one waits
    is_forking_ = true;
    const size_t own_guards = depth > 0 ? 1 : 0;
    changed_.wait(lock, [&] { return inside_ == own_guards; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_forking_ = false;
    changed_.notify_all();
  }

  explicit Gate(size_t inside = 0) : inside_(inside) {}

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_forking_ = false;
  size_t inside_;
};

Gate* gate = nullptr;

void before_fork() { gate->close(); }
void after_fork_in_parent() { gate->open(); }
/// Makes a new gate for the child. The old gate counts guards of threads that do not exist in the child.
void after_fork_in_child() { gate = new Gate(depth > 0 ? 1 : 0); }

Gate& the_gate() {
  static const bool is_created = [] {
    gate = new Gate;
    ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return true;
  }();
  static_cast<void>(is_created);
  return *gate;
}

/// Creates the gate when the library is loaded, not at first use: a child forked during the first use would wait for a
/// thread that it does not have.
[[maybe_unused]] const Gate& gate_at_load = the_gate();

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

void refuse_under_fork_guard(const char* lock_name) {
  if (depth > 0) throw_internal("a thread under a ForkGuard waits for the GIL", lock_name);
}

}  // namespace ingot::runtime
