#pragma once

#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"

// What the language spells: the primitives of ir/ops.def and the other builtins (builtins.h), and the functions of
// library.py, which are defs in the language itself. There `@native` marks one that PyTorch has as a single kernel: a
// call is a boundary (tensor/native.h). `@method` marks one that is spelled x.name() as well. `other = name` below a
// def is another spelling of it.

namespace ingot::frontend {

/// library.py, parsed once.
const ast::Module& library_module();
/// A def of the library by any of its spellings, private ones included; none if there is none.
ast::FunctionId library_definition(std::string_view name);
/// Whether a name of the library is spelled x.name() too.
bool is_library_method(std::string_view name);
bool has_decorator(const ast::Module& module, const ast::Function& function, std::string_view name);
/// The public names of library.py, in its order.
std::vector<std::string_view> library_names();

}  // namespace ingot::frontend
