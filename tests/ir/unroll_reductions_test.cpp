#include "ir/passes/unroll_reductions.h"

#include <gtest/gtest.h>

#include "ir/passes/canonical.h"
#include "tests/ir/testing.h"

namespace ingot::ir {
namespace {

/// Half of a row's elements have an accumulator, as on CUDA.
uint32_t half_of(uint32_t length_bits) { return length_bits == 0 ? 1 : 1u << (length_bits - 1); }
/// Each element of a row has an accumulator, as on the CPU.
uint32_t all_of(uint32_t length_bits) { return 1u << length_bits; }

constexpr ReductionOrder kHalvesFirst{.accumulators = all_of};
constexpr ReductionOrder kAdjacentFirst{.accumulators = half_of, .adjacent_first = true, .fuses_products = true};

/// x: [n, length], float32. Results are over [n].
struct Unroll : testing::Test {
  GraphWriter writer;
  uint32_t x_param = 0;
  HostId n;

  /// Adds the parameter x, with rows of this length, and returns its load.
  NodeId load_x(int64_t length) {
    x_param = writer.param("x", DType::F32, 2);
    n = writer.size(x_param, 0);
    writer.graph.params[x_param].shape[1] = writer.c(length);
    return writer.load(x_param);
  }
  NodeId reduce(ReduceKind kind, NodeId operand) {
    return writer.graph.reduce(writer.graph[operand].dtype, {kind, writer.graph.params[x_param].shape, {0, 1}},
                               operand);
  }
  /// Reads a value of row i + offset over an index space [n].
  NodeId read(NodeId reduction, int64_t offset, uint32_t value = 0) {
    const Access access{
        {SourceRef::Kind::Reduce, value}, {writer.c(offset), writer.c(0)}, {{n, {{0, writer.c(1)}}}}, {}};
    return writer.graph.read(value == 0 ? writer.graph[reduction].dtype : DType::I64, access, {reduction});
  }
  /// Element k of row i + 1 of x.
  NodeId element(int64_t k) {
    return writer.graph.load(
        DType::F32, {{SourceRef::Kind::Param, x_param}, {writer.c(1), writer.c(k)}, {{n, {{0, writer.c(1)}}}}, {}});
  }
  NodeId add(NodeId a, NodeId b) { return writer.op(Op::Add, {a, b}); }
  NodeId zero() { return writer.real(DType::F32, 0.0); }

  std::string text_of(NodeId result, bool is_unrolled, const ReductionOrder& order = kHalvesFirst) {
    writer.graph.results.clear();
    writer.result(result, {n});
    verify(writer.graph);
    const Graph graph = is_unrolled ? unroll_reductions(writer.graph, order) : simplify(writer.graph);
    verify(graph);
    return print(canonical(graph));
  }
  void expect_unrolled(NodeId result, NodeId expected, const ReductionOrder& order = kHalvesFirst) {
    EXPECT_EQ(text_of(result, true, order), text_of(expected, false));
  }
  void expect_kept(NodeId result) { EXPECT_EQ(text_of(result, true), text_of(result, false)); }
};

TEST_F(Unroll, CombinesHalvesFirst) {
  const NodeId sum = read(reduce(ReduceKind::Sum, load_x(6)), 1);
  const NodeId even = add(add(add(zero(), element(0)), element(4)), element(2));
  const NodeId odd = add(add(element(1), element(5)), element(3));
  expect_unrolled(sum, add(even, odd));
}

TEST_F(Unroll, CombinesAdjacentAccumulatorsFirst) {
  const NodeId sum = read(reduce(ReduceKind::Sum, load_x(6)), 1);
  const NodeId first = add(add(add(zero(), element(0)), element(4)), add(element(1), element(5)));
  expect_unrolled(sum, add(first, add(element(2), element(3))), kAdjacentFirst);
}

TEST_F(Unroll, FusesProductsIntoSums) {
  const NodeId x = load_x(3);
  const NodeId sum = read(reduce(ReduceKind::Sum, writer.op(Op::Mul, {x, x})), 1);
  const auto square = [&](int64_t k) { return writer.op(Op::Mul, {element(k), element(k)}); };
  const auto fma = [&](int64_t k, NodeId c) { return writer.op(Op::Fma, {element(k), element(k), c}); };
  expect_unrolled(sum, add(fma(2, fma(0, zero())), square(1)), kAdjacentFirst);
  expect_unrolled(sum, add(add(add(zero(), square(0)), square(2)), square(1)));
}

TEST_F(Unroll, TakesTheFirstOfEqualExtremes) {
  const NodeId largest = read(reduce(ReduceKind::Max, load_x(2)), 1);
  expect_unrolled(largest, writer.op(Op::Maximum, {element(1), element(0)}));
}

TEST_F(Unroll, FindsTheFirstNaNOrTheFirstExtreme) {
  const NodeId index = read(reduce(ReduceKind::ArgMin, load_x(2)), 1, 1);
  const NodeId is_smaller = writer.op(Op::Lt, {element(1), element(0)});
  const NodeId is_first_nan =
      writer.op(Op::LogicalAnd, {writer.op(Op::Isnan, {element(1)}), writer.op(Op::Eq, {element(0), element(0)})});
  const NodeId replaces = writer.op(Op::LogicalOr, {is_smaller, is_first_nan});
  expect_unrolled(index,
                  writer.op(Op::Where, {replaces, writer.integer(DType::I64, 1), writer.integer(DType::I64, 0)}));
}

TEST_F(Unroll, FoldsPositions) {
  const NodeId x = load_x(2);
  const NodeId position = writer.graph.index({{writer.c(2), {{0, writer.c(3)}}}});  // 3 i1
  const NodeId sum = read(reduce(ReduceKind::Sum, writer.op(Op::Mul, {x, writer.cast(DType::F32, position)})), 1);
  const auto term = [&](int64_t k) {
    return writer.op(Op::Mul, {element(k), writer.real(DType::F32, 3.0 * double(k))});
  };
  expect_unrolled(sum, add(add(zero(), term(0)), term(1)));
}

TEST_F(Unroll, BroadcastsDimsThatMayHaveOneElement) {
  load_x(2);
  const HostId size = writer.graph.host.make(HostOp::Max, {writer.size(0, 0), writer.c(1)});  // may be 1
  const uint32_t y = writer.param("y", DType::F32, 1);
  const NodeId operand = writer.graph.load(
      DType::F32, {{SourceRef::Kind::Param, y}, {writer.c(0)}, {{size, {{0, writer.c(1)}}}, {writer.c(1), {}}}, {}});
  const std::string text = text_of(read(reduce(ReduceKind::Max, operand), 1), true);
  EXPECT_EQ(text.find("reduce"), std::string::npos) << text;
  EXPECT_NE(text.find("y[i0?*int(max(x.size(0), 1) != 1) + "), std::string::npos) << text;
}

TEST_F(Unroll, UnrollsNestedReductions) {
  const NodeId x = load_x(2);
  const NodeId mean = reduce(ReduceKind::Sum, x);
  Access of_row{{SourceRef::Kind::Reduce, 0}, {writer.c(0), writer.c(0)}, {}, {}};
  of_row.dims = {{n, {{0, writer.c(1)}}}, {writer.c(1), {}}};
  const NodeId difference = writer.op(Op::Sub, {x, writer.graph.read(DType::F32, of_row, {mean})});
  const NodeId largest = read(reduce(ReduceKind::Max, difference), 1);
  const NodeId sum = add(add(zero(), element(0)), element(1));
  const auto expected = [&](int64_t k) { return writer.op(Op::Sub, {element(k), sum}); };
  expect_unrolled(largest, writer.op(Op::Maximum, {expected(1), expected(0)}));
}

TEST_F(Unroll, KeepsReductionsThatShareAKernelWithTheirReader) {
  expect_kept(read(reduce(ReduceKind::Sum, load_x(3)), 0));
}

TEST_F(Unroll, KeepsLongReductions) { expect_kept(read(reduce(ReduceKind::Sum, load_x(17)), 1)); }

TEST_F(Unroll, KeepsValuesThatAreNeededTooOften) {
  const NodeId sum = reduce(ReduceKind::Sum, load_x(3));
  Access of_last{{SourceRef::Kind::Reduce, 0}, {writer.c(2), writer.c(0)}, {}, {}};  // the same row for each of n
  expect_kept(writer.graph.read(DType::F32, of_last, {sum}));
}

TEST_F(Unroll, KeepsFunctionsOfLargeOperands) {
  expect_kept(read(reduce(ReduceKind::Sum, writer.op(Op::Exp, {load_x(3)})), 1));
}

TEST_F(Unroll, RequestsTheLengthsThatItNeeds) {
  const NodeId x = load_x(3);
  const auto sizes_for = [&](int64_t offset) {
    writer.graph.results.clear();
    writer.result(read(reduce(ReduceKind::Sum, x), offset), {n});
    return sizes_to_unroll(writer.graph);
  };
  EXPECT_TRUE(sizes_for(1).empty());
  const HostId length = writer.size(x_param, 1);
  writer.graph.params[x_param].shape[1] = length;
  EXPECT_EQ(sizes_for(1), (std::vector<ParamDim>{{x_param, 1}}));
  EXPECT_TRUE(sizes_for(0).empty());
}

}  // namespace
}  // namespace ingot::ir
