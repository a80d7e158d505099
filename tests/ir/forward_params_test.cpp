#include <gtest/gtest.h>

#include "tests/ir/testing.h"

namespace ingot::ir {
namespace {

struct ForwardParams : testing::Test {
  GraphWriter writer;
  const uint32_t x = writer.param("x", DType::F32, 2);
  const std::vector<HostId> shape = writer.graph.params[0].shape;

  std::vector<std::optional<uint32_t>> forwarded() {
    verify(writer.graph);
    const Graph graph = forward_params(writer.graph);
    verify(graph);
    std::vector<std::optional<uint32_t>> params;
    for (const Result& result : graph.results) {
      EXPECT_EQ(result.blocks.empty(), result.forwards.has_value());
      params.push_back(result.forwards);
    }
    return params;
  }
};

TEST_F(ForwardParams, ForwardsAnUnchangedParameter) {
  const NodeId load = writer.load(x);
  writer.result(load, shape);
  writer.result(writer.op(Op::Neg, {load}), shape);
  EXPECT_EQ(forwarded(), (std::vector<std::optional<uint32_t>>{x, std::nullopt}));
  const Graph graph = forward_params(writer.graph);
  EXPECT_NE(print(graph).find("out: f32"), std::string::npos);
  EXPECT_EQ(graph.count(), 2u) << "only the other result's nodes remain";
}

TEST_F(ForwardParams, KeepsAChangedOrderOffsetTypeOrSize) {
  Access transposed = writer.whole(shape, x), moved = transposed, spread = transposed;
  std::swap(transposed.dims[0].terms, transposed.dims[1].terms);
  moved.offsets[1] = writer.c(1);
  spread.dims[1].terms[0].coef = writer.c(2);
  for (const Access& access : {transposed, moved, spread}) writer.result(writer.graph.load(DType::F32, access), shape);
  writer.result(writer.cast(DType::F64, writer.load(x)), shape);
  writer.result(writer.load(x), {shape[0], writer.c(7)});
  EXPECT_EQ(forwarded(), std::vector<std::optional<uint32_t>>(5));
}

TEST_F(ForwardParams, KeepsAMutation) {
  const uint32_t y = writer.param("y", DType::F32, 2);
  writer.result(writer.load(x), shape);
  writer.graph.params[y].shape = shape;
  writer.graph.results[0].mutates = y;
  EXPECT_EQ(forwarded(), std::vector<std::optional<uint32_t>>(1));
}

}  // namespace
}  // namespace ingot::ir
