#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/tensor/value.h"

namespace ingot::frontend {

/// A call of a function that has, or may have, its own derivative rule, with one value per parameter. The tensors, and
/// the numbers other than bools, are the operands of its Call nodes, in this order.
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

  /// Whether the differentiated values are results too: of this op, or saved by the forward call as residuals. Then
  /// they must be as exact as without a gradient.
  bool has_results = false;

 private:
  std::vector<TapedCall> calls_;
};

}  // namespace ingot::frontend
