#pragma once

#include <Python.h>

namespace ingot::python {

/// Makes the type `_ingot.Op` and puts it into the module. False with a Python exception set.
bool add_op_type(PyObject* module);

/// prepare_all([(op, values, names of the last of them)…]): ingot::prepare, of objects of that type.
PyObject* prepare_all(PyObject* module, PyObject* list);

/// let_dynamo_read(type, call): gives the type the `__call__` that Dynamo is to read, and leaves the slot that is
/// called.
PyObject* let_dynamo_read(PyObject* module, PyObject* args);

}  // namespace ingot::python
