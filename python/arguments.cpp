#include "python/arguments.h"

#include <torch/csrc/autograd/python_variable.h>

#include <string>

#include "base/error.h"
#include "runtime/call/refusals.h"

namespace ingot::python {

namespace {

std::string type_name(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject* module = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__");
  std::string name = type->tp_name;
  if (module && PyUnicode_Check(module) && name.find('.') == std::string::npos) {
    const char* prefix = PyUnicode_AsUTF8(module);
    if (prefix && std::string_view(prefix) != "builtins") name = std::string(prefix) + "." + name;
  }
  PyErr_Clear();
  Py_XDECREF(module);
  return name;
}

/// Whether the object is a symbolic number of a PyTorch trace, which represents many values.
bool is_symbolic(PyObject* object) {
  const std::string type = type_name(object);
  return type == "torch.SymInt" || type == "torch.SymFloat" || type == "torch.SymBool";
}

[[noreturn]] void refuse_type(PyObject* object, std::string_view name) {
  std::string subject = "`" + std::string(name) + "` is a " + type_name(object);
  if (THPVariable_Check(object) || is_symbolic(object))
    runtime::throw_unsupported(subject + "; a kernel takes plain tensors and numbers",
                               "call `f.reference`, the same op in eager PyTorch, or pass a plain tensor");
  const bool is_text = PyUnicode_Check(object) || PyBytes_Check(object);
  throw_author({}, subject + "; an op takes tensors and numbers",
               is_text                    ? "make an op for each value: a string is a constant of the op"
               : PySequence_Check(object) ? "make it a tensor with `torch.tensor`"
                                          : "");
}

Argument to_integer(PyObject* object, std::string_view name) {
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow) throw_author({}, "`" + std::string(name) + "` does not fit into 64 bits", "pass it as a float");
  if (value == -1 && PyErr_Occurred()) throw python_error();
  return Argument(static_cast<int64_t>(value));
}

/// Converts a number that is not exactly one of Python's types: a subclass, or a NumPy scalar.
Argument to_number(PyObject* object, std::string_view name) {
  if (PyFloat_Check(object)) return Argument(PyFloat_AS_DOUBLE(object));
  if (PyLong_Check(object)) return to_integer(object, name);
  if (THPVariable_Check(object) || PySequence_Check(object) || is_symbolic(object)) refuse_type(object, name);
  PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
  if (!methods || (!methods->nb_index && !methods->nb_float)) refuse_type(object, name);
  PyObject* number = methods->nb_index ? PyNumber_Index(object) : PyNumber_Float(object);
  if (!number) {
    PyErr_Clear();
    refuse_type(object, name);
  }
  Argument argument = methods->nb_index ? to_integer(number, name) : Argument(PyFloat_AS_DOUBLE(number));
  Py_DECREF(number);
  return argument;
}

std::string_view text_of(PyObject* string) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(string, &size);
  if (!data) {
    PyErr_Clear();
    throw_author({}, "an argument's name contains a lone surrogate (half of a character)", "choose another name");
  }
  return {data, static_cast<size_t>(size)};
}

/// The index of the parameter with this name; the number of parameters if there is none. Compares interned strings by
/// address first; the string comparison serves the few keywords that are not interned.
size_t parameter_index(const CallForm& form, PyObject* keyword) {
  size_t count = form.parameters.size();
  for (size_t i = 0; i < count; ++i)
    if (form.names[i] == keyword) return i;
  for (size_t i = 0; i < count; ++i)
    if (PyUnicode_Compare(form.names[i], keyword) == 0) return i;
  return count;
}

[[noreturn]] void refuse_out(PyObject* object) {
  const std::string message =
      "`out` is a " + type_name(object) + "; it takes a plain tensor, or a tuple with one tensor for each result";
  if (THPVariable_Check(object)) runtime::throw_unsupported(message, "pass a plain tensor");
  throw_author({}, message);
}

const at::Tensor& to_result(PyObject* object) {
  if (!THPVariable_CheckExact(object)) refuse_out(object);
  return THPVariable_Unpack(object);
}

/// Converts an argument that is not a group. Borrows the tensor inside, so `object` must outlive the result.
/// Errors: Error(Author) for an object that is neither a plain tensor nor a number; `name` is the parameter's name.
Argument to_leaf(PyObject* object, std::string_view name) {
  if (THPVariable_CheckExact(object)) return Argument(THPVariable_Unpack(object));
  if (PyFloat_CheckExact(object)) return Argument(PyFloat_AS_DOUBLE(object));
  if (PyBool_Check(object)) return Argument(object == Py_True);
  if (PyLong_CheckExact(object)) return to_integer(object, name);
  if (object == Py_None) return None;
  return to_number(object, name);
}

constexpr int kMaxDepth = 16;  // nesting depth of groups

Argument to_argument(PyObject* object, std::string_view name, ArgumentList& list, int depth = 0);

/// Converts an item of a group; the list keeps the item's tensor alive.
Argument to_item(PyObject* object, std::string_view name, ArgumentList& list, int depth) {
  if (!THPVariable_CheckExact(object)) return to_argument(object, name, list, depth);
  return Argument(list.tensors.emplace_back(THPVariable_Unpack(object)));
}

Argument to_group(PyObject* object, std::string_view name, ArgumentList& list, int depth) {
  using Kind = frontend::Structure::Kind;
  if (depth == kMaxDepth)
    throw_author({}, "`" + std::string(name) + "` is nested too deeply", "pass its parts as parameters of their own");
  ArgumentGroup group;
  if (PyDict_CheckExact(object)) {
    group.kind = Kind::Dict;
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &value);) {
      if (!PyUnicode_Check(key))
        throw_author({}, "`" + std::string(name) + "` has a key that is not a string", "use strings as its keys");
      group.keys.emplace_back(text_of(key));
      group.items.push_back(to_item(value, name, list, depth + 1));
    }
  } else {
    group.kind = PyTuple_CheckExact(object) ? Kind::Tuple : Kind::List;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      group.items.push_back(to_item(PySequence_Fast_GET_ITEM(object, i), name, list, depth + 1));
  }
  return Argument(list.groups.emplace_back(std::move(group)));
}

Argument to_argument(PyObject* object, std::string_view name, ArgumentList& list, int depth) {
  const bool is_group = PyTuple_CheckExact(object) || PyList_CheckExact(object) || PyDict_CheckExact(object);
  return is_group ? to_group(object, name, list, depth) : to_leaf(object, name);
}

}  // namespace

ArgumentList bind(const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords, PyObject** out) {
  size_t parameters = form.parameters.size();
  if (count > 0 && count <= parameters && form.parameters[count - 1].is_keyword_only) {
    const std::string& name = form.parameters[count - 1].name;
    throw_author({}, "`" + form.definition.name() + "` takes `" + name + "` as a keyword only", "write " + name + "=…");
  }
  ArgumentList list(std::max(parameters, count));
  for (size_t i = 0; i < count; ++i)
    list[i] = to_argument(args[i], i < parameters ? form.parameters[i].name : std::string_view("one argument too many"),
                          list);
  if (!keywords) return list;

  c10::SmallVector<bool, 10> is_given(parameters, false);
  std::fill_n(is_given.begin(), std::min(count, parameters), true);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keywords); ++k) {
    PyObject* keyword = PyTuple_GET_ITEM(keywords, k);
    PyObject* value = args[count + static_cast<size_t>(k)];
    size_t i = parameter_index(form, keyword);
    if (i == parameters) {
      if (!out || text_of(keyword) != "out") runtime::refuse_keyword(form.definition, text_of(keyword));
      *out = value;
      continue;
    }
    if (is_given[i])
      throw_author({}, "`" + form.definition.name() + "` was given `" + form.parameters[i].name + "` twice");
    is_given[i] = true;
    list[i] = to_argument(value, form.parameters[i].name, list);
  }
  return list;
}

c10::SmallVector<at::Tensor, 4> to_results(PyObject* out) {
  if (!PyTuple_Check(out) && !PyList_Check(out)) return {to_result(out)};
  c10::SmallVector<at::Tensor, 4> results;
  PyObject** items = PySequence_Fast_ITEMS(out);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(out); ++i) results.push_back(to_result(items[i]));
  return results;
}

}  // namespace ingot::python
