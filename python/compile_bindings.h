#pragma once

#include <Python.h>

namespace ingot::python {

/// What the package's instruments ask of the runtime: values as a command line writes them, and the kernels of others,
/// compiled and launched as Ingot's own are. They end with an empty entry; `_ingot.pyi` has their signatures.
extern PyMethodDef foreign_methods[];

}  // namespace ingot::python
