#include "python/compile_bindings.h"

#include <cxxabi.h>
#include <torch/csrc/autograd/python_variable.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "python/errors.h"
#include "python/object.h"
#include "runtime/api/parse_value.h"
#include "runtime/cache/interrupt.h"
#include "runtime/compile/compiler.h"
#include "runtime/host/cuda_backend.h"

namespace ingot::python {

namespace {

std::vector<std::string> strings_in(PyObject* list) {
  std::vector<std::string> strings;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i));
    if (!text) throw python_error();
    strings.emplace_back(text);
  }
  return strings;
}

/// _read_value(name, text, seed, sizes, meta=False). With `meta`, a tensor has no data.
PyObject* read_value(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *name, *text;
    unsigned long long seed;
    PyObject* sizes;
    int meta = 0;
    if (!PyArg_ParseTuple(args, "ssKO!|p", &name, &text, &seed, &PyDict_Type, &sizes, &meta)) return nullptr;
    runtime::TensorOptions options{.seed = seed, .is_meta = meta != 0};
    PyObject *key, *size;
    for (Py_ssize_t at = 0; PyDict_Next(sizes, &at, &key, &size);) {
      const char* size_name = PyUnicode_AsUTF8(key);
      const long long value = PyLong_AsLongLong(size);
      if (PyErr_Occurred()) return nullptr;
      options.sizes[size_name] = value;
    }
    const runtime::ArgumentValue value = runtime::parse_value(name, text, options);
    if (const auto* tensor = std::get_if<at::Tensor>(&value)) return THPVariable_Wrap(*tensor);
    const auto* number = std::get_if<ir::HostValue>(&value);
    if (!number) return Py_NewRef(Py_None);
    if (number->kind == ir::HostKind::Bool) return PyBool_FromLong(number->integer != 0);
    if (number->kind == ir::HostKind::Int) return PyLong_FromLongLong(number->integer);
    return PyFloat_FromDouble(number->real);
  });
}

PyObject* bytes_object(const std::string& bytes) {
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

/// _compile_cuda(source, name, architecture, options, expressions)
PyObject* compile_cuda(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *source, *name;
    int architecture;
    PyObject *options, *expressions;
    if (!PyArg_ParseTuple(args, "ssiO!O!", &source, &name, &architecture, &PyList_Type, &options, &PyList_Type,
                          &expressions))
      return nullptr;
    runtime::CudaProgram program;
    {
      const std::vector<std::string> flags = strings_in(options), requested = strings_in(expressions);
      WithoutGil released;
      runtime::interruptibly([&] { program = runtime::Nvrtc::compile(source, name, architecture, flags, requested); });
    }
    PyObject* names = PyList_New(0);
    for (const std::string& expression : program.names) {
      PyObject* item = names ? text_object(expression) : nullptr;
      if (!item || PyList_Append(names, item) != 0) Py_CLEAR(names);
      Py_XDECREF(item);
    }
    if (!names) return nullptr;
    return Py_BuildValue("(NNNN)", bytes_object(program.cubin), text_object(program.ptx), names,
                         text_object(program.log));
  });
}

/// _compile_host(source, name, options)
PyObject* compile_host(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *source, *name;
    PyObject* options;
    if (!PyArg_ParseTuple(args, "ssO!", &source, &name, &PyList_Type, &options)) return nullptr;
    std::string bytes;
    {
      const std::vector<std::string> flags = strings_in(options);
      WithoutGil released;
      runtime::interruptibly([&] { bytes = runtime::HostCompiler::compile(source, name, flags); });
    }
    return bytes_object(bytes);
  });
}

/// _demangle(name): the C++ name that a linker symbol encodes; None if it encodes none.
PyObject* demangle(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* mangled = PyUnicode_AsUTF8(name);
    if (!mangled) return nullptr;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                           &std::free);
    return status == 0 ? text_object(text.get()) : Py_NewRef(Py_None);
  });
}

/// A kernel and the loaded cubin that contains it.
struct LoadedKernel {
  std::shared_ptr<const void> cubin;
  const void* kernel = nullptr;
  c10::DeviceIndex device = 0;
};

constexpr const char* kLoadedKernel = "ingot.LoadedKernel";

LoadedKernel& loaded_kernel_in(PyObject* capsule) {
  auto* loaded = static_cast<LoadedKernel*>(PyCapsule_GetPointer(capsule, kLoadedKernel));
  if (!loaded) throw python_error();
  return *loaded;
}

PyObject* capsule_of(LoadedKernel kernel) {
  auto owned = std::make_unique<LoadedKernel>(std::move(kernel));
  PyObject* capsule = PyCapsule_New(owned.get(), kLoadedKernel, [](PyObject* object) {
    delete static_cast<LoadedKernel*>(PyCapsule_GetPointer(object, kLoadedKernel));
  });
  if (capsule) owned.release();
  return capsule;
}

/// _load_kernels(cubin, entries, device): one kernel per entry. The kernels share the cubin's variables.
PyObject* load_kernels(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* cubin;
    Py_ssize_t size;
    PyObject* names;
    int device;
    if (!PyArg_ParseTuple(args, "y#O!i", &cubin, &size, &PyList_Type, &names, &device)) return nullptr;
    const std::vector<std::string> entries = strings_in(names);
    std::vector<const void*> kernels(entries.size());
    const auto index = static_cast<c10::DeviceIndex>(device);
    const std::shared_ptr<const void> loaded_cubin =
        runtime::cuda_backend().load({cubin, static_cast<size_t>(size)}, entries, index, kernels);
    PyObject* loaded = PyList_New(0);
    for (const void* kernel : kernels) {
      PyObject* capsule = loaded ? capsule_of({loaded_cubin, kernel, index}) : nullptr;
      if (!capsule || PyList_Append(loaded, capsule) != 0) Py_CLEAR(loaded);
      Py_XDECREF(capsule);
    }
    return loaded;
  });
}

/// _kernel_resources(kernel, threads, shared_bytes)
PyObject* kernel_resources(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* capsule;
    int threads;
    long long shared_bytes;
    if (!PyArg_ParseTuple(args, "OiL", &capsule, &threads, &shared_bytes)) return nullptr;
    const LoadedKernel& loaded = loaded_kernel_in(capsule);
    const runtime::KernelResources resources =
        runtime::cuda_backend().resources(loaded.kernel, threads, shared_bytes, loaded.device);
    return Py_BuildValue("{si sL sL si si}", "registers", resources.registers, "local_bytes",
                         static_cast<long long>(resources.local_bytes), "shared_bytes",
                         static_cast<long long>(resources.shared_bytes), "max_threads", resources.max_threads, "blocks",
                         resources.blocks);
  });
}

/// _launch_kernel(kernel, grid, block, shared_bytes, arguments). Each argument is the bytes of its value.
PyObject* launch_kernel(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *capsule, *arguments;
    runtime::Extent grid{}, block{};
    unsigned shared_bytes;
    if (!PyArg_ParseTuple(args, "O(III)(III)IO!", &capsule, &grid.x, &grid.y, &grid.z, &block.x, &block.y, &block.z,
                          &shared_bytes, &PyTuple_Type, &arguments))
      return nullptr;
    const LoadedKernel& loaded = loaded_kernel_in(capsule);
    std::vector<void*> values;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
      char* bytes = PyBytes_AsString(PyTuple_GET_ITEM(arguments, i));
      if (!bytes) return nullptr;
      values.push_back(bytes);
    }
    // CUDA requires an explicit request for more than 48 KiB of shared memory per block.
    constexpr unsigned kDefaultSharedBytes = 48 * 1024;
    if (shared_bytes > kDefaultSharedBytes) runtime::cuda_backend().load_on(loaded.kernel, shared_bytes, loaded.device);
    runtime::cuda_backend().launch({loaded.kernel, grid, block, shared_bytes, values.data(), loaded.device});
    return Py_NewRef(Py_None);
  });
}

}  // namespace

PyMethodDef compile_methods[] = {
    {"_read_value", read_value, METH_VARARGS, nullptr},
    {"_compile_cuda", compile_cuda, METH_VARARGS, nullptr},
    {"_compile_host", compile_host, METH_VARARGS, nullptr},
    {"_demangle", demangle, METH_O, nullptr},
    {"_load_kernels", load_kernels, METH_VARARGS, nullptr},
    {"_kernel_resources", kernel_resources, METH_VARARGS, nullptr},
    {"_launch_kernel", launch_kernel, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace ingot::python
