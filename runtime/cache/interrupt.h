#pragma once

#include <atomic>
#include <exception>
#include <functional>

// Lets a caller abandon long work: Python's main thread must handle signals while a compiler runs, and Ctrl-C ends the
// compiler. The work then runs on another thread, because the work holds a ForkGuard and so must not wait for the GIL.

namespace ingot::runtime {

/// Ends work that its caller has abandoned. Never leaves `interruptibly`.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

/// How the host program handles signals. `is_handler_thread`: whether this thread handles them; fast and
/// lock-free. `run_handlers` runs the pending handlers, and throws their exceptions.
struct Signals {
  bool (*is_handler_thread)();
  void (*run_handlers)();
};
void set_signals(Signals signals);
/// Whether this thread handles signals, so that long work must run under `interruptibly`.
bool handles_signals();

/// Runs `work`. If this thread handles signals, `work` runs on another thread, and this thread handles signals
/// meanwhile. If a handler throws, the work is abandoned, and the exception is rethrown once the work has ended. Do not
/// call this function under a ForkGuard.
void interruptibly(const std::function<void()>& work);

/// The period in milliseconds at which waiting code checks whether its work was abandoned.
inline constexpr int kInterruptMilliseconds = 20;

/// Whether the work of this thread was abandoned.
bool is_interrupted();
inline void throw_if_interrupted() {
  if (is_interrupted()) throw Interrupted();
}

/// Makes this thread part of another thread's work: both are abandoned together.
class SharedInterrupt {
 public:
  using Flag = const std::atomic<bool>*;
  /// The flag of this thread's work, to pass to other threads.
  static Flag flag();
  explicit SharedInterrupt(Flag flag);
  ~SharedInterrupt();
  SharedInterrupt(const SharedInterrupt&) = delete;
  SharedInterrupt& operator=(const SharedInterrupt&) = delete;

 private:
  Flag previous_;
};

}  // namespace ingot::runtime
