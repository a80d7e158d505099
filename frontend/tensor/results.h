#pragma once

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// Makes the graph's results from the values that an op returns: a tensor, or a tuple or list of tensors. A result with
/// an entry in Builder::scattered_sums becomes that sum.
void make_results(Builder& builder, const Value& returned);
/// Adds a tensor as a result that the op does not return, and returns the result's index. The name is changed until no
/// other result or parameter has it.
uint32_t make_inner_result(Builder& builder, const Tensor& tensor, ir::Use use, std::string name);
/// Makes a mutating result (ir::Result::mutates) for each parameter that in-place ops have written; returns whether
/// there are any. `arguments` are the values of the parameters.
bool make_mutations(Builder& builder, std::span<const std::optional<Value>> arguments);

}  // namespace ingot::frontend
