#include "python/stages.h"

#include <string>
#include <string_view>

#include "base/error.h"
#include "python/object.h"
#include "runtime/api/explanation.h"

namespace ingot::python {

namespace {

constexpr size_t kLeadingArguments = 3;  ///< number of arguments before the call's own arguments

Stage stage_named(std::string_view name) {
  if (name == "ast") return Stage::Ast;
  if (name == "ir") return Stage::Ir;
  if (name == "schedule") return Stage::Schedule;
  if (name == "kernel") return Stage::Kernel;
  if (name == "source") return Stage::Source;
  if (name == "ptx") return Stage::Ptx;
  if (name == "backward") return Stage::Backward;
  if (name == "backward-source") return Stage::BackwardSource;
  throw_author({}, "`" + std::string(name) + "` is not a stage",
               "the stages are ast, ir, schedule, kernel, source, ptx, backward and backward-source");
}

EmitTarget::Device device_named(const char* name) {
  if (!name) return EmitTarget::Device::OfArguments;
  std::string_view device = name;
  if (device == "cpu") return EmitTarget::Device::Cpu;
  if (device == "cuda") return EmitTarget::Device::Cuda;
  throw_author({}, "Ingot makes no kernels for `" + std::string(device) + "`", "the devices are cpu and cuda");
}

EmitTarget target_of(PyObject* const* args) {
  const char* device = args[1] == Py_None ? nullptr : PyUnicode_AsUTF8(args[1]);
  const long architecture = PyLong_AsLong(args[2]);
  return PyErr_Occurred() ? EmitTarget{} : EmitTarget{device_named(device), static_cast<int>(architecture)};
}

/// Returns the text that `make` generates for a call's arguments and a target.
template <typename Make>
PyObject* text_of_call(const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords, Make make) {
  const EmitTarget target = target_of(args);
  if (PyErr_Occurred()) return nullptr;
  const ArgumentList arguments = bind(form, args + kLeadingArguments, count - kLeadingArguments, keywords, nullptr);
  std::string text;
  {
    WithoutGil released;
    text = make(arguments, target);
  }
  return text_object(text);
}

}  // namespace

PyObject* emit(const Op& op, const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords) {
  if (count < kLeadingArguments) throw_internal("_emit lacks its own arguments");
  const char* stage = PyUnicode_AsUTF8(args[0]);
  if (!stage) return nullptr;
  return text_of_call(form, args, count, keywords, [&](const ArgumentList& arguments, EmitTarget target) {
    return op.emit(stage_named(stage), arguments, target);
  });
}

PyObject* explain(const Op& op, const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords) {
  if (count < kLeadingArguments) throw_internal("_explain lacks its own arguments");
  return text_of_call(form, args, count, keywords, [&](const ArgumentList& arguments, EmitTarget target) {
    return op.explain(arguments, args[0] == Py_True, target).json();
  });
}

}  // namespace ingot::python
