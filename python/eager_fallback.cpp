#include "python/eager_fallback.h"

#include <c10/core/SafePyObject.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/PyInterpreter.h>
#include <torch/csrc/autograd/python_variable.h>

#include <optional>

#include "python/object.h"
#include "runtime/registration/kernels.h"

namespace ingot::python {

namespace {

/// Throws Python's error in flight as a C++ exception, which may leave the scope of the GIL.
[[noreturn]] void throw_python_error() {
  python_error error;
  error.persist();
  throw error;
}

/// Owns a Python reference. A null reference means a Python error in flight.
class OwnedReference {
 public:
  explicit OwnedReference(PyObject* object) : object_(object) {
    if (object == nullptr) throw_python_error();
  }
  ~OwnedReference() { Py_DECREF(object_); }
  OwnedReference(const OwnedReference&) = delete;
  OwnedReference& operator=(const OwnedReference&) = delete;

  PyObject* get() const { return object_; }

 private:
  PyObject* object_;
};

/// Returns a new reference; null with a Python error set.
PyObject* to_python(const Argument& argument);

PyObject* to_python(const ArgumentGroup& group) {
  using Kind = frontend::Structure::Kind;
  if (group.kind == Kind::Dict) {
    const OwnedReference dict(PyDict_New());
    for (size_t i = 0; i < group.items.size(); ++i) {
      const OwnedReference key(text_object(group.keys[i])), item(to_python(group.items[i]));
      if (PyDict_SetItem(dict.get(), key.get(), item.get()) != 0) return nullptr;
    }
    return Py_NewRef(dict.get());
  }
  const auto count = static_cast<Py_ssize_t>(group.items.size());
  const OwnedReference list(PyList_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = to_python(group.items[size_t(i)]);
    if (item == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), i, item);
  }
  return group.kind == Kind::Tuple ? PyList_AsTuple(list.get()) : Py_NewRef(list.get());
}

PyObject* to_python(const Argument& argument) {
  switch (argument.kind()) {
    case Argument::Kind::Absent:
    case Argument::Kind::PythonNone:
      return Py_NewRef(Py_None);
    case Argument::Kind::Tensor:
      return THPVariable_Wrap(*argument.tensor());
    case Argument::Kind::Number: {
      const ir::HostValue number = argument.number();
      if (number.kind == ir::HostKind::Bool) return PyBool_FromLong(number.integer != 0);
      return number.kind == ir::HostKind::Int ? PyLong_FromLongLong(number.integer) : PyFloat_FromDouble(number.real);
    }
    case Argument::Kind::Tensors: {
      ArgumentGroup group;
      for (const at::Tensor& tensor : *argument.tensors()) group.items.emplace_back(tensor);
      return to_python(group);
    }
    case Argument::Kind::Group:
      return to_python(*argument.group());
  }
  return nullptr;
}

class PythonFallback : public EagerFallback {
 public:
  PythonFallback(std::shared_ptr<const frontend::Definition> definition, PyObject* run_in_eager)
      : definition_(std::move(definition)), run_in_eager_(Py_NewRef(run_in_eager), getPyInterpreter()) {}

  std::vector<at::Tensor> call(std::span<const Argument> arguments, const at::Tensor& seed) const override {
    const WithGil gil;
    const OwnedReference seed_arguments(seed.defined() ? PyTuple_Pack(1, OwnedReference(THPVariable_Wrap(seed)).get())
                                                       : PyTuple_New(0));
    const OwnedReference keywords(PyDict_New());
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].kind() == Argument::Kind::Absent) continue;  // Python uses the default
      const OwnedReference value(to_python(arguments[i]));
      if (PyDict_SetItemString(keywords.get(), definition_->parameters()[i].name.c_str(), value.get()) != 0)
        throw_python_error();
    }
    const OwnedReference list(
        PyObject_Call(run_in_eager_.ptr(getPyInterpreter()), seed_arguments.get(), keywords.get()));
    std::vector<at::Tensor> results;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i)
      results.push_back(THPVariable_Unpack(PyList_GET_ITEM(list.get(), i)));
    return results;
  }

  /// Releases the GIL while autograd runs. A trace with symbolic sizes calls operators with the GIL held, and autograd
  /// does not run while its caller holds the GIL.
  std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& results, const std::vector<at::Tensor>& inputs,
                                    const std::vector<at::Tensor>& incoming, bool differentiable) const override {
    std::optional<pybind11::gil_scoped_release> released;
    if (has_gil()) released.emplace();
    return EagerFallback::gradients(results, inputs, incoming, differentiable);
  }

 private:
  std::shared_ptr<const frontend::Definition> definition_;
  c10::SafePyObject run_in_eager_;
};

/// Returns an attribute of a module, without importing the module; null if there is none.
PyObject* find_attribute(const char* module, const char* name) {
  PyObject* modules = PyImport_GetModuleDict();  // a module that was not imported has made no tensor
  PyObject* loaded = PyDict_GetItemString(modules, module);
  return loaded ? PyObject_GetAttrString(loaded, name) : nullptr;
}

bool is_instance(PyObject* object, const char* module, const char* name) {
  PyObject* type = find_attribute(module, name);
  const bool matches = type && PyObject_IsInstance(object, type) == 1;
  Py_XDECREF(type);
  PyErr_Clear();
  return matches;
}

bool is_traced(const at::Tensor& tensor) {
  const WithGil gil;
  PyObject* object = THPVariable_Wrap(tensor);
  const bool matches = object && (is_instance(object, "torch._subclasses.fake_tensor", "FakeTensor") ||
                                  is_instance(object, "torch._subclasses.functional_tensor", "FunctionalTensor"));
  Py_XDECREF(object);
  PyErr_Clear();
  return matches;
}

}  // namespace

std::shared_ptr<const EagerFallback> eager_fallback(std::shared_ptr<const frontend::Definition> definition,
                                                    PyObject* run_in_eager) {
  return std::make_shared<const PythonFallback>(std::move(definition), run_in_eager);
}

void install_traced_tensor_check() { runtime::set_is_traced(is_traced); }

}  // namespace ingot::python
