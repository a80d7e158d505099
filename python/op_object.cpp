#include "python/op_object.h"

#include <torch/csrc/autograd/python_variable.h>
// Python.h comes first, through the header above.
#include <structmember.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "frontend/frontend.h"
#include "python/arguments.h"
#include "python/eager_fallback.h"
#include "python/errors.h"
#include "python/object.h"
#include "python/sharding.h"
#include "python/stages.h"
#include "runtime/api/op.h"
#include "runtime/api/op_state.h"
#include "runtime/api/register.h"
#include "runtime/cache/fork_guard.h"
#include "runtime/call/refusals.h"

// The callable behind `f(x, y)`: a type with a vectorcall slot, so that Python adds no more overhead than for a
// built-in function. The package's class ingot.Op derives from this type and adds the parts that may be slow (source,
// reference, trace). The op's source is defined lazily: the subclass's `_resolve` calls `_define`, because an op may
// use names that are defined later in its module.

namespace ingot::python {

namespace {

struct OpObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::optional<Op> op;
  PyObject* names;  ///< a tuple: the parameters' names, interned
};

OpObject* self_of(PyObject* object) { return reinterpret_cast<OpObject*>(object); }

/// Returns the op; reads its source first if that has not happened yet.
const Op& op_of(PyObject* object) {
  OpObject* self = self_of(object);
  if (!self->op) {
    PyObject* resolved = PyObject_CallMethod(object, "_resolve", nullptr);
    if (!resolved) throw python_error();
    Py_DECREF(resolved);
    if (!self->op) throw_internal("an ingot.Op has no source");
  }
  return *self->op;
}

CallForm form_of(PyObject* object) {
  const Op& op = op_of(object);
  return {op.state().definition(), op.parameters(), reinterpret_cast<PyTupleObject*>(self_of(object)->names)->ob_item};
}

PyObject* call_into(const Op& op, const ArgumentList& arguments, PyObject* out) {
  c10::SmallVector<at::Tensor, 4> results = to_results(out);
  {
    WithoutGil released;
    op.call_out(arguments, results);
  }
  return Py_NewRef(out);
}

/// Converts a tuple to torch.return_types.NAME if the op returns such a named tuple. Steals the tuple.
PyObject* to_named_tuple(PyObject* items, ir::Returns returns) {
  const auto* named = std::ranges::find(ir::kNamedTuples, returns, &ir::NamedTuple::returns);
  if (!items || named == std::end(ir::kNamedTuples)) return items;
  PyObject* types = PyImport_ImportModule("torch.return_types");
  PyObject* type = types ? PyObject_GetAttrString(types, std::string(named->name).c_str()) : nullptr;
  PyObject* result = type ? PyObject_CallOneArg(type, items) : nullptr;
  Py_XDECREF(types);
  Py_XDECREF(type);
  Py_DECREF(items);
  return result;
}

PyObject* to_python(Results& results, ir::Returns returns) {
  if (results.empty()) return Py_NewRef(Py_None);
  if (returns == ir::Returns::Tensor) return THPVariable_Wrap(std::move(results[0]));
  const bool is_list = returns == ir::Returns::List;
  const auto count = static_cast<Py_ssize_t>(results.size());
  PyObject* items = is_list ? PyList_New(count) : PyTuple_New(count);
  for (Py_ssize_t i = 0; items && i < count; ++i) {
    PyObject* item = THPVariable_Wrap(std::move(results[static_cast<size_t>(i)]));
    if (!item)
      Py_CLEAR(items);
    else if (is_list)
      PyList_SET_ITEM(items, i, item);
    else
      PyTuple_SET_ITEM(items, i, item);
  }
  return to_named_tuple(items, returns);
}

PyObject* call_fast_path(PyObject* object, PyObject* const* args, size_t count, PyObject* keywords) {
  const Op& op = op_of(object);
  PyObject* out = nullptr;
  ArgumentList arguments = bind(form_of(object), args, count, keywords, &out);
  if (out && out != Py_None) return call_into(op, arguments, out);
  Results results;
  ir::Returns returns{};
  {
    WithoutGil released;
    returns = op.state().call(arguments, results);
  }
  return to_python(results, returns);
}

/// Makes the call through the Python method `_fallback`.
PyObject* call_fallback(PyObject* object, PyObject* const* args, size_t count, PyObject* keywords) {
  static PyObject* const name = PyUnicode_InternFromString("_fallback");
  c10::SmallVector<PyObject*, 12> all{object};
  all.append(args, args + count + (keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0));
  return PyObject_VectorcallMethod(name, all.data(), count + 1, keywords);
}

PyObject* op_call(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  try {
    return call_fast_path(object, args, static_cast<size_t>(PyVectorcall_NARGS(flags)), keywords);
  } catch (const runtime::Unsupported&) {
    return call_fallback(object, args, static_cast<size_t>(PyVectorcall_NARGS(flags)), keywords);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

/// Runs a method of the op on a call's arguments; returns None.
template <void (Op::*Action)(std::span<const Argument>) const>
PyObject* run_op_method(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    const Op& op = op_of(object);
    ArgumentList arguments = bind(form_of(object), args, static_cast<size_t>(count), keywords, nullptr);
    {
      WithoutGil released;
      (op.*Action)(arguments);
    }
    return Py_NewRef(Py_None);
  });
}

/// One item of the list that `prepare_all` takes: (op, arguments in vectorcall order, names of the keyword arguments).
struct ListedCall {
  PyObject *op, *values, *names;

  explicit ListedCall(PyObject* item) {
    if (!PyArg_ParseTuple(item, "OO!O!", &op, &PyTuple_Type, &values, &PyTuple_Type, &names)) throw python_error();
  }
  ArgumentList arguments() const {
    const auto count = static_cast<size_t>(PyTuple_GET_SIZE(values) - PyTuple_GET_SIZE(names));
    return bind(form_of(op), reinterpret_cast<PyTupleObject*>(values)->ob_item, count, names, nullptr);
  }
};

PyObject* op_emit(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&] { return emit(op_of(object), form_of(object), args, static_cast<size_t>(count), keywords); });
}

PyObject* op_explain(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&] { return explain(op_of(object), form_of(object), args, static_cast<size_t>(count), keywords); });
}

PyObject* op_shard(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&] { return shard(op_of(object), form_of(object), args, static_cast<size_t>(count), keywords); });
}

// Definition

Numerics numerics_named(std::string_view name) {
  if (name == "default") return Numerics::Default;
  if (name == "eager") return Numerics::Eager;
  if (name == "fast") return Numerics::Fast;
  throw_author({}, "unknown value of numerics: `" + std::string(name) + "`", "use one of default, eager and fast");
}

/// The option `lazy`: whether a `where` computes a branch only for the elements that select it.
Lazy lazy_named(std::string_view name) {
  if (name == "auto") return Lazy::Auto;
  if (name == "always") return Lazy::Always;
  if (name == "never") return Lazy::Never;
  throw_author({}, "unknown value of lazy: `" + std::string(name) + "`", "use one of auto, always and never");
}

/// Reads a list of (line of the source, file, line in that file, indent).
bool read_origins(PyObject* list, std::vector<Source::Origin>& origins) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    unsigned line, original_line, indent;
    const char* file;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "IsII", &line, &file, &original_line, &indent)) return false;
    origins.push_back({line, file, original_line, indent});
  }
  return true;
}

/// Reads a list of str.
bool read_texts(PyObject* list, std::vector<std::string>& texts) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i));
    if (!text) return false;
    texts.emplace_back(text);
  }
  return true;
}

PyObject* interned_names(std::span<const frontend::Parameter> parameters) {
  PyObject* names = PyTuple_New(static_cast<Py_ssize_t>(parameters.size()));
  for (size_t i = 0; names && i < parameters.size(); ++i) {
    PyObject* name = PyUnicode_InternFromString(parameters[i].name.c_str());
    if (!name)
      Py_CLEAR(names);
    else
      PyTuple_SET_ITEM(names, static_cast<Py_ssize_t>(i), name);
  }
  return names;
}

/// Stores the op in its object. If two threads do so, the first wins. On failure returns false, with a Python error
/// set.
bool set_op(PyObject* object, Op op) {
  PyObject* names = interned_names(op.parameters());
  if (!names) return false;
  OpObject* self = self_of(object);
  if (self->op) {
    Py_DECREF(names);
  } else {
    self->names = names;
    self->op.emplace(std::move(op));
  }
  return true;
}

/// _define(text, source_name, origins, name, numerics, debug, lazy, atomics, run_in_eager): defines the op from its
/// source. `run_in_eager` is a callable that runs the source in eager PyTorch; None: the op has no eager fallback.
PyObject* op_define(PyObject* object, PyObject* args) {
  const char *text, *source_name, *name, *numerics, *lazy;
  Py_ssize_t size;
  PyObject *list, *run_in_eager;
  int debug, atomics;
  if (!PyArg_ParseTuple(args, "s#sO!sspspO", &text, &size, &source_name, &PyList_Type, &list, &name, &numerics, &debug,
                        &lazy, &atomics, &run_in_eager))
    return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<Source::Origin> origins;
    if (!read_origins(list, origins)) return nullptr;
    OpOptions options{name, source_name, numerics_named(numerics), debug != 0, lazy_named(lazy), atomics != 0};
    auto source =
        std::make_shared<const Source>(source_name, std::string(text, static_cast<size_t>(size)), std::move(origins));
    auto definition = [&] {
      const runtime::ForkGuard guard;  // releases the GIL; no Python objects are made while the guard is held
      return frontend::define(std::move(source), name);
    }();
    Op op(definition, options, run_in_eager == Py_None ? nullptr : eager_fallback(definition, run_in_eager));
    return set_op(object, std::move(op)) ? Py_NewRef(Py_None) : nullptr;
  });
}

/// _define_value_and_grad(op, names, has_aux): Op::value_and_grad of another op.
PyObject* op_define_value_and_grad(PyObject* object, PyObject* args) {
  PyObject *op, *list;
  int has_aux;
  if (!PyArg_ParseTuple(args, "OO!p", &op, &PyList_Type, &list, &has_aux)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<std::string> names;
    if (!read_texts(list, names)) return nullptr;
    return set_op(object, op_of(op).value_and_grad(names, has_aux != 0)) ? Py_NewRef(Py_None) : nullptr;
  });
}

/// _register(name, schema, numbers_in_tensors): ingot::register_op. The list names the parameters whose numbers arrive
/// in 0-dim CPU tensors.
PyObject* op_register(PyObject* object, PyObject* args) {
  const char *name, *schema;
  PyObject* list;
  if (!PyArg_ParseTuple(args, "ssO!", &name, &schema, &PyList_Type, &list)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<std::string> numbers_in_tensors;
    if (!read_texts(list, numbers_in_tensors)) return nullptr;
    register_op(name, op_of(object), schema, numbers_in_tensors);
    return Py_NewRef(Py_None);
  });
}

// The type

PyObject* op_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* object = type->tp_alloc(type, 0);
  if (!object) return nullptr;
  OpObject* self = self_of(object);
  new (&self->op) std::optional<Op>();
  self->vectorcall = op_call;
  return object;
}

void op_dealloc(PyObject* object) {
  OpObject* self = self_of(object);
  PyTypeObject* type = Py_TYPE(object);
  std::destroy_at(&self->op);
  Py_XDECREF(self->names);
  type->tp_free(object);
  Py_DECREF(type);
}

/// Enables vectorcall for a class that Python creates: before Python 3.12 such a class does not use vectorcall, even if
/// it does not override `__call__`.
PyObject* op_init_subclass(PyObject* object, PyObject*) {
  auto type = reinterpret_cast<PyTypeObject*>(object);
  if (type->tp_call == PyVectorcall_Call) type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  return Py_NewRef(Py_None);
}

PyObject* op_name(PyObject* object, void*) {
  return guarded([&] { return text_object(op_of(object).name()); });
}

PyObject* op_source_text(PyObject* object, void*) {
  return guarded([&] { return text_object(op_of(object).text()); });
}

PyObject* op_defined(PyObject* object, void*) { return PyBool_FromLong(self_of(object)->op.has_value()); }

const char* annotation_name(frontend::Parameter::Annotation annotation) {
  switch (annotation) {
    case frontend::Parameter::Annotation::None:
      return "";
    case frontend::Parameter::Annotation::Float:
      return "float";
    case frontend::Parameter::Annotation::Int:
      return "int";
    case frontend::Parameter::Annotation::Bool:
      return "bool";
    case frontend::Parameter::Annotation::Tensor:
      return "Tensor";
  }
  return "";
}

PyObject* op_parameters(PyObject* object, void*) {
  return guarded([&]() -> PyObject* {
    auto parameters = op_of(object).parameters();
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(parameters.size()));
    for (size_t i = 0; list && i < parameters.size(); ++i) {
      PyObject* item = Py_BuildValue("(ssO)", parameters[i].name.c_str(), annotation_name(parameters[i].annotation),
                                     parameters[i].has_default ? Py_True : Py_False);
      if (!item)
        Py_CLEAR(list);
      else
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), item);
    }
    return list;
  });
}

template <auto Function>
PyCFunction as_method() {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Function));
}

PyMethodDef op_methods[] = {
    {"prepare", as_method<run_op_method<&Op::prepare>>(), METH_FASTCALL | METH_KEYWORDS,
     "prepare(*args, **kwargs)\n--\n\nCompile and load the kernels for a call with these arguments; launch nothing."},
    {"_check_gradient", as_method<run_op_method<&Op::check_gradient>>(), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_explain", as_method<op_explain>(), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_emit", as_method<op_emit>(), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_shard", as_method<op_shard>(), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_define", op_define, METH_VARARGS, nullptr},
    {"_define_value_and_grad", op_define_value_and_grad, METH_VARARGS, nullptr},
    {"_register", op_register, METH_VARARGS, nullptr},
    {"__init_subclass__", op_init_subclass, METH_NOARGS | METH_CLASS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef op_properties[] = {
    {"name", op_name, nullptr, "The op's name.", nullptr},
    {"text", op_source_text, nullptr, "The source from which the op is compiled.", nullptr},
    {"_parameters", op_parameters, nullptr, nullptr, nullptr},
    {"_defined", op_defined, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

}  // namespace

PyObject* prepare_all(PyObject*, PyObject* list) {
  return guarded([&]() -> PyObject* {
    std::vector<CallToPrepare> calls;
    std::vector<ArgumentList> arguments;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
      const ListedCall call(PyList_GET_ITEM(list, i));
      calls.push_back({op_of(call.op), {}});
      arguments.push_back(call.arguments());
    }
    for (size_t i = 0; i < calls.size(); ++i) calls[i].arguments = arguments[i];
    {
      WithoutGil released;
      prepare(calls);
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* install_dynamo_call(PyObject*, PyObject* args) {
  PyObject *object, *call;
  if (!PyArg_ParseTuple(args, "O!O", &PyType_Type, &object, &call)) return nullptr;
  auto type = reinterpret_cast<PyTypeObject*>(object);
  // Bypasses type.__setattr__, which would reset the slots.
  if (PyDict_SetItemString(type->tp_dict, "__call__", call) != 0) return nullptr;
  type->tp_flags &= ~Py_TPFLAGS_BASETYPE;  // a subclass would use the method instead of the slot
  PyType_Modified(type);
  return Py_NewRef(Py_None);
}

bool add_op_type(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(op_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(op_dealloc)},
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_methods, op_methods},
      {Py_tp_getset, op_properties},
      {Py_tp_members, op_members},
      {0, nullptr},
  };
  PyType_Spec spec{"ingot._ingot.Op", sizeof(OpObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) return false;
  bool is_added = PyModule_AddObjectRef(module, "Op", type) == 0;
  Py_DECREF(type);
  return is_added;
}

}  // namespace ingot::python
