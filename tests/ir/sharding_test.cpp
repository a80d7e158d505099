#include "ir/sharding.h"

#include <gtest/gtest.h>

#include "tests/ir/testing.h"

// Which graphs can be sharded; each graph tests one rule. tests/python/test_sharding.py tests whole ops.

namespace ingot::ir {
namespace {

using Results = std::vector<uint32_t>;
constexpr std::nullopt_t kReplicated = std::nullopt;

/// x: [n, m], and `bias`: [m], a parameter that broadcasts along n.
struct Matrix {
  GraphWriter w;
  Graph& graph = w.graph;
  uint32_t x = w.param("x", DType::F32, 2), bias = w.param("w", DType::F32, 1);
  HostId n = w.size(x, 0), m = w.size(x, 1);

  NodeId sum_with_bias() {
    graph.conditions.push_back({Condition::Kind::Equal, m, w.size(bias, 0)});
    return w.op(Op::Add, {w.load(x), w.load(bias)});
  }
  void result(NodeId node) { w.result(node, {n, m}); }

  /// Reads x[coef · i + offset, j].
  NodeId read(HostId offset, int64_t coef, HostId size) {
    Access access = w.whole({size, m}, x);
    access.offsets[0] = offset;
    access.dims[0].terms[0].coef = w.c(coef);
    return graph.load(DType::F32, access);
  }
  NodeId reduce(DimMarks reduced) { return graph.reduce(DType::F32, {ReduceKind::Sum, {n, m}, reduced}, w.load(x)); }
  NodeId row(NodeId reduction) {
    Access access{{SourceRef::Kind::Reduce, 0}, {w.c(0), w.c(0)}, {{n, {{0, w.c(1)}}}, {w.c(1), {}}}, {}};
    return graph.read(DType::F32, access, {reduction});
  }
  NodeId column(NodeId reduction) {
    Access access{{SourceRef::Kind::Reduce, 0}, {w.c(0), w.c(0)}, {{m, {{1, w.c(1)}}}}, {}};
    return graph.read(DType::F32, access, {reduction});
  }

  std::optional<Sharding> shard_along(std::optional<uint32_t> dim) { return shard(graph, {dim, kReplicated}); }
};

TEST(Sharding, ShardsParametersReadAlongTheShardedDim) {
  Matrix x;
  x.result(x.sum_with_bias());
  const auto rows = x.shard_along(0), columns = x.shard_along(1);
  ASSERT_TRUE(rows && columns);
  EXPECT_EQ(rows->params, (ShardedDims{0, kReplicated}));
  EXPECT_EQ(rows->results, (Results{0}));
  EXPECT_EQ(columns->params, (ShardedDims{1, 0}));
  EXPECT_EQ(columns->results, (Results{1}));
  EXPECT_EQ(shard(x.graph, {kReplicated, 0})->params, (ShardedDims{1, 0}));
  EXPECT_FALSE(shard(x.graph, {0, 0}));
}

TEST(Sharding, ShardsParametersThatOnlyConditionsUse) {
  Matrix x;
  x.sum_with_bias();  // not used by any result
  x.result(x.w.load(x.x));
  EXPECT_EQ(x.shard_along(1)->params, (ShardedDims{1, 0}));
}

TEST(Sharding, AcceptsReductionsWithinAShard) {
  Matrix rows;
  rows.result(rows.w.op(Op::Sub, {rows.w.load(rows.x), rows.row(rows.reduce({0, 1}))}));
  EXPECT_EQ(rows.shard_along(0)->results, (Results{0}));
  EXPECT_FALSE(rows.shard_along(1));
  Matrix columns;
  columns.result(columns.w.op(Op::Sub, {columns.w.load(columns.x), columns.column(columns.reduce({1, 0}))}));
  EXPECT_EQ(columns.shard_along(1)->results, (Results{1}));
  EXPECT_FALSE(columns.shard_along(0));
}

TEST(Sharding, RejectsFlipsAndShiftsAlongTheShardedDim) {
  Matrix flipped;
  flipped.result(flipped.read(flipped.graph.host.sub(flipped.n, flipped.w.c(1)), -1, flipped.n));
  EXPECT_FALSE(flipped.shard_along(0));
  EXPECT_TRUE(flipped.shard_along(1));
  Matrix shifted;
  const HostId less = shifted.graph.host.sub(shifted.n, shifted.w.c(1));
  shifted.w.result(shifted.read(shifted.w.c(1), 1, less), {less, shifted.m});
  EXPECT_FALSE(shifted.shard_along(0));
  EXPECT_TRUE(shifted.shard_along(1));
  Matrix first;
  first.w.result(first.read(first.w.c(0), 1, less), {less, first.m});
  EXPECT_FALSE(first.shard_along(0));
}

TEST(Sharding, RejectsUsesOfPositionOrSize) {
  Matrix position;
  position.result(position.w.op(
      Op::Add, {position.w.load(position.x), position.w.cast(DType::F32, position.w.index(position.n, 1))}));
  EXPECT_FALSE(position.shard_along(0));
  EXPECT_TRUE(position.shard_along(1));
  Matrix size;
  const HostId count = size.graph.host.make(HostOp::Float, {size.n});
  size.result(size.w.op(Op::Div, {size.w.load(size.x), size.graph.scalar(DType::F32, count)}));
  EXPECT_FALSE(size.shard_along(0));
  EXPECT_TRUE(size.shard_along(1));
}

TEST(Sharding, ChecksThatConditionsHoldForShards) {
  const auto with = [](Condition::Kind kind, auto a, auto b) {
    Matrix x;
    x.result(x.w.load(x.x));
    HostPool& host = x.graph.host;
    x.graph.conditions.push_back({kind, a(x, host), b(x, host)});
    return x.shard_along(0);
  };
  const auto rows = [](int64_t factor, int64_t constant = 0) {
    return [=](Matrix& x, HostPool& host) { return host.add(host.mul(x.n, x.w.c(factor)), x.w.c(constant)); };
  };
  const auto elements = [](Matrix& x, HostPool& host) { return host.mul(x.n, x.m); };
  using Kind = Condition::Kind;
  EXPECT_TRUE(with(Kind::Equal, elements, rows(8)));
  EXPECT_FALSE(with(Kind::Equal, elements, rows(8, 1)));
  EXPECT_FALSE(with(Kind::Equal, rows(1), rows(0, 6)));
  EXPECT_FALSE(with(Kind::InRange, rows(0, 2), rows(1)));
  EXPECT_FALSE(with(Kind::NonNegative, rows(1, -4), rows(0)));
  EXPECT_TRUE(with(Kind::NonNegative, rows(3, -1), rows(0))->needs_elements);
  EXPECT_FALSE(with(Kind::Equal, elements, rows(8))->needs_elements);
}

TEST(Sharding, RejectsSizesThatLoweringUsed) {
  Matrix known;
  known.result(known.w.load(known.x));
  known.graph.unspecialized.push_back(known.n);
  EXPECT_FALSE(known.shard_along(0));
  EXPECT_TRUE(known.shard_along(1));
  GraphWriter fixed;
  fixed.graph.params.push_back({.name = "x", .shape = {fixed.c(6)}});
  fixed.result(fixed.load(0), {fixed.c(6)});
  EXPECT_FALSE(shard(fixed.graph, {0}));
}

TEST(Sharding, RejectsUnshardedResultsAndMutation) {
  Matrix x;
  x.result(x.w.load(x.x));
  x.w.result(x.w.load(x.bias), {x.w.size(x.bias, 0)});
  EXPECT_FALSE(x.shard_along(0));
  Matrix written;
  written.result(written.w.load(written.x));
  written.graph.results[0].mutates = written.x;
  EXPECT_FALSE(written.shard_along(0));
}

TEST(Sharding, MatchesUnitShardsOfTheSameOp) {
  const auto unit_shard = [](double number, bool is_flipped) {
    GraphWriter w;
    w.graph.params.push_back({.name = "x", .shape = {w.c(1), w.size(0, 1)}});
    Access access{{SourceRef::Kind::Param, 0}, {w.c(0), w.c(0)}, {{w.size(0, 1), {{1, w.c(1)}}}}, {}};
    if (is_flipped) access.offsets[1] = w.graph.host.sub(w.size(0, 1), w.c(1)), access.dims[0].terms[0].coef = w.c(-1);
    const NodeId x = w.graph.load(DType::F32, access);
    w.result(w.op(Op::Mul, {x, w.real(DType::F32, number)}), {w.c(1), w.size(0, 1)});
    return std::move(w.graph);
  };
  GraphWriter w;
  const uint32_t x = w.param("x", DType::F32, 2);
  w.result(w.op(Op::Mul, {w.load(x), w.real(DType::F32, 2.0)}), {w.size(x, 0), w.size(x, 1)});
  const std::vector<ShardedDims> shardings{{0}};
  EXPECT_TRUE(matches_unit_shard(w.graph, shardings, unit_shard(2.0, false)));
  EXPECT_FALSE(matches_unit_shard(w.graph, shardings, unit_shard(3.0, false)));
  EXPECT_FALSE(matches_unit_shard(w.graph, shardings, unit_shard(2.0, true)));
}

/// sin(sin(…(k + first))), whose printed text abbreviates the part that contains `first`.
Graph deep_number(double first) {
  GraphWriter w;
  const uint32_t x = w.param("x", DType::F32, 2), k = w.number("k", HostKind::Float);
  HostPool& host = w.graph.host;
  HostId number = host.make(HostOp::Add, {host.scalar(k, HostKind::Float), host.real(first)});
  for (int i = 0; i < 200; ++i) number = host.make(HostOp::Sin, {number});
  w.result(w.op(Op::Mul, {w.load(x), w.graph.scalar(DType::F32, number)}), {w.size(x, 0), w.size(x, 1)});
  return std::move(w.graph);
}

TEST(Sharding, ComparesDeepNumbersOfUnitShards) {
  const std::vector<ShardedDims> shardings(1, ShardedDims(2));
  EXPECT_TRUE(matches_unit_shard(deep_number(1), shardings, deep_number(1)));
  EXPECT_FALSE(matches_unit_shard(deep_number(1), shardings, deep_number(2)));
}

TEST(Sharding, PrintsLargeExpressionsCompletely) {
  EXPECT_EQ(print(deep_number(1)), print(deep_number(1)));
  EXPECT_NE(print(deep_number(1)), print(deep_number(2)));  // the text is a key of kernels
}

}  // namespace
}  // namespace ingot::ir
