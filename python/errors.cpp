#include "python/errors.h"

#include <pybind11/pybind11.h>
#include <torch/csrc/Exceptions.h>

#include "base/error.h"

namespace ingot::python {

namespace {

PyObject* error_class = nullptr;

const char* fault_name(Fault fault) {
  switch (fault) {
    case Fault::Author:
      return "author";
    case Fault::Environment:
      return "environment";
    case Fault::Internal:
      return "internal";
  }
  return "internal";
}

void set_attribute(PyObject* object, const char* name, PyObject* value) {
  if (value) PyObject_SetAttrString(object, name, value);
  Py_XDECREF(value);
}

void set_ingot_error(const Error& error) {
  PyObject* instance = PyObject_CallFunction(error_class, "N", text_object(error.what()));
  if (!instance) return;
  set_attribute(instance, "fault", PyUnicode_FromString(fault_name(error.fault())));
  set_attribute(instance, "message", text_object(error.message()));
  if (!PyErr_Occurred()) PyErr_SetObject(error_class, instance);
  Py_DECREF(instance);
}

}  // namespace

bool add_error(PyObject* module) {
  error_class = PyErr_NewExceptionWithDoc(
      "ingot.Error",
      "The error that Ingot raises. str(error) is the whole text: the message, its location with a caret, and what to "
      "do "
      "instead.\n\n"
      "fault: 'author' (the op's source or its arguments), 'environment' (no compiler, no driver, a full disk) or\n"
      "'internal' (a defect of Ingot).  message: the message alone.",
      PyExc_RuntimeError, nullptr);
  // Exceptions from the dispatcher's kernels reach Python through PyTorch's own binding.
  pybind11::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      set_ingot_error(error);
    }
  });
  return error_class && PyModule_AddObjectRef(module, "Error", error_class) == 0;
}

PyObject* text_object(std::string_view text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
}

void set_python_error() {
  try {
    throw;
  } catch (const Error& error) {
    set_ingot_error(error);
  } catch (...) {
    torch::translate_exception_to_python(std::current_exception());
  }
}

}  // namespace ingot::python
