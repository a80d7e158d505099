#include "ir/graph.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/passes/rewrite.h"
#include "tests/ir/testing.h"

namespace ingot::ir {
namespace {

TEST(Graph, SharesEqualNodes) {
  GraphWriter w;
  const uint32_t x = w.param("x", DType::F32), y = w.param("y", DType::F32);
  const NodeId a = w.load(x), b = w.load(y);
  EXPECT_EQ(w.load(x), a);
  EXPECT_NE(a, b);
  const NodeId sum = w.op(Op::Add, {a, b});
  EXPECT_EQ(w.op(Op::Add, {a, b}), sum);
  EXPECT_NE(w.op(Op::Add, {b, a}), sum);
  EXPECT_NE(w.cast(DType::F64, sum), w.cast(DType::F16, sum));
  EXPECT_NE(w.real(DType::F32, 0.0), w.real(DType::F32, -0.0));
  EXPECT_NE(w.real(DType::F32, 1.0), w.integer(DType::F32, 1));
  EXPECT_EQ(w.graph.call("silu", sum, {a}), w.graph.call("silu", sum, {a}));
  EXPECT_NE(w.graph.call("silu", sum, {a}), w.graph.call("gelu", sum, {a}));
  EXPECT_NE(w.index(w.size(x, 0)), w.index(w.size(x, 0), 1));
}

TEST(Graph, DistinguishesAccessesByEachField) {
  GraphWriter w;
  const uint32_t x = w.param("x", DType::F32);
  const Access access = w.whole(w.graph.params[x].shape, x);
  const NodeId load = w.graph.load(DType::F32, access);
  Access shifted = access, strided = access, broadcast = access;
  shifted.offsets[0] = w.c(1);
  strided.dims[0].terms[0].coef = w.c(2);
  broadcast.dims[0] = {w.c(1), {}};
  for (const Access& other : {shifted, strided, broadcast}) {
    EXPECT_NE(w.graph.load(DType::F32, other), load);
  }
}

TEST(Graph, MarksOnlyNeededNodesAsLive) {
  GraphWriter w;
  const NodeId x = w.load("x", DType::F32);
  const NodeId dead = w.op(Op::Exp, {x});
  const NodeId needed = w.op(Op::Neg, {x});
  w.result(needed);
  const std::vector<bool> live = w.graph.live();
  EXPECT_TRUE(live[x.index] && live[needed.index]);
  EXPECT_FALSE(live[dead.index]);
}

TEST(Graph, CarriesNamesAndLocations) {
  const Source source("op.py", "lt = maximum(a, b)");
  GraphWriter w;
  const NodeId x = w.load("x", DType::F32), y = w.op(Op::Neg, {x});
  w.graph.name_node(y, "lt");
  w.graph.name_node(y, "left");
  w.graph.name_node(y, "lt");
  w.graph.set_location(y, {&source, 5, 18});
  w.graph.name_node(x, "x0");
  w.graph.copy_names_and_locations(w.graph, y, x);
  EXPECT_EQ(w.graph.names(x), (std::vector<std::string>{"x0", "lt", "left"}));
  EXPECT_EQ(w.graph.span(x).text(), "maximum(a, b)");
  w.graph.set_location(x, {&source, 0, 2});
  EXPECT_EQ(w.graph.span(x).text(), "maximum(a, b)");  // the first location is kept
  EXPECT_FALSE(w.graph.span(w.op(Op::Abs, {x})));
}

/// A graph that prints every kind of line: strided loads, a gather, a call, a position, and a result of two output
/// blocks.
GraphWriter graph_with_every_kind_of_line() {
  GraphWriter w;
  Graph& g = w.graph;
  g.name = "sample";
  const uint32_t x = w.param("x", DType::F32, 2), table = w.param("table", DType::F32, 2);
  const uint32_t t = w.param("t", DType::I64);
  const uint32_t abar = w.number("abar", HostKind::Float);
  w.number("steps", HostKind::Int);
  const HostId n = w.size(x, 0), rest = g.host.make(HostOp::Sub, {w.c(1), g.host.scalar(abar, HostKind::Float)});

  const NodeId corner =
      g.load(DType::F32, {{SourceRef::Kind::Param, x}, {w.c(1), w.c(2)}, {{n, {{0, w.c(1)}, {1, w.c(4)}}}}, {}});
  const NodeId back = g.load(DType::F32, {{SourceRef::Kind::Param, x},
                                          {g.host.sub(n, w.c(1)), w.c(0)},
                                          {{n, {{0, w.c(-1)}}}, {w.c(4), {{1, g.host.size(x, 1)}}}},
                                          {}});
  const NodeId sum = g.add(Op::Add, DType::F32, {corner, back});
  g.name_node(sum, "lt");
  g.name_node(sum, "x0");
  const NodeId scaled = g.add(Op::Mul, DType::F32, {sum, g.scalar(DType::F32, rest)});
  const NodeId row_index = w.load(t);
  const NodeId row =
      g.gather(DType::F32, {{SourceRef::Kind::Param, table}, {w.c(0), w.c(2)}, {}, {{w.size(table, 0), {{0, w.c(1)}}}}},
               {row_index});
  const NodeId body = g.add(Op::Neg, DType::F32, {row});
  const NodeId called = g.call("flip", body, {row});
  const NodeId power = g.add(Op::PowNumber, DType::F32, {called, w.real(DType::F32, 2.0)});
  const NodeId position = w.cast(DType::F32, w.index(n));
  w.result(power, {n});

  Result halves{.name = "halves", .dtype = DType::F32, .shape = {n, w.c(2)}, .blocks = {}};
  for (const auto& [node, column] : {std::pair{scaled, 0}, {position, 1}}) {
    halves.blocks.push_back({node, {n}, {{}, {w.c(0), w.c(column)}, {{n, {{0, w.c(1)}}}}, {}}});
  }
  g.results.push_back(halves);
  using Kind = Condition::Kind;
  g.conditions = {{Kind::Equal, n, w.size(t, 0)},
                  {Kind::Broadcasts, n, w.size(table, 1)},
                  {Kind::InRange, w.c(2), w.size(table, 1)},
                  {Kind::NonNegative, n},
                  {Kind::NonEmpty, n, w.c(1)},
                  {Kind::True, g.host.make(HostOp::Gt, {rest, w.c(0)})}};
  g.statics = {{w.size(x, 1), HostValue::of(int64_t{4})}};
  return w;
}

constexpr const char* kSample =
    R"(sample(x: f32[x.size(0), x.size(1)], table: f32[table.size(0), table.size(1)], t: i64[t.size(0)], abar: float, steps: int)
  %0 = load f32 x[i1? + 1, i1?*4 + 2]
  %1 = load f32 x[x.size(0) - 1 - i0?, i1*x.size(1)]
  %2 = add f32 %0, %1   ; lt, x0
  %3 = scalar f32 1 - abar
  %4 = mul f32 %2, %3
  %5 = load i64 t[i1?]
  %6 = gather f32 table[%5, 2]
  %7 = neg f32 %6
  %8 = call f32 flip %7 of %6
  %9 = scalar f32 2.0
  %10 = pow_number f32 %8, %9
  %11 = index i64 i1?
  %12 = cast f32 %11
  out: f32[x.size(0)] = %10
  halves: f32[x.size(0), 2] =
    %4 over [x.size(0)] at [i1, 0]
    %12 over [x.size(0)] at [i1, 1]
  require x.size(0) == t.size(0)
  require x.size(0) == table.size(1), or either is 1
  require 0 <= 2 < table.size(1)
  require x.size(0) >= 0
  require x.size(0) > 0
  require 1 - abar > 0
  static x.size(1) == 4
)";

TEST(GraphPrint, PrintsEveryKindOfLine) { EXPECT_EQ(print(graph_with_every_kind_of_line().graph), kSample); }

TEST(GraphPrint, PrintsTheMutatedParameter) {
  GraphWriter w;
  w.result(w.op(Op::Neg, {w.load("x", DType::F32)}));
  w.graph.name = "f";
  w.graph.results[0].mutates = 0;
  EXPECT_NE(print(w.graph).find("  out: f32[x.size(0)] into x = %1\n"), std::string::npos) << print(w.graph);
}

/// A valid graph, in which each test breaks one invariant.
struct Verify : testing::Test {
  GraphWriter w;
  NodeId x, sum;

  void SetUp() override {
    x = w.load("x", DType::F32);
    sum = w.op(Op::Add, {x, w.real(DType::F32, 1.0)});
    w.result(sum);
    w.graph.name = "broken";
  }

  std::string violation() const {
    try {
      verify(w.graph);
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::Internal);
      return error.message();
    }
    return "none";
  }
  void expect(const std::string& text) const { EXPECT_NE(violation().find(text), std::string::npos) << violation(); }
  NodeId result_of(Node node) {
    const NodeId id = w.graph.add(std::move(node));
    w.result(id);
    return id;
  }
};

TEST_F(Verify, AcceptsAValidGraph) {
  EXPECT_EQ(violation(), "none");
  EXPECT_NO_THROW(verify(graph_with_every_kind_of_line().graph));
}

TEST_F(Verify, ReportsTheLocationAndPrintsTheGraph) {
  result_of({Op::Neg, DType::F64, 0, {x}});
  try {
    verify(w.graph);
    FAIL() << "the graph was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "invalid graph of broken: %3: operands have another type");
    EXPECT_NE(std::string(error.what()).find("%3 = neg f64 %0"), std::string::npos) << error.what();
  }
}

TEST_F(Verify, OrderAndIds) {
  result_of({Op::Neg, DType::F32, 0, {{9}}});
  expect("its operands do not come before it");
}
TEST_F(Verify, ResultNode) {
  w.graph.results[0].blocks[0].node = {77};
  expect("a node that does not exist");
}
TEST_F(Verify, HostIds) {
  w.graph.results[0].shape[0] = {99};
  expect("a host expression that does not exist");
}
TEST_F(Verify, AccessIds) {
  result_of({Op::Load, DType::F32, 42, {}});
  expect("an access that does not exist");
}
TEST_F(Verify, CalleeIds) {
  result_of({Op::Call, DType::F32, 0, {x}});
  expect("a function that does not exist");
}
TEST_F(Verify, Arity) {
  result_of({Op::Add, DType::F32, 0, {x}});
  expect("wrong number of operands");
}
TEST_F(Verify, AcceptedTypes) {
  result_of({Op::Sub, DType::Bool, 0, {w.boolean(true), w.boolean(false)}});
  expect("the op does not accept its type");
}
TEST_F(Verify, FloatRule) {
  const NodeId i = w.integer(DType::I32, 4);
  result_of({Op::Sqrt, DType::I32, 0, {i}});
  expect("the result is not floating");
}
TEST_F(Verify, CompareRule) {
  result_of({Op::Lt, DType::F32, 0, {x, x}});
  expect("the result is not bool");
}
TEST_F(Verify, CompareOperands) {
  result_of({Op::Lt, DType::Bool, 0, {x, w.real(DType::F64, 1.0)}});
  expect("operands have two types");
}
TEST_F(Verify, LogicalRule) {
  result_of({Op::LogicalNot, DType::Bool, 0, {x}});
  expect("a type is not bool");
}
TEST_F(Verify, SelectCondition) {
  result_of({Op::Where, DType::F32, 0, {x, x, x}});
  expect("the condition is not bool");
}
TEST_F(Verify, SelectArms) {
  result_of({Op::Where, DType::F32, 0, {w.boolean(true), w.real(DType::F64, 1.0), x}});
  expect("an arm has another type");
}
TEST_F(Verify, BitcastWidth) {
  result_of({Op::Bitcast, DType::F64, 0, {x}});
  expect("of the same width");
}
TEST_F(Verify, CallType) {
  w.graph.call("f", x, {});
  result_of({Op::Call, DType::F64, 0, {x}});
  expect("its dtype is not that of its body");
}
TEST_F(Verify, ScalarKind) {
  result_of({Op::Scalar, DType::I32, w.graph.host.real(0.5).index, {}});
  expect("its dtype cannot hold the kind of its host value");
}
TEST_F(Verify, IndexType) {
  result_of({Op::Index, DType::I32, w.graph[w.index(w.c(4))].attr, {}});
  expect("an index must be int64");
}
TEST_F(Verify, IndexSource) {
  result_of({Op::Index, DType::I64, w.graph[x].attr, {}});
  expect("its access does not read positions");
}
TEST_F(Verify, IndexOffset) {
  Access access = w.graph.access(w.index(w.c(4)));
  access.offsets[0] = w.c(1);
  w.result(w.graph.read(DType::I64, access, {}));
  expect("an index has an offset");
}
TEST_F(Verify, SeedIsTheLastParameter) {
  w.graph.seed = 0;
  expect("the seed is not an int64 tensor");
  w.graph.params.push_back(w.graph.params[0]);
  expect("the seed is not the last parameter");
}
TEST_F(Verify, LoadedType) {
  result_of({Op::Load, DType::F64, w.graph[x].attr, {}});
  expect("its dtype is not that of its parameter");
}
TEST_F(Verify, LoadedParameter) {
  w.graph.params[0].kind = ParamKind::Number;
  expect("a parameter that is not a tensor");
}
TEST_F(Verify, AccessRank) {
  Access access = w.graph.access(x);
  access.offsets.push_back(w.c(0));
  w.result(w.graph.load(DType::F32, access));
  expect("one offset for each dim");
}
TEST_F(Verify, AccessTerms) {
  Access access = w.graph.access(x);
  access.dims[0].terms[0].dim = 3;
  w.result(w.graph.load(DType::F32, access));
  expect("a dim beyond the rank");
}
TEST_F(Verify, AccessKinds) {
  Access access = w.graph.access(x);
  access.offsets[0] = w.graph.host.real(0.5);
  w.result(w.graph.load(DType::F32, access));
  expect("a float is used as offset");
}
TEST_F(Verify, GatherIndices) {
  const Access access{{SourceRef::Kind::Param, 0}, {w.c(0)}, {}, {{w.c(4), {{0, w.c(1)}}}}};
  w.result(w.graph.gather(DType::F32, access, {x}));
  expect("an index is not an integer");
}
TEST_F(Verify, GatherIndirectIndices) {
  w.result(w.graph.gather(DType::F32, w.graph.access(x), {w.index(w.c(4))}));
  expect("one operand for each indirect index");
}
TEST_F(Verify, ResultType) {
  w.graph.results[0].dtype = DType::F16;
  expect("an output block has another type");
}
TEST_F(Verify, ResultBlocks) {
  w.graph.results[0].blocks.clear();
  expect("it must have output blocks");
}
TEST_F(Verify, StoreRank) {
  w.graph.results[0].shape.push_back(w.c(2));
  expect("one offset for each dim");
}
TEST_F(Verify, StoreDomain) {
  w.graph.results[0].blocks[0].domain.clear();
  expect("a store has more dims than its domain");
}
TEST_F(Verify, MutatedParameter) {
  w.graph.results[0].mutates = 1;
  expect("it mutates a parameter that does not exist");
}
TEST_F(Verify, MutatedNumber) {
  w.graph.results[0].mutates = w.number("k", HostKind::Float);
  expect("it mutates a parameter that is not a tensor");
}
TEST_F(Verify, MutatedType) {
  w.graph.results[0].mutates = w.param("y", DType::F16);
  expect("its dtype is not that of the parameter");
}
TEST_F(Verify, MutatedRank) {
  w.graph.results[0].mutates = w.param("y", DType::F32, 2);
  expect("its rank is not that of the parameter");
}
TEST_F(Verify, MutatedTwice) {
  w.result(x);
  for (Result& result : w.graph.results) result.mutates = 0;
  expect("another result mutates the same parameter");
}
TEST_F(Verify, LayoutOrder) {
  w.graph.eager_layouts = {{.kind = LayoutStep::Kind::Pointwise, .inputs = {0}}};
  expect("its inputs do not come before it");
}
TEST_F(Verify, LayoutOfResult) {
  w.graph.eager_layouts = {{.kind = LayoutStep::Kind::Contiguous}};
  w.graph.results[0].layout = 1;
  expect("a layout step that does not exist");
}
TEST_F(Verify, LayoutParameter) {
  w.graph.eager_layouts = {{.kind = LayoutStep::Kind::Param, .param = 5}};
  expect("its parameter is not a tensor");
}
TEST_F(Verify, Statics) {
  w.graph.statics = {{w.c(3), HostValue::of(int64_t{3})}};
  expect("neither size nor scalar");
}
TEST_F(Verify, Conditions) {
  w.graph.conditions = {{Condition::Kind::NonNegative, w.graph.host.real(1.0)}};
  expect("a float is used as operand");
}

TEST(InlineCalls, ReplacesACallByItsBody) {
  GraphWriter w;
  const NodeId x = w.load("x", DType::F32);
  const NodeId body = w.op(Op::Neg, {x});
  const NodeId called = w.graph.call("flip", body, {x});
  w.graph.name_node(called, "y");
  w.result(w.op(Op::Abs, {called}));
  w.graph.name = "f";
  EXPECT_EQ(print(inline_calls(w.graph)), R"(f(x: f32[x.size(0)])
  %0 = load f32 x[i0?]
  %1 = neg f32 %0   ; y
  %2 = abs f32 %1
  out: f32[x.size(0)] = %2
)");
}

TEST(Compact, DropsUnusedNodesHostExpressionsAndLayoutSteps) {
  GraphWriter w;
  const uint32_t x = w.param("x", DType::F32), y = w.param("y", DType::F32);
  HostPool& host = w.graph.host;
  host.make(HostOp::TrueDiv, {w.c(1), host.size(x, 0)});
  const NodeId a = w.load(x), b = w.load(y);
  w.op(Op::Exp, {a});
  w.graph.conditions = {{Condition::Kind::Equal, host.size(x, 0), host.size(y, 0)}};
  host.unify(host.size(x, 0), host.size(y, 0));
  w.result(w.op(Op::Add, {a, b}), {host.size(y, 0)});
  w.graph.name = "f";
  using Kind = LayoutStep::Kind;
  w.graph.eager_layouts = {{.kind = Kind::Param, .param = 0, .shape = {host.size(x, 0)}},
                           {.kind = Kind::Contiguous},
                           {.kind = Kind::Param, .param = 1, .shape = {host.size(y, 0)}},
                           {.kind = Kind::Pointwise, .inputs = {0, 2}, .shape = {host.size(y, 0)}}};
  w.graph.results[0].layout = 3;
  const Graph compacted = compact(w.graph);
  EXPECT_NO_THROW(verify(compacted));
  EXPECT_EQ(print(compacted), R"(f(x: f32[x.size(0)], y: f32[y.size(0)])
  %0 = load f32 x[i0?]
  %1 = load f32 y[i0?]
  %2 = add f32 %0, %1
  out: f32[x.size(0)] = %2
  require x.size(0) == y.size(0)
)");
  EXPECT_EQ(compacted.host.count(), 4u);  // 0, 1 and the two sizes
  ASSERT_EQ(compacted.eager_layouts.size(), 3u);
  EXPECT_EQ(compacted.results[0].layout, 2u);
  EXPECT_EQ(compacted.eager_layouts[2].inputs, (std::vector<uint32_t>{0, 1}));
}

}  // namespace
}  // namespace ingot::ir
