#pragma once

#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"

// What the language spells: the primitives of ir/ops.def and the other builtins (builtins.h), and the functions of the
// library, which are defs in the language itself: the .py files of this folder, one a theme. They see one another.
//
// Each gives what PyTorch's function of its name gives. A function marked `@native` is one kernel in PyTorch (a call is
// a boundary: tensor/native.h): its formula is that kernel's (aten/src/ATen/native), `/` is IEEE division in it, 16-bit
// floats are rounded at its end alone, and a derivative of its own stands at its boundary. The others are what eager
// PyTorch does op by op. `@method` marks one that is spelled x.name() as well, `@only_method` one that is spelled
// x.name() alone, `other = name` below a def is another spelling of it. The first line of a docstring is the summary of
// `ingot ops`; `Source: …` in it says whose formula it is.
//
// Names that begin with an underscore are internal: `_fma(a, b, c)` is a * b + c rounded once, `_promoted` casts its
// operands to their common dtype, `_floating` does so and makes integers floating, `_check` refuses dtypes that
// PyTorch's kernel has not, `_rounded` rounds a number to a 16-bit dtype, `_number` is the value of a number or a CPU
// scalar, `_reciprocal_of` is 1 / number in a dtype, `_with_slope_of(a, b)` is a with the gradient of b,
// `_without_derivative(x, function, name)` refuses a recorded call in which x requires grad, and
// `_on_cuda()` tells the devices apart whose kernels differ. `_known(number)` is whether a number is known when the op
// is compiled, so that a question about it makes no kernel of its own. A new tensor's strides: `_with_strides_of(value,
// like)` as an op of `like` alone has them, `_in_format_of(value, like)` in the memory format that PyTorch suggests for
// `like`,
// `_padded_like(value, kept, input)` as F.pad of an input of which it keeps `kept`.

namespace ingot::frontend {

/// A def of the library.
struct LibraryFunction {
  const ast::Module* module = nullptr;  ///< its file's
  ast::FunctionId id;

  const ast::Function& definition() const { return (*module)[id]; }
};

/// The def that a name spells, private ones included; null if there is none.
const LibraryFunction* find_library_function(std::string_view name);
/// The def that x.name() calls: one marked `@method`, or `_method_name` where the parameters stand in another order
/// than the function's; null if there is none.
const LibraryFunction* find_library_method(std::string_view name);
/// Whether it is spelled x.name() alone.
bool is_only_method(std::string_view name);
bool has_decorator(const ast::Module& module, const ast::Function& function, std::string_view name);
/// Whether a module is one of the library's files.
bool is_library(const ast::Module& module);
/// All public names of the library, each def's before its other spellings.
std::vector<std::string_view> library_names();

}  // namespace ingot::frontend
