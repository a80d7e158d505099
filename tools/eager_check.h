#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/compile/temporary_folder.h"
#include "tools/op_input.h"

// The check against eager PyTorch. Eager runs any op's text, but only in Python, so a Python with PyTorch and the ingot
// package does it: it is given the text and the tensors in a private folder, runs `python -m ingot._check` there, and
// leaves its verdict.

namespace ingot::tools {

/// One call of an op, to be checked. It is made before the call, which may change its arguments.
class EagerCheck {
 public:
  /// `device`: where eager runs.
  EagerCheck(const BoundOp& bound, const OpInput& input, c10::Device device);

  /// The verdict on what the call changed in place, then what it returned, as ingot._check wrote it: `ok`,
  /// `bit_for_bit`, `max_abs`, `max_ulp`, `rule`, `eager_us`, `message`. Errors: Error(Environment) where there is no
  /// such Python.
  nlohmann::json judge(const std::vector<at::Tensor>& results) const;

 private:
  runtime::TemporaryFolder folder_;
};

}  // namespace ingot::tools
