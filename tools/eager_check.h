#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/compile/temporary_folder.h"
#include "tools/op_input.h"

// The check against eager PyTorch. Eager runs any op's source, but only in Python. Therefore a Python with PyTorch and
// the ingot package receives the source and the tensors in a private folder, runs `python -m ingot._check` there, and
// writes its verdict.

namespace ingot::tools {

/// The check of one call of an op. Construct it before the call, because the call may change its arguments.
class EagerCheck {
 public:
  /// `device`: the device on which eager runs.
  EagerCheck(const BoundOp& bound, const OpInput& input, c10::Device device);

  /// Returns the verdict of ingot._check on the arguments that the call changed, followed by its results: `ok`,
  /// `bit_for_bit`, `max_abs`, `max_ulp`, `eager_us`, `message`; if eager raises an error, only `ok` and `message`.
  /// Errors: Error(Environment) if there is no such Python.
  nlohmann::json compare(const std::vector<at::Tensor>& results) const;

 private:
  runtime::TemporaryFolder folder_;
};

}  // namespace ingot::tools
