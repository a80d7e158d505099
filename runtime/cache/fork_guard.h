#pragma once

namespace ingot::runtime {

/// Delays forks of the process during its lifetime. A child has only the forking thread, so the unfinished work of
/// other threads (a held mutex, a flight that others wait for, an initialiser) would stay unfinished in it. The code
/// that binds a call (it takes locks, lowers, compiles and loads) runs under a guard, so that none of this work is
/// unfinished in a child. Guards nest; a thread that forks under its own guard waits only for other threads' guards.
///
/// A forking thread may hold the GIL. A thread under a guard must not wait for the GIL, because that would be a
/// deadlock. The outermost guard therefore releases the GIL for its lifetime, and code that takes the GIL calls
/// `refuse_under_fork_guard` first.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 private:
  void* lock_ = nullptr;  ///< the released GIL
};

/// How a thread releases and takes the GIL. `release` returns null if the thread does not hold the GIL.
struct PythonLock {
  void* (*release)();
  void (*acquire)(void* released);
};
void set_python_lock(PythonLock lock);

/// Throws Error(Internal) if this thread is under a ForkGuard: it is about to wait for a lock that a forking thread may
/// hold.
void refuse_under_fork_guard(const char* lock_name);

}  // namespace ingot::runtime
