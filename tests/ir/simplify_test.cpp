#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "ir/types/constant.h"
#include "tests/ir/testing.h"

namespace ingot::ir {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Each test states the simplified form of a node, as printed text of the simplified graph.
struct Simplify : testing::Test {
  GraphWriter w;
  const NodeId f = w.load("f", DType::F32), g = w.load("g", DType::F32);
  const NodeId h = w.load("h", DType::F16), d = w.load("d", DType::F64);
  const NodeId i = w.load("i", DType::I32), j = w.load("j", DType::I64), u = w.load("u", DType::U8);
  const NodeId b = w.load("b", DType::Bool), c = w.load("c", DType::Bool);

  /// Prints the nodes of the simplified graph of a result, one per line.
  std::string nodes(NodeId node) {
    w.graph.results.clear();
    w.result(node);
    verify(w.graph);
    const Graph simple = simplify(w.graph);
    verify(simple);
    const std::string text = print(simple);
    const size_t begin = text.find('\n') + 1;
    return text.substr(begin, text.find("  out:") - begin);
  }

  void expect_same(NodeId node, NodeId expected) { EXPECT_EQ(nodes(node), nodes(expected)); }
  void expect_kept(NodeId node) {
    const std::string text = nodes(node);
    const std::string op(is_primitive(w.graph[node].op) ? info(w.graph[node].op).name : "cast");
    const size_t last = text.rfind("  %");
    EXPECT_NE(text.find(" = " + op.substr(op.front() == '_') + " ", last), std::string::npos) << text;
  }
  NodeId real(double value) { return w.real(DType::F32, value); }
};

TEST_F(Simplify, RemovesNeutralOperandsOfFloats) {
  expect_same(w.op(Op::Add, {f, real(-0.0)}), f);
  expect_same(w.op(Op::Add, {real(-0.0), f}), f);
  expect_kept(w.op(Op::Add, {f, real(0.0)}));  // -0.0 + 0.0 is 0.0
  expect_same(w.op(Op::Sub, {f, real(0.0)}), f);
  expect_kept(w.op(Op::Sub, {f, real(-0.0)}));
  expect_same(w.op(Op::Mul, {f, real(1.0)}), f);
  expect_same(w.op(Op::Mul, {w.integer(DType::F32, 1), f}), f);
  expect_same(w.op(Op::Div, {f, real(1.0)}), f);
  expect_kept(w.op(Op::Mul, {f, real(0.0)}));
  expect_kept(w.op(Op::Sub, {f, f}));
  expect_kept(w.op(Op::FloorDivide, {f, real(1.0)}));
}

TEST_F(Simplify, RemovesNeutralOperandsOfIntegers) {
  const NodeId zero = w.integer(DType::I32, 0), one = w.integer(DType::I32, 1);
  expect_same(w.op(Op::Add, {i, zero}), i);
  expect_same(w.op(Op::Sub, {i, zero}), i);
  expect_kept(w.op(Op::Sub, {zero, i}));
  expect_same(w.op(Op::Mul, {i, one}), i);
  expect_same(w.op(Op::Mul, {i, zero}), zero);
  expect_same(w.op(Op::FloorDivide, {i, one}), i);
  expect_same(w.op(Op::Sub, {i, i}), zero);
  expect_same(w.op(Op::BitwiseXor, {i, i}), zero);
  expect_same(w.op(Op::BitwiseAnd, {i, w.integer(DType::I32, -1)}), i);
  expect_same(w.op(Op::ShiftRight, {i, zero}), i);
  expect_same(w.op(Op::Add, {b, w.boolean(false)}), b);
  expect_same(w.op(Op::Mul, {b, w.boolean(true)}), b);
}

TEST_F(Simplify, Signs) {
  const NodeId minus = w.op(Op::Neg, {f});
  expect_same(w.op(Op::Neg, {minus}), f);
  expect_same(w.op(Op::Abs, {minus}), w.op(Op::Abs, {f}));
  expect_same(w.op(Op::Abs, {w.op(Op::Abs, {f})}), w.op(Op::Abs, {f}));
  expect_same(w.op(Op::Abs, {u}), u);
  expect_same(w.op(Op::Sub, {g, minus}), w.op(Op::Add, {g, f}));
  expect_same(w.op(Op::Add, {g, minus}), w.op(Op::Sub, {g, f}));
  expect_kept(w.op(Op::Add, {minus, g}));  // operands are not swapped
}

TEST_F(Simplify, Casts) {
  expect_same(w.cast(DType::F32, f), f);
  expect_same(w.cast(DType::F32, w.cast(DType::F64, f)), f);
  expect_same(w.cast(DType::F16, w.cast(DType::F32, h)), h);
  expect_same(w.cast(DType::F32, w.cast(DType::F64, i)), w.cast(DType::F32, i));
  expect_same(w.cast(DType::I64, w.cast(DType::I32, u)), w.cast(DType::I64, u));
  expect_same(w.cast(DType::U8, w.cast(DType::I32, j)), w.cast(DType::U8, j));
  expect_same(w.cast(DType::Bool, w.cast(DType::F64, f)), w.cast(DType::Bool, f));
  expect_kept(w.cast(DType::F64, w.cast(DType::F32, d)));
  expect_kept(w.cast(DType::I32, w.cast(DType::F64, f)));  // an out-of-range result may depend on the float's type
  const NodeId narrowed = w.cast(DType::I64, w.cast(DType::U8, i));
  EXPECT_NE(nodes(narrowed), nodes(w.cast(DType::I64, i)));
  const NodeId lossy = w.cast(DType::F64, w.cast(DType::F32, i));
  EXPECT_NE(nodes(lossy), nodes(w.cast(DType::F64, i)));
}

TEST_F(Simplify, KeepsARoundingCastToTheSameType) {
  const NodeId sum = w.op(Op::Add, {h, h});  // of type float16, but its value is not rounded yet
  const NodeId rounded = w.cast(DType::F16, sum);
  expect_kept(rounded);
  expect_same(w.cast(DType::F16, rounded), rounded);
  EXPECT_NE(nodes(w.cast(DType::F32, rounded)), nodes(w.cast(DType::F32, sum)));
}

TEST_F(Simplify, Bitcasts) {
  const auto bitcast = [&](DType type, NodeId x) { return w.graph.add(Op::Bitcast, type, {x}); };
  expect_same(bitcast(DType::F32, bitcast(DType::I32, f)), f);
  EXPECT_NE(nodes(bitcast(DType::I32, f)), nodes(w.cast(DType::I32, f)));
}

TEST_F(Simplify, Rounding) {
  const NodeId floored = w.op(Op::Floor, {f});
  expect_same(w.op(Op::Ceil, {floored}), floored);
  expect_same(w.op(Op::Round, {i}), i);
  expect_same(w.op(Op::Trunc, {w.cast(DType::F32, i)}), w.cast(DType::F32, i));
  expect_kept(w.op(Op::Floor, {w.cast(DType::F32, d)}));
}

TEST_F(Simplify, MinimumAndMaximum) {
  expect_same(w.op(Op::Maximum, {f, f}), f);
  expect_same(w.op(Op::Fmin, {f, f}), f);
  expect_kept(w.op(Op::Maximum, {f, g}));
}

TEST_F(Simplify, Logic) {
  expect_same(w.op(Op::LogicalNot, {w.op(Op::LogicalNot, {b})}), b);
  expect_same(w.op(Op::LogicalAnd, {b, w.boolean(true)}), b);
  expect_same(w.op(Op::LogicalAnd, {w.boolean(false), b}), w.boolean(false));
  expect_same(w.op(Op::LogicalOr, {b, w.boolean(true)}), w.boolean(true));
  expect_same(w.op(Op::LogicalXor, {b, w.boolean(true)}), w.op(Op::LogicalNot, {b}));
  expect_same(w.op(Op::LogicalXor, {b, b}), w.boolean(false));
  expect_same(w.op(Op::BitwiseNot, {w.op(Op::BitwiseNot, {i})}), i);
  expect_kept(w.op(Op::LogicalAnd, {b, c}));
}

TEST_F(Simplify, DoesNotInvertComparisonsOfFloats) {
  expect_kept(w.op(Op::LogicalNot, {w.op(Op::Lt, {f, g})}));
  expect_kept(w.op(Op::Eq, {f, f}));
  const NodeId k = w.integer(DType::I32, 7);
  expect_same(w.op(Op::LogicalNot, {w.op(Op::Lt, {i, k})}), w.op(Op::Ge, {i, k}));
  expect_same(w.op(Op::Eq, {i, i}), w.boolean(true));
  expect_same(w.op(Op::Gt, {i, i}), w.boolean(false));
  expect_same(w.op(Op::Isnan, {i}), w.boolean(false));
  expect_same(w.op(Op::Isfinite, {i}), w.boolean(true));
  expect_kept(w.op(Op::Isnan, {f}));
}

TEST_F(Simplify, Selection) {
  const auto where = [&](NodeId x, NodeId y, NodeId z) { return w.op(Op::Where, {x, y, z}); };
  expect_same(where(w.boolean(true), f, g), f);
  expect_same(where(w.boolean(false), f, g), g);
  expect_same(where(b, f, f), f);
  expect_same(where(b, w.boolean(true), w.boolean(false)), b);
  expect_same(where(b, where(b, f, g), g), where(b, f, g));
  expect_same(where(b, f, where(b, f, g)), where(b, f, g));
  expect_kept(where(b, f, where(c, f, g)));
}

TEST_F(Simplify, PowersByANumber) {
  const auto power = [&](NodeId x, double e) {
    return w.graph.add(Op::PowNumber, w.graph[x].dtype, {x, w.real(w.graph[x].dtype, e)});
  };
  const NodeId square = w.op(Op::Mul, {f, f});
  expect_same(power(f, 0.0), real(1.0));
  expect_same(power(f, 1.0), f);
  expect_same(power(f, 2.0), square);
  expect_same(power(f, 3.0), w.op(Op::Mul, {square, f}));
  expect_same(power(f, 0.5), w.op(Op::Sqrt, {f}));
  expect_same(power(f, -0.5), w.op(Op::Rsqrt, {f}));
  expect_same(power(f, -1.0), w.op(Op::Reciprocal, {f}));
  expect_same(power(f, -2.0), w.op(Op::Reciprocal, {square}));
  expect_same(power(f, 4.0), w.op(Op::Pow, {f, real(4.0)}));
  expect_same(power(f, 1.5), w.op(Op::Pow, {f, real(1.5)}));
  const NodeId cubed = w.graph.add(Op::PowNumber, DType::I32, {i, w.integer(DType::I32, 3)});
  expect_same(cubed, w.op(Op::Mul, {w.op(Op::Mul, {i, i}), i}));
}

TEST_F(Simplify, FoldsConstantsInTheirOwnType) {
  const NodeId tenth = real(0.1), fifth = real(0.2);
  expect_same(w.op(Op::Add, {tenth, fifth}), real(static_cast<double>(0.1f + 0.2f)));
  const NodeId wide = w.op(Op::Add, {w.real(DType::F64, 0.1), w.real(DType::F64, 0.2)});
  expect_same(wide, w.real(DType::F64, 0.1 + 0.2));
  expect_same(w.op(Op::Mul, {w.integer(DType::U8, 16), w.integer(DType::U8, 17)}), w.integer(DType::U8, 16));
  expect_same(w.op(Op::FloorDivide, {w.integer(DType::I32, -7), w.integer(DType::I32, 2)}), w.integer(DType::I32, -4));
  expect_same(w.op(Op::Remainder, {w.integer(DType::I32, -7), w.integer(DType::I32, 2)}), w.integer(DType::I32, 1));
  expect_same(w.cast(DType::F32, w.integer(DType::I64, 3)), real(3.0));
  expect_same(w.cast(DType::F16, real(0.1)), w.real(DType::F16, 0.0999755859375));
  expect_same(w.op(Op::Lt, {tenth, fifth}), w.boolean(true));
  expect_same(w.integer(DType::F32, 2), real(2.0));
  expect_same(w.integer(DType::U8, 300), w.integer(DType::U8, 44));
  expect_same(w.op(Op::ShiftLeft, {w.integer(DType::I32, 1), w.integer(DType::I32, 32)}), w.integer(DType::I32, 0));
  expect_same(w.op(Op::ShiftRight, {w.integer(DType::I32, -8), w.integer(DType::I32, 99)}), w.integer(DType::I32, -1));
}

TEST_F(Simplify, KeepsOpsThatTargetsMayComputeDifferently) {
  expect_kept(w.op(Op::Exp, {real(1.0)}));
  const HostId number = w.graph.host.scalar(w.number("s", HostKind::Float), HostKind::Float);
  expect_kept(w.op(Op::PowNumber, {real(2.0), w.graph.scalar(DType::F32, number)}));
  expect_kept(w.op(Op::Maximum, {real(0.0), real(-0.0)}));
  expect_kept(w.op(Op::FloorDivide, {w.integer(DType::I32, 1), w.integer(DType::I32, 0)}));
  expect_kept(w.cast(DType::I32, real(3e9)));
  expect_kept(w.cast(DType::U8, real(-1.0)));
  expect_kept(w.cast(DType::I64, real(kInf)));
}

TEST_F(Simplify, KeepsRunTimeNumbers) {
  const uint32_t param = w.number("scale", HostKind::Float);
  const NodeId scale = w.graph.scalar(DType::F32, w.graph.host.scalar(param, HostKind::Float));
  expect_kept(w.op(Op::Mul, {f, scale}));
  EXPECT_EQ(nodes(w.op(Op::Mul, {f, scale})),
            "  %0 = load f32 f[i0?]\n  %1 = scalar f32 scale\n  %2 = mul f32 %0, %1\n");
}

TEST_F(Simplify, MovesNamesToTheReplacement) {
  const NodeId scaled = w.op(Op::Mul, {f, real(1.0)});
  w.graph.name_node(f, "x");
  w.graph.name_node(scaled, "scaled");
  EXPECT_EQ(nodes(scaled), "  %0 = load f32 f[i0?]   ; x, scaled\n");
}

TEST_F(Simplify, SimplifiesTheBodiesOfCalls) {
  const NodeId body = w.op(Op::Neg, {w.op(Op::Neg, {f})});
  EXPECT_EQ(nodes(w.graph.call("same", body, {f})), "  %0 = load f32 f[i0?]\n  %1 = call f32 same %0 of %0\n");
}

}  // namespace
}  // namespace ingot::ir
