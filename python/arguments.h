#pragma once

#include <Python.h>
#include <c10/util/SmallVector.h>

#include <list>
#include <span>
#include <string_view>

#include "frontend/frontend.h"
#include "runtime/api/argument.h"

namespace ingot::python {

/// One a parameter; more where the caller gave too many, which the runtime refuses. It keeps what its tuples, lists and
/// dicts hold, which another thread may change meanwhile.
struct ArgumentList : c10::SmallVector<Argument, 10> {
  using SmallVector::SmallVector;
  ArgumentList(const ArgumentList&) = delete;  // its items point into its lists
  ArgumentList(ArgumentList&&) = default;
  std::list<ArgumentGroup> groups;
  std::list<at::Tensor> tensors;
};

/// How an op is called: its parameters, the names also as interned Python strings.
struct CallForm {
  const frontend::Definition& definition;
  std::span<const frontend::Parameter> parameters;
  PyObject* const* names;  ///< borrowed
};

/// Binds a vectorcall's arguments to the parameters by Python's rules; what is left out is a default Argument. Where
/// `out` is not null, it receives the value of the keyword `out` (borrowed) unless a parameter has that name.
/// Throws Error(Author).
ArgumentList bind(const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords, PyObject** out);

/// The tensors of `out=`: a tensor, or a tuple or list of tensors. Throws Error(Author).
c10::SmallVector<at::Tensor, 4> to_results(PyObject* out);

}  // namespace ingot::python
