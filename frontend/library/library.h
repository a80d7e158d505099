#pragma once

#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"

// The supported functions: the primitives of ir/ops.def and the other builtins (builtins.h), and the functions of the
// library. The library's functions are defs in the language itself, in the .py files of this folder, one file per
// theme. The files share one namespace.
//
// Each function matches PyTorch's function of the same name. Its decorators say how:
//
//   @native       PyTorch has one kernel for the function, so a call is rounded and differentiated as a whole
//                 (tensor/native.h). The formula is that of the kernel (aten/src/ATen/native). `/` is IEEE division,
//                 16-bit floats are rounded only at the end, and the derivative rule `_name_backward`, if there is one,
//                 applies to the whole call.
//   @reduction    as @native, for a function built on reductions, whose results PyTorch makes contiguous
//   neither of these two: the sequence of functions that eager PyTorch calls
//   @method       also called as x.name()
//   @only_method  called as x.name() only
//
// A derivative rule `_name_backward(grad, result, *arguments)` returns a gradient for each argument of `name`. None
// means that the gradient is 0. A string means that PyTorch has no such gradient; the error quotes the string.
//
// `other = name` below a def adds an alias. The first line of a docstring is the summary that `ingot ops` prints.
// `Source: …` in a docstring names the PyTorch file of the formula.
//
// Names with a leading underscore are internal. `_torch_name` and `_linalg_name` implement torch.name and
// torch.linalg.name, and `_method_name` implements x.name(), if these differ from the function `name`. Some internal
// names are primitives of ir/ops.def, others are builtins, for example:
//
//   _fma(a, b, c)                           a * b + c, rounded once
//   _promoted(*inputs)                      casts operands to their common dtype
//   _floating(*inputs)                      as _promoted, and integers become floating
//   _check_dtype(input, accepted)           rejects dtypes that PyTorch's kernel does not support
//   _rounded_to_dtype(number, input)        a number rounded to input's dtype, if that is narrower than float32
//   _number(number)                         the value of a number or a CPU scalar
//   _reciprocal_of(number, input)           1 / number, both in the dtype in which input is computed
//   _with_derivative_of(a, b)               a, with the gradient of b
//   _reject_gradient_of(x, function, name)  rejects the call if x needs a gradient: PyTorch has no derivative with
//                                           respect to the parameter `name` of `function`
//   _on_cuda()                              whether the op runs on CUDA, for functions whose kernels differ by device
//   _known(number)                          whether a number is known when the op is compiled: a branch on it is static
//   _with_strides_of(value, like)           value, with the strides of a unary function's result on `like`
//   _in_memory_format_of(value, like)       value, in the memory format that PyTorch suggests for `like`
//   _padded_like(value, cropped, input)     value, with the strides of F.pad(input); `cropped` is input after negative
//                                           padding
//   _named(name, **items)                   a named tuple, as in torch.return_types
//   _reduce(kind, input, dim, keepdim, f)   a reduction of ir/reductions.def; `f` names the function in errors; without
//                                           it (None), a maximum of no elements is -inf, not an error
//   _reduced_dims(input, dim)               the dims that a reduction over `dim` reduces, as an ascending tuple
//   _row_sample(input, dim, sixths)         one element of each row that a reduction over `dim` reduces: the one at
//                                           index size * sixths // 6 of each reduced dim
//   _specialized_size(input, dim)           the size of a dim; a size up to 16 is specialised
//   _random_words(like, count)              `count` random words for each element of `like` (random.py)
//   _low_precision_output(input)            whether a result has at most 11 significant bits, on CUDA
//   _rounded(input, rounds)                 an intermediate result rounded to its dtype, if `rounds` is true
//   _rounds_intermediates(input)            whether eager's kernel rounds intermediate results, and Ingot must do so
//   _in_compute_dtype(number, input)        a number in the dtype in which input is computed
//   _is_zero(number)                        whether a number is 0; only the value 0 is specialised
//   _is_differentiated()                    whether gradients of the evaluated results will be computed
//   _is_only_differentiated()               whether only their gradients are needed, not the results themselves

namespace ingot::frontend {

/// A def of the library.
struct LibraryFunction {
  const ast::Module* module = nullptr;  ///< the module of its file
  ast::FunctionId id;

  const ast::Function& definition() const { return (*module)[id]; }
};

/// Finds the def of a name, including private ones; null if there is none.
const LibraryFunction* find_library_function(std::string_view name);
/// Finds the def that x.name() calls: one marked `@method`, or `_method_name` if its parameters have another order than
/// the function's; null if there is none.
const LibraryFunction* find_library_method(std::string_view name);
/// Whether a name can only be called as x.name().
bool is_only_method(std::string_view name);
bool has_decorator(const ast::Module& module, const ast::Function& function, std::string_view name);
/// Whether a module is one of the library's files.
bool is_library(const ast::Module& module);
/// All public names of the library; a def's name comes before its aliases.
std::vector<std::string_view> library_names();

}  // namespace ingot::frontend
