#pragma once

#include <Python.h>

namespace ingot::python {

/// Creates the type `_ingot.Op` and adds it to the module. On failure returns false, with a Python exception set.
bool add_op_type(PyObject* module);

/// prepare_all([(op, values, names of the keyword arguments)…]): ingot::prepare for objects of the type `_ingot.Op`.
PyObject* prepare_all(PyObject* module, PyObject* list);

/// install_dynamo_call(type, call): sets the `__call__` that Dynamo reads on the type, and keeps the slot that calls
/// use.
PyObject* install_dynamo_call(PyObject* module, PyObject* args);

}  // namespace ingot::python
