#pragma once

#include <span>

#include "frontend/interpret/evaluation.h"
#include "frontend/syntax/operator.h"

// Python's operators where no operand is a tensor. Numbers are host expressions: folded at once when they are constant,
// computed at each call when they are made of sizes and scalars.

namespace ingot::frontend {

/// An operator on numbers, strings, tuples, lists, dtypes, None and functions. `in`, `is` and comparisons included.
/// The bits of an integer (`&`, `<<`, …) and lengths (`(1,) * n`) are asked to be static.
Value static_operator(Evaluation& evaluation, Operator op, std::span<const Value> operands);

/// a == b as Python says it of any two values, as a number that may depend on sizes and scalars.
ir::HostId equal(Evaluation& evaluation, const Value& a, const Value& b);
/// a is b.
bool identical(const Value& a, const Value& b);

Value number(ir::HostId id);
Value boolean(Evaluation& evaluation, bool value);
/// A host operation on numbers; where the kind of its result depends on a value, that value is asked to be static.
ir::HostId host_operation(Evaluation& evaluation, ir::HostOp op, std::vector<ir::HostId> operands);
/// The number of a value; `what` names its user in the error for anything else: "math.exp".
ir::HostId require_number(Evaluation& evaluation, const Value& value, std::string_view what);

}  // namespace ingot::frontend
