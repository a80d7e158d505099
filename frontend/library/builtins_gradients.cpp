#include <fmt/format.h>

#include <array>

#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/pointwise.h"
#include "frontend/tensor/refused_gradients.h"
#include "frontend/tensor/storage.h"
#include "frontend/tensor/tensors.h"

// Functions that control the flow of gradients, or query whether gradients are requested.

namespace ingot::frontend {
namespace {

Value call_detach(Builder& builder, const Builtin&, Args args) {
  const Tensor& x = require_tensor(builder, args[0], "detach: `input`");
  Tensor result = detached(builder, x);
  result.handle = detached_storage(x);
  return result;
}

Value call_with_derivative_of(Builder& builder, const Builtin&, Args args) {
  const Tensor value = *args[0].tensor(), derivative = *args[1].tensor();
  Tensor result = combined(builder, std::array{value, derivative}, value.dtype, [&](std::span<const ir::NodeId> nodes) {
    return builder.graph.call(ir::kCustomGradient, nodes[0], {nodes[1]});
  });
  // Give the result a new storage: it may be written, and `value` may share its storage (a detached tensor does).
  result.handle = value.handle.storage ? new_storage(builder, value.handle.step) : value.handle;
  return result;
}

/// Rejects the call if the argument needs a gradient: PyTorch has no derivative with respect to it.
Value call_reject_gradient_of(Builder& builder, const Builtin&, Args args) {
  if (const Tensor* tensor = args[0].tensor())
    refuse_gradient(builder, *tensor,
                    fmt::format("{} with respect to `{}`", args[1].as<std::string>(), args[2].as<std::string>()));
  return None{};
}

Value call_is_differentiated(Builder& builder, const Builtin&, Args) {
  return Number{builder.graph.host.boolean(builder.tape.has_value())};
}

Value call_is_only_differentiated(Builder& builder, const Builtin&, Args) {
  return Number{builder.graph.host.boolean(builder.tape && !builder.tape->values_must_match)};
}

}  // namespace

std::vector<Builtin> gradient_builtins() {
  return {
      {"detach", "(input)", kFunction, kMethod, {}, call_detach, "the same values, without a gradient"},
      {"_with_derivative_of", "(value, derivative)", kFunction, kNoMethod, {}, call_with_derivative_of},
      {"_reject_gradient_of", "(input, function, name)", kFunction, kNoMethod, {}, call_reject_gradient_of},
      {"_is_differentiated", "()", kFunction, kNoMethod, {}, call_is_differentiated},
      {"_is_only_differentiated", "()", kFunction, kNoMethod, {}, call_is_only_differentiated},
  };
}

}  // namespace ingot::frontend
