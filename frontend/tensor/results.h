#pragma once

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// What an op returns, as the results of its graph: a tensor, or a tuple or list of tensors.
/// What Builder::sums has of these comes to be a sum.
void make_results(Builder& builder, const Value& returned);
/// A tensor as a result that is not returned; which one it is. The name is made one that no result has.
uint32_t make_inner_result(Builder& builder, const Tensor& tensor, ir::Use use, std::string name);
/// What ops in place left in the memory of parameters, as results that mutate them; whether there are any. `arguments`
/// are the values of the parameters.
bool make_mutations(Builder& builder, std::span<const std::optional<Value>> arguments);

}  // namespace ingot::frontend
