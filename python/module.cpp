#include <Python.h>
#include <torch/csrc/Device.h>
#include <unistd.h>

#include <optional>
#include <string_view>

#include "frontend/frontend.h"
#include "python/compile_bindings.h"
#include "python/eager_fallback.h"
#include "python/errors.h"
#include "python/object.h"
#include "python/op_object.h"
#include "runtime/api/op.h"
#include "runtime/api/runtime.h"
#include "runtime/cache/fork_guard.h"
#include "runtime/cache/interrupt.h"
#include "runtime/call/refusals.h"

namespace ingot::python {

namespace {

PyObject* module_counters(PyObject*, PyObject*) {
  Counters c = counters();
  return Py_BuildValue("{sK sK sK sK sK sK sK sK}", "lowerings", c.lowerings, "plans", c.plans, "compiles", c.compiles,
                       "disk_hits", c.disk_hits, "launches", c.launches, "allocations", c.allocations, "loads", c.loads,
                       "eager_fallbacks", c.eager_fallbacks);
}

PyObject* module_count_eager_fallback(PyObject*, PyObject*) {
  runtime::AtomicCounters::add(runtime::default_runtime().counters.eager_fallbacks);
  return Py_NewRef(Py_None);
}

PyObject* module_cache_info(PyObject*, PyObject*) try {
  const runtime::Store& store = runtime::default_runtime().store;
  runtime::StoreCounters counts = store.counters();
  runtime::Store::Usage usage = store.usage();
  return Py_BuildValue("{sN sO sN sK sK sK sK}", "folder", PyUnicode_DecodeFSDefault(store.folder().c_str()), "enabled",
                       store.is_enabled() ? Py_True : Py_False, "status", text_object(store.status()), "files",
                       usage.files, "bytes", usage.bytes, "hits", counts.hits, "misses", counts.misses);
} catch (...) {
  set_python_error();
  return nullptr;
}

const char* kind_name(frontend::NameInfo::Kind kind) {
  switch (kind) {
    case frontend::NameInfo::Kind::Primitive:
      return "primitive";
    case frontend::NameInfo::Kind::Builtin:
      return "builtin";
    case frontend::NameInfo::Kind::Library:
      return "library";
  }
  return "";
}

PyObject* tuple_of(const std::vector<std::string_view>& names) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(names.size()));
  for (size_t i = 0; tuple && i < names.size(); ++i) {
    PyObject* item = PyUnicode_FromStringAndSize(names[i].data(), static_cast<Py_ssize_t>(names[i].size()));
    if (!item)
      Py_CLEAR(tuple);
    else
      PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), item);
  }
  return tuple;
}

PyObject* module_language(PyObject*, PyObject*) try {
  PyObject* list = PyList_New(0);
  for (const frontend::NameInfo& info : frontend::language_names()) {
    if (!list) break;
    PyObject* aliases = tuple_of(info.aliases);
    PyObject* row = aliases ? Py_BuildValue("(s#sNOOs#)", info.name.data(), static_cast<Py_ssize_t>(info.name.size()),
                                            kind_name(info.kind), aliases, info.is_function ? Py_True : Py_False,
                                            info.is_method ? Py_True : Py_False, info.summary.data(),
                                            static_cast<Py_ssize_t>(info.summary.size()))
                            : nullptr;
    if (!row || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
} catch (...) {
  set_python_error();
  return nullptr;
}

PyTypeObject* device_context = nullptr;  ///< torch.utils._device.DeviceContext

/// Returns the device that a mode selects. Takes the GIL, because it runs in the middle of a call, while other Python
/// threads run.
std::optional<c10::Device> device_of_mode(const c10::SafePyObject& mode) {
  const WithGil gil;
  PyObject* object = mode.ptr(&mode.pyinterpreter());
  std::optional<c10::Device> device;
  if (Py_TYPE(object) == device_context) {
    PyObject* value = PyObject_GetAttrString(object, "device");
    if (value && THPDevice_Check(value)) device = reinterpret_cast<THPDevice*>(value)->device;
    Py_XDECREF(value);
    PyErr_Clear();
  }
  return device;
}

/// Looks up PyTorch's DeviceContext, and gives the runtime `device_of_mode`. In a PyTorch without that class, the
/// runtime supports no mode.
void install_device_context_check() {
  PyObject* module = PyImport_ImportModule("torch.utils._device");
  PyObject* type = module ? PyObject_GetAttrString(module, "DeviceContext") : nullptr;
  Py_XDECREF(module);
  PyErr_Clear();
  if (!type || !PyType_Check(type)) return Py_XDECREF(type);
  device_context = reinterpret_cast<PyTypeObject*>(type);
  runtime::set_device_of_mode(device_of_mode);
}

/// Tells the runtime how to release Python's lock and how Python's signals are handled.
void set_python_hooks() {
  runtime::set_python_lock({
      .release = []() -> void* { return has_gil() ? PyEval_SaveThread() : nullptr; },
      .acquire = [](void* released) { PyEval_RestoreThread(static_cast<PyThreadState*>(released)); },
  });
  runtime::set_signals({
      // Handlers run on Python's main thread, which is the process's main thread. While it holds the GIL it is not
      // treated
      // as the handler thread: it would wait for the compilation without releasing the GIL.
      .is_handler_thread = [] { return ::gettid() == ::getpid() && !has_gil(); },
      .run_handlers =
          [] {
            const WithGil gil;
            if (PyErr_CheckSignals() == 0) return;
            python_error error;
            error.persist();
            throw error;
          },
  });
}

PyMethodDef methods[] = {
    {"counters", module_counters, METH_NOARGS, "The counts of the process so far, as a dict."},
    {"cache_info", module_cache_info, METH_NOARGS, "The state of the kernel cache's folder, as a dict."},
    {"_prepare_all", prepare_all, METH_O, nullptr},
    {"count_eager_fallback", module_count_eager_fallback, METH_NOARGS, "Counts a call that falls back to eager."},
    {"_install_dynamo_call", install_dynamo_call, METH_VARARGS, nullptr},
    {"language", module_language, METH_NOARGS,
     "Every supported function: (name, kind, aliases, is_function, is_method, summary)."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "ingot._ingot", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

}  // namespace ingot::python

PyMODINIT_FUNC PyInit__ingot() {
  using namespace ingot::python;
  PyObject* module = PyModule_Create(&definition);
  if (!module) return nullptr;
  if (!add_error(module) || !add_op_type(module) || PyModule_AddFunctions(module, compile_methods) != 0 ||
      PyModule_AddStringConstant(module, "__version__", INGOT_VERSION) != 0) {
    Py_DECREF(module);
    return nullptr;
  }
  set_python_hooks();
  install_device_context_check();
  install_traced_tensor_check();
  return module;
}
