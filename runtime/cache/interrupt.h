#pragma once

#include <atomic>
#include <exception>
#include <functional>

// A caller may give up what it waits for: Python's main thread must hear signals while a compiler runs, and Ctrl-C ends
// the compiler. The work then runs on a thread of its own, since it holds forks and so may not wait for Python.

namespace ingot::runtime {

/// Ends work that its caller has given up. Never leaves `interruptibly`.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

/// How the host program hears signals. `hears` says whether this thread does, in a moment and without a lock. `hear`
/// handles what has come, and throws what a handler throws.
struct Signals {
  bool (*hears)();
  void (*hear)();
};
void set_signals(Signals signals);
/// Whether this thread hears signals, so that long work belongs under `interruptibly`.
bool hears_signals();

/// Runs `work`; where this thread hears signals, on another thread, while this one handles them. If a handler throws,
/// the work is given up, and that exception comes out once the work has ended. Not to be called while forks are held.
void interruptibly(const std::function<void()>& work);

/// How often what waits looks whether it was given up.
inline constexpr int kInterruptMilliseconds = 20;

/// Whether the work of this thread was given up.
bool is_interrupted();
inline void throw_if_interrupted() {
  if (is_interrupted()) throw Interrupted();
}

/// Makes this thread take part in the work of another: it is given up together with it.
class SharedInterrupt {
 public:
  using Flag = const std::atomic<bool>*;
  /// The flag of this thread's work, to be handed to the others.
  static Flag flag();
  explicit SharedInterrupt(Flag flag);
  ~SharedInterrupt();
  SharedInterrupt(const SharedInterrupt&) = delete;
  SharedInterrupt& operator=(const SharedInterrupt&) = delete;

 private:
  Flag before_;
};

}  // namespace ingot::runtime
