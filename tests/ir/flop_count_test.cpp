// Counts of a graph's operations, independent of the kernels that compute it.

#include "ir/flop_count.h"

#include <gtest/gtest.h>

#include "tests/ir/testing.h"

namespace ingot::ir {
namespace {

/// The operations for tensors of the sizes [4, 10].
int64_t operations(const GraphWriter& writer) {
  const Graph& graph = writer.graph;
  std::vector<HostValue> values(graph.host.count());
  evaluate(graph.host, {[](uint32_t, uint32_t dim) { return dim == 0 ? 4 : 10; }, {}}, values);
  return count_operations(graph, values);
}

TEST(FlopCount, CountsANodeOncePerDistinctElement) {
  GraphWriter writer;
  const uint32_t x = writer.param("x", DType::F32, 2);
  const std::vector<HostId> shape = writer.graph.params[x].shape;
  const NodeId value = writer.load(x);
  writer.result(writer.op(Op::Exp, {writer.op(Op::Add, {value, value})}), shape);
  EXPECT_EQ(operations(writer), 40 * (1 + info(Op::Exp).cost));
  writer.result(writer.op(Op::Mul, {value, value}), shape);
  writer.result(writer.op(Op::Mul, {writer.op(Op::Add, {value, value}), value}), shape);
  EXPECT_EQ(operations(writer), 40 * (3 + info(Op::Exp).cost)) << "a node of several results counts once";
}

TEST(FlopCount, CountsRowValuesOncePerRow) {
  GraphWriter writer;
  const uint32_t x = writer.param("x", DType::F32, 2);
  const std::vector<HostId> shape = writer.graph.params[x].shape;
  const NodeId value = writer.load(x);
  const NodeId sum =
      writer.graph.reduce(DType::F32, {ReduceKind::Sum, shape, {0, 1}}, writer.op(Op::Mul, {value, value}));
  Access rows = writer.whole({shape[0], writer.c(1)});
  rows.source = {SourceRef::Kind::Reduce, 0};
  rows.dims[1].terms.clear();
  const NodeId row_value = writer.op(Op::Sqrt, {writer.graph.read(DType::F32, rows, {sum})});
  writer.result(writer.op(Op::Sub, {value, row_value}), shape);
  EXPECT_EQ(operations(writer), 40 + 40 + 4 * info(Op::Sqrt).cost + 40);
}

TEST(FlopCount, IgnoresIntegersAndCasts) {
  GraphWriter writer;
  const uint32_t k = writer.param("k", DType::I64, 2);
  const NodeId value = writer.load(k);
  writer.result(writer.cast(DType::F32, writer.op(Op::Add, {value, value})), writer.graph.params[k].shape);
  EXPECT_EQ(operations(writer), 0);
}

}  // namespace
}  // namespace ingot::ir
