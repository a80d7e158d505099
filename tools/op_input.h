#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/api/op.h"
#include "runtime/api/parse_value.h"

namespace ingot::tools {

using runtime::ArgumentValue;

/// The input of `run` and `emit`: the op, and its arguments.
struct OpInput {
  std::vector<std::string> words;  ///< FILE[:op] unless there is an expression, then name=value
  std::string expression;
  std::string numerics = "default";
  std::string lazy = "auto";
  std::vector<std::string> gradient;        ///< the parameters whose gradients are requested; empty for the op itself
  std::vector<std::string> value_and_grad;  ///< the same, together with the value
  bool debug = false;
  uint64_t seed = 0;

  void add_to(CLI::App& command);
  /// Whether a gradient is requested instead of the op itself. Only the op itself is compared with eager.
  bool is_gradient() const { return !gradient.empty() || !value_and_grad.empty(); }
};

/// An op with a value for each of its parameters.
struct BoundOp {
  Op op;
  std::string file;      ///< empty for an expression
  std::string location;  ///< as on the command line: FILE:op or -e "…", with the options of the gradient
  std::vector<ArgumentValue> values;

  /// Borrows the values.
  std::vector<Argument> arguments() const;
  /// "x: f32[1024, 4], bias: 0.5"
  std::string describe() const;
};

/// Reads the op's source and the values. With `meta`, tensors have no data. Errors: Error(Author).
BoundOp bind_op(const OpInput& input, bool meta);

/// "f32[1024, 4]", with the strides if they are not contiguous.
std::string describe(const at::Tensor& tensor);
std::string describe(const ArgumentValue& value);

}  // namespace ingot::tools
