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

// The language's operations on values: what an operator, an index, an attribute and a call mean, for numbers, tensors,
// tuples, lists and functions alike. The interpreter of text and the C++ door both evaluate through these. Errors are
// the author's, placed at `diagnostics.here`.

namespace ingot::frontend {

struct Scope;

/// A def, a nested def or a lambda with what it closes over. Its module and its scope live as long as the evaluation
/// that made it; those of the library always.
struct Function {
  const ast::Module* module = nullptr;
  ast::FunctionId id;
  Scope* enclosing = nullptr;                  ///< none: a function of the library
  std::vector<std::optional<Value>> defaults;  ///< one a parameter; the library's are evaluated by each call

  const ast::Function& definition() const { return (*module)[id]; }
};

/// Arguments as a call has them.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;
};

/// A Python operator on any operands (one for Neg, Pos, Invert and Not).
Value operate(Evaluation& evaluation, Operator op, std::span<const Value> operands);
/// Python's truth value; a symbol is asked to be static, a tensor has none. `what` begins a sentence: "the condition
/// of an `if`".
bool truth(Evaluation& evaluation, const Value& value, std::string_view what);
/// `target op= operand`: a tensor is changed in place, lists and dicts grow, anything else makes a new value.
Value operate_in_place(Evaluation& evaluation, Operator op, const Value& target, const Value& operand);
Value get_item(Evaluation& evaluation, const Value& value, const Value& index);
Value get_attribute(Evaluation& evaluation, const Value& value, std::string_view name);
Value call(Evaluation& evaluation, const Value& callee, Arguments arguments);

/// The value of a name that no scope binds: Python's own functions, torch, math and F, and the language's functions.
/// Names that begin with `_` are seen from inside the library only.
std::optional<Value> global_name(std::string_view name, bool inside_library = false);
/// torch.name among library.py and the builtins, the library first.
std::optional<Value> torch_function(std::string_view name);

/// Evaluates a def of a text for one value a parameter, none where it takes its default. Annotations of the
/// parameters are held to: `float`, `int` and `bool` convert a number and refuse a tensor. `derivative_of`: the def
/// whose gradient it is, and whose defaults stand for what a call of that left out.
Value evaluate_definition(Evaluation& evaluation, const ast::Module& module, const ast::Function& function,
                          std::span<const std::optional<Value>> arguments,
                          const ast::Function* derivative_of = nullptr);

}  // namespace ingot::frontend
