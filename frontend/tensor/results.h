#pragma once

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// What an op returns, as the results of its graph: a tensor, or a tuple or list of tensors.
void make_results(Builder& builder, const Value& returned);
/// A node over a shape, as a result that is kept for the gradient. The name is made one that no result has.
void make_kept_result(Builder& builder, ir::NodeId node, const Shape& shape, std::string name);
/// What ops in place left in the memory of parameters, as results that mutate them; whether there are any. `arguments`
/// are the values of the parameters.
bool make_mutations(Builder& builder, std::span<const std::optional<Value>> arguments);

}  // namespace ingot::frontend
