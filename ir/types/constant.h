#pragma once

#include <optional>
#include <span>

#include "ir/graph.h"

// Arithmetic on the elements of constant nodes, as the targets do it: integers wrap, float32 and the 16-bit floats
// compute in float32. An operation is folded only if its result has the same bits on every target.

namespace ingot::ir {

/// One element: `real` for a floating dtype, else `integer`. For a 16-bit float, `real` is a float32 value.
struct Constant {
  DType type = DType::F32;
  int64_t integer = 0;
  double real = 0;

  static Constant of_bool(bool value) { return {DType::Bool, value, 0}; }
  bool is_float() const { return is_floating(type); }
  /// Whether the element is exactly this number; 0.0 and -0.0 differ.
  bool is(double value) const;
};

/// The element of a Scalar node with a constant host expression; nullopt for other nodes.
std::optional<Constant> constant_of(const Graph& graph, NodeId id);
NodeId add_constant(Graph& graph, const Constant& constant);

/// Casts the element to another dtype. Returns nullopt if targets may differ (a float that the integer type cannot
/// hold).
std::optional<Constant> cast(const Constant& constant, DType type);

/// Evaluates a primitive on constants. Returns nullopt if targets may differ or the op is not exact.
std::optional<Constant> fold(Op op, DType type, std::span<const Constant> args);

}  // namespace ingot::ir
