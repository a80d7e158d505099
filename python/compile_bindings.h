#pragma once

#include <Python.h>

namespace ingot::python {

/// Functions of the runtime for the package's tools. They read values in command-line syntax, and compile and launch
/// kernels that Ingot did not write. The array ends with an empty entry; `_ingot.pyi` has the signatures.
extern PyMethodDef compile_methods[];

}  // namespace ingot::python
