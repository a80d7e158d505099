#pragma once

#include <span>

#include "frontend/interpret/evaluation.h"
#include "frontend/syntax/operator.h"

// Python's operators on operands that are not tensors. Numbers are host expressions: folded at once if they are
// constant, computed at each call if they depend on sizes and scalars.

namespace ingot::frontend {

/// Applies an operator to numbers, strings, tuples, lists, dtypes, None and functions, including `in`, `is` and
/// comparisons. Bitwise operands (`&`, `<<`, …) and repeat counts (`(1,) * n`) are specialised.
Value static_operator(Evaluation& evaluation, Operator op, std::span<const Value> operands);

/// Python's a == b for two values of any kind, as a number that may depend on sizes and scalars.
ir::HostId equal(Evaluation& evaluation, const Value& a, const Value& b);
/// Python's a is b.
bool identical(const Value& a, const Value& b);

Value number(ir::HostId id);
Value boolean(Evaluation& evaluation, bool value);
/// A host operation on numbers. If the kind of the result depends on the operands' values, the operands are
/// specialised.
ir::HostId host_operation(Evaluation& evaluation, ir::HostOp op, std::vector<ir::HostId> operands);
/// The number that a value holds. Any other value is an error (Author); `what` names the caller there: "math.exp".
ir::HostId require_number(Evaluation& evaluation, const Value& value, std::string_view what);

}  // namespace ingot::frontend
