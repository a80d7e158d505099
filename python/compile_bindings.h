#pragma once

#include <Python.h>

namespace ingot::python {

/// Functions of the runtime for the package's tools: reading values in command-line syntax, and compiling and launching
/// kernels from other sources as Ingot's own are. The array ends with an empty entry; `_ingot.pyi` has the signatures.
extern PyMethodDef compile_methods[];

}  // namespace ingot::python
