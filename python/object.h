#pragma once

#include <Python.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/Exceptions.h>

#include <string_view>

#include "python/errors.h"
#include "runtime/cache/fork_guard.h"

// Helpers that every function of the extension uses around its body.

namespace ingot::python {

/// Releases the GIL during its lifetime, so that other Python threads run.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// Holds the GIL during its lifetime. All code takes the GIL with this class, because its constructor throws an
/// internal error if the thread is under a ForkGuard, which must not wait for the GIL.
class WithGil {
 public:
  WithGil() {
    runtime::refuse_under_fork_guard("Python's lock");
    state_ = PyGILState_Ensure();
  }
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Whether this thread holds the GIL.
inline bool has_gil() {
  PyThreadState* state = PyGILState_GetThisThreadState();
  return state && state == pybind11::detail::get_thread_state_unchecked();
}

/// Runs `body`, which returns a new reference, and converts C++ exceptions to Python exceptions.
template <typename Body>
PyObject* guarded(Body body) {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

}  // namespace ingot::python
