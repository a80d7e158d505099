#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/graph.h"
#include "tests/ir/testing.h"

namespace ingot::ir {
namespace {

/// x: [n, m], and its argmax along m.
struct Reduced {
  GraphWriter w;
  uint32_t param = w.param("x", DType::F32, 2);
  NodeId x = w.load(param);
  NodeId node = w.graph.reduce(DType::F32, {ReduceKind::ArgMax, w.graph.params[param].shape, {0, 1}}, x);

  /// Reads a value of each row (0: the maximum, 1: its index) over an index space of rank `rank`, in which the index
  /// along dim `along` is the number of the row.
  NodeId read(uint32_t value, size_t rank, size_t along) {
    Access access{{SourceRef::Kind::Reduce, value}, {w.c(0), w.c(0)}, {}, {}};
    for (size_t d = along; d < rank; ++d) access.dims.push_back({w.c(1), {}});
    access.dims[0] = {w.graph.params[param].shape[0], {{0, w.c(1)}}};
    return w.graph.read(value == 0 ? DType::F32 : DType::I64, access, {node});
  }
};

TEST(Reduce, PrintsKindDomainAndDims) {
  Reduced r;
  r.w.result(r.read(1, 1, 0));
  verify(r.w.graph);
  const std::string text = print(r.w.graph);
  EXPECT_NE(text.find("reduce f32 argmax of %0 over [x.size(0), x.size(1)] along 1"), std::string::npos) << text;
  EXPECT_NE(text.find("load i64 %1.index["), std::string::npos) << text;
}

TEST(Reduce, IsReadOnlyThroughAnAccess) {
  Reduced r;
  r.w.graph.add(Op::Neg, DType::F32, {r.node});
  EXPECT_THROW(verify(r.w.graph), Error);
  Reduced along;  // an access along the reduced dim
  Access access{{SourceRef::Kind::Reduce, 0}, {along.w.c(0), along.w.c(0)}, {}, {}};
  access.dims = {{along.w.graph.params[0].shape[1], {{1, along.w.c(1)}}}};
  along.w.graph.read(DType::F32, access, {along.node});
  EXPECT_THROW(verify(along.w.graph), Error);
}

TEST(Reduce, SharesEqualReductions) {
  Reduced r;
  const Reduction other{ReduceKind::ArgMin, r.w.graph.reduction(r.node).domain, {0, 1}};
  EXPECT_EQ(r.w.graph.reduce(DType::F32, r.w.graph.reduction(r.node), r.x), r.node);
  EXPECT_NE(r.w.graph.reduce(DType::F32, other, r.x), r.node);
}

TEST(Reduce, AlignsBlocksOfRowsWithItsDomain) {
  Reduced r;
  const std::vector<HostId> shape = r.w.graph.params[r.param].shape;
  const NodeId row = r.read(0, 1, 0);
  Access store{{}, {r.w.c(0)}, {{shape[0], {{0, r.w.c(1)}}}}, {}};
  r.w.graph.results.push_back({"out", DType::F32, {shape[0]}, {{row, {shape[0]}, store}}, 0});
  const Graph aligned = align_rows(r.w.graph);
  verify(aligned);
  const OutputBlock& block = aligned.results[0].blocks[0];
  ASSERT_EQ(block.domain.size(), 2u);
  EXPECT_TRUE(aligned.host.is_int(block.domain[1], 1));
  EXPECT_EQ(aligned.access(block.node).dims.size(), 2u);
}

}  // namespace
}  // namespace ingot::ir
