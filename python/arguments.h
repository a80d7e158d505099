#pragma once

#include <Python.h>
#include <c10/util/SmallVector.h>

#include <list>
#include <span>
#include <string_view>

#include "frontend/frontend.h"
#include "runtime/api/argument.h"

namespace ingot::python {

/// A call's bound arguments, one per parameter; more if the caller passed too many, which the runtime rejects. The list
/// owns the contents of tuples, lists and dicts, because another thread may change those containers during the call.
struct ArgumentList : c10::SmallVector<Argument, 10> {
  using SmallVector::SmallVector;
  ArgumentList(const ArgumentList&) = delete;  // its items point into its lists
  ArgumentList(ArgumentList&&) = default;
  std::list<ArgumentGroup> groups;
  std::list<at::Tensor> tensors;
};

/// The call interface of an op: its parameters, with their names also as interned Python strings.
struct CallForm {
  const frontend::Definition& definition;
  std::span<const frontend::Parameter> parameters;
  PyObject* const* names;  ///< one interned string per parameter, borrowed from the op's object
};

/// Binds a vectorcall's arguments to the parameters by Python's rules; an omitted argument becomes a default Argument.
/// If `out` is not null, it receives the value of the keyword `out` (borrowed) unless a parameter has that name.
/// Errors: Error(Author).
ArgumentList bind(const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords, PyObject** out);

/// Converts `out=` to tensors: it is a tensor, or a tuple or list of tensors. Errors: Error(Author).
c10::SmallVector<at::Tensor, 4> to_results(PyObject* out);

}  // namespace ingot::python
