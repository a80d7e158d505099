#pragma once

#include <vector>

#include "frontend/frontend.h"
#include "tests/codegen/support.h"

// Graphs of ops written in the language.

namespace ingot::codegen {

/// The graph of an op for float32 tensors of these ranks without dims of size 1.
inline ir::Graph graph_of(const frontend::Definition& definition, const std::vector<uint8_t>& ranks) {
  frontend::Signature signature;
  for (const uint8_t rank : ranks) signature.arguments.push_back({.dtype = ir::DType::F32, .rank = rank});
  const frontend::SymbolValues symbol_values{[](uint32_t, uint32_t dim) { return 100 + int64_t{dim}; },
                                             [](uint32_t) { return ir::HostValue{}; }};
  ir::Graph graph = frontend::lower(definition, signature, symbol_values);
  ir::verify(graph);
  graph = ir::align_rows(ir::contract(ir::simplify(ir::inline_calls(graph))));
  ir::verify(graph);
  return graph;
}

}  // namespace ingot::codegen
