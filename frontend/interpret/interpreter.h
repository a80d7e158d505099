#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/interpret/evaluation.h"
#include "frontend/library/builtins.h"
#include "frontend/syntax/ast.h"
#include "frontend/syntax/operator.h"

// The language's operations on values: operators, indexing, attributes and calls on numbers, tensors, tuples, lists and
// functions. The interpreter and the C++ API both evaluate through these functions. Errors (Author) are placed at
// `diagnostics.here`.

namespace ingot::frontend {

struct Scope;

/// A def, a nested def or a lambda with its closure. Its module and scope live as long as the evaluation that created
/// the function; those of a library function live until the process ends.
struct Function {
  const ast::Module* module = nullptr;
  ast::FunctionId id;
  Scope* enclosing = nullptr;                  ///< null for a function of the library
  std::vector<std::optional<Value>> defaults;  ///< one per parameter; empty for a library function, whose defaults each
                                               ///< call evaluates

  const ast::Function& definition() const { return (*module)[id]; }
};

/// The arguments of a call before binding.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;
};

/// Applies a Python operator to operands of any kind: one for Neg, Pos, Invert and Not, else two.
Value operate(Evaluation& evaluation, Operator op, std::span<const Value> operands);
/// Python's truth value. A symbol is specialised; a tensor is an error. `what` is the subject of the error message:
/// "the condition of an `if`".
bool truth(Evaluation& evaluation, const Value& value, std::string_view what);
/// `target op= operand`: changes a tensor in place, extends lists and dicts, and makes a new value for anything else.
Value operate_in_place(Evaluation& evaluation, Operator op, const Value& target, const Value& operand);
Value get_item(Evaluation& evaluation, const Value& value, const Value& index);
Value get_attribute(Evaluation& evaluation, const Value& value, std::string_view name);
Value call(Evaluation& evaluation, const Value& callee, Arguments arguments);

/// The value of a name that no scope binds: Python's own functions, torch, math and F, and the supported functions.
/// Names with a leading `_` are visible inside the library only.
std::optional<Value> global_name(std::string_view name, bool inside_library = false);
/// torch.name, looked up in the library first, then among the builtins; nullopt if there is none.
std::optional<Value> torch_function(std::string_view name);

/// Evaluates a def for one value per parameter; nullopt selects the default. The annotations `float`, `int` and `bool`
/// convert numbers and reject tensors. `derivative_of`: the forward def, if this def is its gradient. An argument that
/// the forward call left out is then the forward def's default.
Value evaluate_definition(Evaluation& evaluation, const ast::Module& module, const ast::Function& function,
                          std::span<const std::optional<Value>> arguments,
                          const ast::Function* derivative_of = nullptr);

}  // namespace ingot::frontend
