#pragma once

namespace ingot::runtime {

/// Delays forks of the process during its lifetime. A child has only the forking thread, so the unfinished work of
/// other threads (a held mutex, a flight that others wait for, an initialiser) would stay unfinished in it. All code
/// that takes a lock or makes a shared value runs under a guard, so that a child finds everything at rest. Guards nest;
/// a thread that forks under its own guard waits only for other threads' guards.
///
/// A forking thread may hold the GIL. A thread under a guard must not wait for the GIL, because that would be a
/// deadlock. So the outermost guard releases the GIL for its lifetime, and code that takes the GIL calls
/// `refuse_while_forks_are_held` first.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 private:
  void* lock_ = nullptr;  ///< the released GIL
};

/// How a thread releases and takes the GIL. `release` returns null where the thread does not hold it.
struct PythonLock {
  void* (*release)();
  void (*acquire)(void* released);
};
void set_python_lock(PythonLock lock);

/// Throws Error(Internal) where this thread is under a ForkGuard, because it is about to wait for a lock that a forking
/// thread may hold.
void refuse_while_forks_are_held(const char* wanted);

}  // namespace ingot::runtime
