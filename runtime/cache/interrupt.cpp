#include "runtime/cache/interrupt.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "runtime/cache/fork_guard.h"

namespace ingot::runtime {

namespace {

Signals current_signals{};
thread_local SharedInterrupt::Flag abandoned_flag = nullptr;

/// State shared by a caller and its working thread. The thread is detached, not joined. If a signal handler forks, the
/// fork waits for the end of the work, but the child has no such thread that it could join.
struct Job {
  std::atomic<bool> is_abandoned = false;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_finished = false;
  std::exception_ptr failure;

  void run(const std::function<void()>& work) {
    const ForkGuard guard;  // until `is_finished` is set, so that a child sees either no job or a finished one
    const SharedInterrupt shared(&is_abandoned);
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    is_finished = true;
    changed.notify_all();
  }
  /// Waits until the work ends, or at most for `timeout`. Returns whether the work has ended.
  bool wait(std::optional<std::chrono::milliseconds> timeout) {
    std::unique_lock lock(mutex);
    const auto has_ended = [&] { return is_finished; };
    if (timeout) return changed.wait_for(lock, *timeout, has_ended);
    changed.wait(lock, has_ended);
    return true;
  }
};

}  // namespace

void set_signals(Signals signals) { current_signals = signals; }

bool handles_signals() { return current_signals.is_handler_thread && current_signals.is_handler_thread(); }

void interruptibly(const std::function<void()>& work) {
  if (!handles_signals()) return work();
  const auto job = std::make_shared<Job>();
  try {
    std::thread([job, &work] { job->run(work); }).detach();
  } catch (const std::system_error&) {  // no more threads
    return work();
  }
  while (!job->wait(std::chrono::milliseconds(kInterruptMilliseconds))) {
    try {
      current_signals.run_handlers();
    } catch (...) {
      job->is_abandoned = true;
      job->wait({});
      throw;
    }
  }
  if (job->failure) std::rethrow_exception(job->failure);
}

bool is_interrupted() { return abandoned_flag && abandoned_flag->load(std::memory_order_relaxed); }

SharedInterrupt::Flag SharedInterrupt::flag() { return abandoned_flag; }
SharedInterrupt::SharedInterrupt(Flag flag) : previous_(abandoned_flag) { abandoned_flag = flag; }
SharedInterrupt::~SharedInterrupt() { abandoned_flag = previous_; }

}  // namespace ingot::runtime
