#pragma once

#include <Python.h>
#include <c10/util/SmallVector.h>

#include <span>
#include <string_view>

#include "frontend/frontend.h"
#include "runtime/argument.h"

namespace ingot::python {

/// One a parameter; more where the caller gave too many, which the runtime refuses.
using ArgumentList = c10::SmallVector<Argument, 10>;

/// How an op is called: its parameters, the names also as interned Python strings.
struct CallForm {
  const frontend::Definition& definition;
  std::span<const frontend::Parameter> parameters;
  PyObject* const* names;  ///< borrowed
};

/// One Python argument. Borrows the tensor inside, so `object` must outlive the result.
/// Throws Error(Author) for what is neither a plain tensor nor a number; `name` is the parameter's.
Argument to_argument(PyObject* object, std::string_view name);

/// Binds a vectorcall's arguments to the parameters by Python's rules; what is left out is a default Argument. Where
/// `out` is not null, it receives the value of the keyword `out` (borrowed) unless a parameter has that name.
/// Throws Error(Author).
ArgumentList bind(const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords, PyObject** out);

/// The tensors of `out=`: a tensor, or a tuple or list of tensors. Throws Error(Author).
c10::SmallVector<at::Tensor, 4> to_results(PyObject* out);

}  // namespace ingot::python
