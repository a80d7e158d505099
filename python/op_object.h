#pragma once

#include <Python.h>

namespace ingot::python {

/// Makes the type `_ingot.Op` and puts it into the module. False with a Python exception set.
bool add_op_type(PyObject* module);

/// prepare_all([(op, values, names of the last of them)…]): ingot::prepare, of objects of that type.
PyObject* prepare_all(PyObject* module, PyObject* list);

}  // namespace ingot::python
