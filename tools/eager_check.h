#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/op_input.h"

// The check against eager PyTorch. Eager runs any op's text, but only in Python, so a Python with PyTorch and the ingot
// package does it: it is given the text and the tensors in a private folder, runs `python -m ingot._check` there, and
// leaves its verdict.

namespace ingot::tools {

/// The verdict, as ingot._check wrote it: `ok`, `bit_for_bit`, `max_abs`, `max_ulp`, `rule`, `eager_us`, `message`.
/// `device`: where eager runs. Errors: Error(Environment) where there is no such Python.
nlohmann::json check_with_eager(const BoundOp& bound, const OpInput& input, const std::vector<at::Tensor>& results,
                                c10::Device device);

}  // namespace ingot::tools
