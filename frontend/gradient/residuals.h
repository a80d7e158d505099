#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/interpret/evaluation.h"

namespace ingot::frontend {

/// A value that an op computes once per row, and that its gradient reads: a maximum, a mean, the logarithm of a sum.
struct Residual {
  ir::NodeId node;
  std::optional<uint32_t> value;  ///< which value of a reduction, if the node is a reduction
  /// The shape over which the residual is defined; its dims are the last ones of the node's index, or all dims of the
  /// reduction's domain. The size is 1 along a dim along which the value is constant.
  Shape shape;
  std::string name;
};

/// The residual as a node over its shape.
ir::NodeId node_of(Builder& builder, const Residual& residual);

/// Finds the residuals that are worth saving for the gradients with respect to the `requested` parameters (one bit
/// each, the last one for the 64th and all later ones). The order of the residuals is the same in every evaluation of
/// the op on arguments with equal ArgumentSpecs. The evaluation has recorded a tape and evaluated the op; it is left
/// unchanged. Empty if there is no gradient.
std::vector<Residual> find_residuals(Evaluation& evaluation, const Definition& op,
                                     std::span<const std::optional<Value>> arguments, const Value& returned,
                                     uint64_t requested);

}  // namespace ingot::frontend
