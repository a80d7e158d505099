#pragma once

#include <string>
#include <vector>

#include "runtime/api/op.h"

namespace ingot {

/// Registers the op with PyTorch's dispatcher as `torch.ops.ns.name`, with kernels for CPU and CUDA and its gradient,
/// `ns::name_backward`. A model exported with it under this name runs in every process that has registered it.
///
/// name: "ns::name" or "ns::name.overload".
/// schema: "(Tensor x, Tensor y, float bias=0.5) -> Tensor", in PyTorch's notation. Its arguments are the op's
/// parameters in their order, of the types Tensor, Tensor?, Tensor[], float, int, SymInt, bool and Scalar (with ? too).
/// A parameter that the op writes is marked, `Tensor(a!) x`. Arguments after the op's parameters, `*, Tensor(a!) out`,
/// are the tensors of `out=`. An op that samples random numbers has one more argument after its parameters, `Tensor
/// seed`: an int64 without dims on the op's device, the seed of the op and of its gradient. The op returns Tensors, or
/// one Tensor[].
/// numbers: parameters whose numbers arrive in 0-dim CPU tensors of the schema, so that a trace does not turn them into
/// constants.
/// Errors: Error(Author) for a schema that does not fit the op, and for a name that is taken.
void register_op(const std::string& name, const Op& op, const std::string& schema,
                 const std::vector<std::string>& numbers = {});

}  // namespace ingot
