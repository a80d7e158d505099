#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "runtime/api/op.h"
#include "tools/op_input.h"

namespace ingot::tools {

/// The findings of `ingot run`.
struct Report {
  const BoundOp& bound;
  c10::Device device;
  std::vector<at::Tensor> results;
  Counters first_call;  ///< the counts of the first call
  double ingot_us = 0;  ///< the median of warm calls
  int64_t bytes = 0;    ///< of the tensor arguments and results
  int threads = 1;
  std::optional<nlohmann::json> verdict;  ///< eager_check.h; empty if the check was omitted
};

void print_text(const Report& report);
void print_json(const Report& report);

}  // namespace ingot::tools
