#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/tensor/value.h"

namespace ingot::frontend {

/// A call of a function that has, or may have, a derivative of its own, with one value a parameter. Those that are
/// tensors or numbers other than bools are the operands of its Call nodes, in this order.
struct TapedCall {
  std::string function;
  std::vector<Value> arguments;
};

/// What derivatives need to know of an evaluation beside its graph.
class Tape {
 public:
  /// Keeps a call. Gives what its Call nodes are to name: views copy these nodes, and the name goes with them.
  std::string record(std::string_view function, std::vector<Value> arguments);
  /// The call that a Call node names; null where it names a function alone, as those do that reduce.
  const TapedCall* find(std::string_view name) const;

  /// Whether what is differentiated is itself a result: then it is to be as exact as without a gradient.
  bool has_results = false;

 private:
  std::vector<TapedCall> calls_;
};

}  // namespace ingot::frontend
