#pragma once

#include <Python.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/Exceptions.h>

#include <string_view>

#include "python/errors.h"
#include "runtime/cache/fork_guard.h"

// What every function of the extension does around its body.

namespace ingot::python {

/// Lets other Python threads run for as long as it lives.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// Holds Python's lock for as long as it lives. The one way to take it, so that nobody who holds forks can.
class WithGil {
 public:
  WithGil() {
    runtime::refuse_while_forks_are_held("Python's lock");
    state_ = PyGILState_Ensure();
  }
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Whether this thread has Python's lock.
inline bool has_gil() {
  PyThreadState* state = PyGILState_GetThisThreadState();
  return state && state == pybind11::detail::get_thread_state_unchecked();
}

/// Runs `body`, which returns a new reference, with C++ exceptions made Python's.
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
