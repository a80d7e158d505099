#pragma once

#include <optional>
#include <span>

#include "ir/graph.h"

// Arithmetic on the elements of constant nodes, in the way the targets do it: integers wrap, float32 and the 16-bit
// floats compute in float32. Only what has the same bits on every target is computed at all.

namespace ingot::ir {

/// One element: of a floating dtype `real`, of any other `integer`. Where the dtype has 16 bits, a float32 value.
struct Constant {
  DType type = DType::F32;
  int64_t integer = 0;
  double real = 0;

  static Constant of_bool(bool value) { return {DType::Bool, value, 0}; }
  bool is_float() const { return is_floating(type); }
  /// Whether it is this very number; 0.0 and -0.0 differ.
  bool is(double value) const;
};

/// The element that a Scalar node of a constant host expression stands for; nothing for other nodes.
std::optional<Constant> constant_of(const Graph& graph, NodeId id);
NodeId add_constant(Graph& graph, const Constant& constant);

/// The element cast to another dtype; nothing where targets may differ (a float that the integer type cannot hold).
std::optional<Constant> cast(const Constant& constant, DType type);

/// A primitive of elements; nothing where targets may differ or the op is not exact.
std::optional<Constant> fold(Op op, DType type, std::span<const Constant> args);

}  // namespace ingot::ir
