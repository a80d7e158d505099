#pragma once

#include <Python.h>

namespace ingot::python {

/// Makes the type `_ingot.Op` and puts it into the module. False with a Python exception set.
bool add_op_type(PyObject* module);

}  // namespace ingot::python
