#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "runtime/api/op.h"
#include "tools/op_input.h"

namespace ingot::tools {

/// What `ingot run` found out.
struct Report {
  const BoundOp& bound;
  c10::Device device;
  std::vector<at::Tensor> results;
  Counters first_call;  ///< what the first call cost
  double ingot_us = 0;  ///< of a warm call, the median
  int64_t bytes = 0;    ///< of the tensor arguments and results
  int threads = 1;
  std::optional<nlohmann::json> verdict;  ///< eager_check.h; nothing where the check was left out
};

void print_text(const Report& report);
void print_json(const Report& report);

}  // namespace ingot::tools
