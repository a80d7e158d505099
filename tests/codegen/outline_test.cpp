// Which kernels an op becomes: what shares rows is one, what reads a row otherwise comes after it.

#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/frontend.h"
#include "tests/codegen/support.h"

namespace ingot::codegen {
namespace {

/// Of float32 tensors of these ranks, no size of which is 1.
Outline outline_of(const std::string& text, const std::vector<uint8_t>& ranks) {
  const auto definition = frontend::define(text);
  frontend::Signature signature;
  for (const uint8_t rank : ranks) signature.arguments.push_back({.dtype = ir::DType::F32, .rank = rank});
  const frontend::Actuals actuals{[](uint32_t, uint32_t dim) { return 100 + int64_t{dim}; },
                                  [](uint32_t) { return ir::HostValue{}; }};
  ir::Graph graph = frontend::lower(*definition, signature, actuals);
  ir::verify(graph);
  graph = ir::align_rows(ir::contract(ir::simplify(ir::inline_calls(graph))));
  ir::verify(graph);
  return outline(graph);
}

struct Row {
  std::string text;
  std::vector<uint8_t> ranks;
  std::vector<uint32_t> phases;  ///< of each kernel, how often it goes through its elements
  size_t workspaces;
};

TEST(Outline, WhatSharesRowsIsOneKernel) {
  const std::vector<Row> rows = {
      {"x + 1", {2}, {1}, 0},
      {"x.sum(1)", {2}, {1}, 0},
      {"x.sum(1) * y + 1", {2, 1}, {1}, 0},
      {"x.softmax(1)", {2}, {3}, 0},
      {"x.t().softmax(0)", {2}, {3}, 0},
      {"x.softmax(1).t()", {2}, {3}, 0},
      {"(x.sum(1), x.amax(1), x.mean(1, keepdim=True) - x)", {2}, {2}, 0},
      {"(x + y, (x + y).sum(1))", {2, 2}, {1}, 0},
      {"x.var(1)", {2}, {2}, 0},
      // No row in common, nothing in common.
      {"(x.sum(1), y + 1)", {2, 2}, {1, 1}, 0},
      {"(x.sum(0), x.sum(1))", {2}, {1, 1}, 0},
      // Read otherwise than by rows.
      {"x.sum(1).sum()", {2}, {1, 1}, 1},
      {"(x - x.mean(1, keepdim=True)).sum(0)", {2}, {1, 1}, 1},
      {"x.sum(1)[2:]", {2}, {1, 1}, 1},
      // Of one row alone each phase has a kernel, so that many blocks share it.
      {"x / x.sum()", {2}, {1, 1}, 1},
      {"x.var()", {2}, {1, 1}, 1},
      {"x.softmax(0)", {1}, {1, 1, 1}, 2},
  };
  for (const Row& row : rows) {
    const Outline result = outline_of(row.text, row.ranks);
    std::vector<uint32_t> phases;
    for (const KernelOutline& kernel : result.kernels) phases.push_back(kernel.phases());
    EXPECT_EQ(phases, row.phases) << row.text;
    EXPECT_EQ(result.workspaces.size(), row.workspaces) << row.text;
  }
}

}  // namespace
}  // namespace ingot::codegen
