#pragma once

namespace ingot::runtime {

/// For as long as one lives, a fork of the process waits. A child has only the thread that forked: what another was in
/// the middle of (a mutex held, a flight that others wait for, an initialiser) would stay so in it for ever. So all
/// that takes a lock or makes something lives under one of these, and a child finds everything at rest. They nest; a
/// thread that forks under its own waits only for the others'.
///
/// A thread that forks may have Python's lock meanwhile, so a thread that holds forks must not wait for that: it would
/// be for ever. Hence the outermost guard lets go of the lock for as long as it lives, and who takes the lock calls
/// `refuse_while_forks_are_held` first.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 private:
  void* lock_ = nullptr;  ///< Python's lock as it was let go of
};

/// How this thread lets go of Python's lock, and takes it again. `release` gives null where the thread does not have
/// it.
struct PythonLock {
  void* (*release)();
  void (*acquire)(void* released);
};
void set_python_lock(PythonLock lock);

/// Throws Error(Internal) where this thread holds forks: it is about to wait for what a forking thread has.
void refuse_while_forks_are_held(const char* wanted);

}  // namespace ingot::runtime
