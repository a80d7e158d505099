#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/interpret/evaluation.h"

namespace ingot::frontend {

/// What an op computes on its way of each row, once, and its gradient reads: a maximum, a mean, the logarithm of a sum.
struct Residual {
  ir::NodeId node;
  std::optional<uint32_t> value;  ///< of a reduction, which the node is then
  /// Of the last dims of the node's index, or of the reduction's domain: where all along one are the same, its size
  /// is 1.
  Shape shape;
  std::string name;
};

/// It, as a node over its shape.
ir::NodeId node_of(Builder& builder, const Residual& residual);

/// The row statistics that are worth keeping for the gradients with respect to the `asked` parameters (bits, the last
/// one for the 64th and all behind it), in an order that is the same wherever the op is evaluated on arguments of the
/// same facts. The evaluation kept a tape and has evaluated the op; it is as it was then. None where there is no
/// gradient.
std::vector<Residual> find_residuals(Evaluation& evaluation, const Definition& op,
                                     std::span<const std::optional<Value>> arguments, const Value& returned,
                                     uint64_t asked);

}  // namespace ingot::frontend
