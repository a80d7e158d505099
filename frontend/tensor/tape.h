#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/tensor/value.h"

namespace ingot::frontend {

/// A call of a function that may have its own derivative rule, with one value per parameter. The operands of its Call
/// nodes are the body, then the arguments that are tensors or numbers other than bools, in the order of the arguments.
struct TapedCall {
  std::string function;
  std::vector<Value> arguments;
};

/// The information about an evaluation that derivatives need besides its graph.
class Tape {
 public:
  /// Records a call. Returns the name for the Call nodes of the call. Views copy these nodes and keep the name.
  std::string record(std::string_view function, std::vector<Value> arguments);
  /// The call that a Call node names; null if the node names only a function, as the Call nodes of reductions do.
  const TapedCall* find(std::string_view call_name) const;

  /// Whether the values that are differentiated are also results: of this op, or of the forward call, which saves some
  /// of them as residuals. Their bits must then be the same as without a gradient. If false, only derivatives are read,
  /// and the library may use another formula.
  bool values_must_match = false;

 private:
  std::vector<TapedCall> calls_;
};

}  // namespace ingot::frontend
