#pragma once

#include <Python.h>

#include <string_view>

namespace ingot::python {

/// Creates `ingot.Error` and adds it to the module. On failure returns false, with a Python exception set.
bool add_error(PyObject* module);

/// Sets the Python exception for the C++ exception in flight; call it in a catch block. ingot::Error becomes
/// ingot.Error. PyTorch translates its own errors (out of memory, an ATen error).
void set_python_error();

/// Converts the text to a Python string. Bytes that are not UTF-8 (in compiler output, or in a folder's name) become
/// escapes.
PyObject* text_object(std::string_view text);

}  // namespace ingot::python
