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

Signals known_signals{};
thread_local SharedInterrupt::Flag given_up_here = nullptr;

/// State shared by a caller and its working thread. The thread is never joined: a fork in a signal handler waits for
/// the end of the work, and the child has no such thread.
struct Job {
  std::atomic<bool> given_up = false;
  std::mutex mutex;
  std::condition_variable changed;
  bool finished = false;
  std::exception_ptr failure;

  void run(const std::function<void()>& work) {
    const ForkGuard guard;  // until `finished` is set, so that a child sees either no job or a finished one
    const SharedInterrupt shared(&given_up);
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    finished = true;
    changed.notify_all();
  }
  /// Waits until the work ends, or at most for `moment`. Returns whether the work has ended.
  bool wait(std::optional<std::chrono::milliseconds> moment) {
    std::unique_lock lock(mutex);
    const auto has_ended = [&] { return finished; };
    if (moment) return changed.wait_for(lock, *moment, has_ended);
    changed.wait(lock, has_ended);
    return true;
  }
};

}  // namespace

void set_signals(Signals signals) { known_signals = signals; }

bool hears_signals() { return known_signals.hears && known_signals.hears(); }

void interruptibly(const std::function<void()>& work) {
  if (!hears_signals()) return work();
  const auto job = std::make_shared<Job>();
  try {
    std::thread([job, &work] { job->run(work); }).detach();
  } catch (const std::system_error&) {  // no more threads
    return work();
  }
  while (!job->wait(std::chrono::milliseconds(kInterruptMilliseconds))) {
    try {
      known_signals.hear();
    } catch (...) {
      job->given_up = true;
      job->wait({});
      throw;
    }
  }
  if (job->failure) std::rethrow_exception(job->failure);
}

bool is_interrupted() { return given_up_here && given_up_here->load(std::memory_order_relaxed); }

SharedInterrupt::Flag SharedInterrupt::flag() { return given_up_here; }
SharedInterrupt::SharedInterrupt(Flag flag) : before_(given_up_here) { given_up_here = flag; }
SharedInterrupt::~SharedInterrupt() { given_up_here = before_; }

}  // namespace ingot::runtime
