#pragma once

#include <Python.h>
#include <torch/csrc/Exceptions.h>

#include <string_view>

#include "python/errors.h"

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

inline PyObject* text_object(std::string_view text) {
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

}  // namespace ingot::python
