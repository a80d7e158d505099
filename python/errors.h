#pragma once

#include <Python.h>

#include <string_view>

namespace ingot::python {

/// Makes `ingot.Error` and puts it into the module. False with a Python exception set.
bool add_error(PyObject* module);

/// To be called in a catch block: sets the Python exception for the C++ one in flight. ingot::Error becomes
/// ingot.Error; everything of PyTorch's (out of memory, an ATen error) what PyTorch makes of it.
void set_python_error();

/// The text as Python's. Bytes that are no UTF-8 (a compiler's output, a folder's name) are written as escapes.
PyObject* text_object(std::string_view text);

}  // namespace ingot::python
