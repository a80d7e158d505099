#pragma once

#include <string>
#include <vector>

#include "runtime/api/op.h"

namespace ingot {

/// Makes the op one of PyTorch's dispatcher's, `torch.ops.ns.name`, with kernels for CPU and CUDA and its gradient,
/// which is `ns::name_backward`. What was exported with it under this name runs in every process that has registered
/// it.
///
/// name: "ns::name" or "ns::name.overload".
/// schema: "(Tensor x, Tensor y, float bias=0.5) -> Tensor", PyTorch's own notation. Its arguments are the op's
/// parameters in their order, of the types Tensor, Tensor?, Tensor[], float, int, SymInt, bool and Scalar (with ? too);
/// what the op writes is marked, `Tensor(a!) x`; arguments behind the op's parameters, `*, Tensor(a!) out`, are what
/// `out=` takes. An op that draws random numbers has one more argument behind its parameters, `Tensor seed`: an int64
/// without dims on the op's device, from which it and its gradient draw them. It returns Tensors, or one Tensor[].
/// numbers: parameters whose numbers come in 0-dim CPU tensors of the schema, so that what traces calls does not make
/// constants of them.
/// Errors: Error(Author) for a schema that does not fit the op, and for a name that is taken.
void register_op(const std::string& name, const Op& op, const std::string& schema,
                 const std::vector<std::string>& numbers = {});

}  // namespace ingot
