#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/case_count.h"
#include "tests/ir/reference.h"
#include "tests/ir/testing.h"

// Random pointwise graphs before and after simplification: the results have the same bits, for values at which
// exactness is easily lost.

namespace ingot::ir {
namespace {

constexpr DType kTypes[] = {DType::Bool, DType::U8,   DType::I8,  DType::I32, DType::I64,
                            DType::F16,  DType::BF16, DType::F32, DType::F64};

/// Values of a type at which exactness is easily lost.
std::vector<Element> special_values(DType type) {
  static constexpr double kInf = std::numeric_limits<double>::infinity();
  static constexpr double kReals[] = {0.0,
                                      -0.0,
                                      1.0,
                                      -1.0,
                                      0.5,
                                      -2.5,
                                      3.0,
                                      kInf,
                                      -kInf,
                                      1e-40,
                                      1e30,
                                      255.5,
                                      1e-310,
                                      0.1,
                                      -7.25,
                                      3e9,
                                      std::numeric_limits<double>::quiet_NaN()};
  static constexpr int64_t kIntegers[] = {
      0,   1,         -1,        2,         3,         -7,   44,      127,           -128,
      255, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 2049, 1 << 24, (1 << 24) + 1, (int64_t{1} << 53) + 1};
  std::vector<Element> values;
  if (is_floating(type)) {
    for (const double real : kReals) values.push_back({type, 0, round_to(type, real)});
  } else {
    for (const int64_t integer : kIntegers) {
      values.push_back({type, type == DType::Bool ? integer & 1 : wrap_to(type, integer), 0});
    }
  }
  return values;
}

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    for (const DType type : kTypes) {
      for (int copy = 0; copy < 2; ++copy) {
        add(writer_.load(std::string(short_name(type)) + "_" + std::to_string(copy), type));
      }
      add_constants(type);
    }
    writer_.graph.name = "random";
    for (int step = 0; step < 60; ++step) grow();
    for (int i = 0; i < 4; ++i) writer_.result(nodes_[nodes_.size() - 1 - below(20)]);
  }

  const Graph& graph() const { return writer_.graph; }

  /// A random element for each parameter.
  std::vector<Element> values() {
    std::vector<Element> values;
    for (const Param& param : writer_.graph.params) {
      const std::vector<Element> special = special_values(param.dtype);
      values.push_back(special[below(special.size())]);
    }
    return values;
  }

 private:
  void add_constants(DType type) {
    if (is_floating(type)) {
      for (const double value : {0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 0.5, 0.1}) add(writer_.real(type, value));
      for (const int64_t value : {0, 1, 2}) add(writer_.integer(type, value));
    } else if (type == DType::Bool) {
      add(writer_.boolean(false));
      add(writer_.boolean(true));
    } else {
      for (const int64_t value : {0, 1, -1, 2, 300}) add(writer_.integer(type, value));
    }
  }

  void grow() {
    static constexpr Op kOps[] = {
        Op::Add,       Op::Add,        Op::Sub,         Op::Sub,        Op::Mul,         Op::Mul,
        Op::Div,       Op::Div,        Op::Neg,         Op::Neg,        Op::Abs,         Op::Reciprocal,
        Op::Sqrt,      Op::Floor,      Op::Ceil,        Op::Round,      Op::Maximum,     Op::Minimum,
        Op::Fmax,      Op::Fmin,       Op::FloorDivide, Op::Remainder,  Op::TruncDivide, Op::BitwiseAnd,
        Op::BitwiseOr, Op::BitwiseXor, Op::BitwiseNot,  Op::ShiftLeft,  Op::ShiftRight,  Op::Eq,
        Op::Ne,        Op::Lt,         Op::Le,          Op::Gt,         Op::Ge,          Op::LogicalAnd,
        Op::LogicalOr, Op::LogicalXor, Op::LogicalNot,  Op::LogicalNot, Op::Isnan,       Op::Isinf,
        Op::Isfinite,  Op::Where,      Op::Where,       Op::Copysign,   Op::PowNumber,   Op::Fma,
        Op::Exp,       Op::Cast,       Op::Cast,        Op::Cast};
    const Op op = kOps[below(std::size(kOps))];
    const DType type = kTypes[below(std::size(kTypes))];
    if (op == Op::Cast) {
      add(writer_.cast(type, nodes_[recent()]));
      return;
    }
    const OpInfo& row = info(op);
    if (!is_supported(op, type)) return;
    std::vector<NodeId> args;
    for (int a = 0; a < row.arity; ++a) {
      const bool is_condition = row.rule == Rule::Logical || (row.rule == Rule::Select && a == 0);
      args.push_back(of_type(is_condition ? DType::Bool : type));
    }
    if (op == Op::PowNumber) args[1] = exponent(type);
    add(writer_.op(op, std::move(args)));
  }

  /// Whether PyTorch and the reference evaluator support the op for this type.
  static bool is_supported(Op op, DType type) {
    const OpInfo& row = info(op);
    if (!row.accepts.contains(type)) return false;
    if (row.rule == Rule::Float) return is_floating(type);
    const bool is_integer_only = op == Op::FloorDivide || op == Op::Remainder || op == Op::TruncDivide;
    const bool is_float_only = op == Op::Fmax || op == Op::Fmin;
    return !(is_integer_only && is_floating(type)) && !(is_float_only && !is_floating(type));
  }

  NodeId exponent(DType type) {
    static constexpr double kExponents[] = {0, 1, 2, 3, 0.5, -0.5, -1, -2, 1.5};
    if (!is_floating(type)) return writer_.integer(type, static_cast<int64_t>(below(5)));
    return writer_.real(type, kExponents[below(std::size(kExponents))]);
  }

  NodeId of_type(DType type) {
    while (true) {
      const NodeId id = nodes_[below(3) == 0 ? below(nodes_.size()) : recent()];
      if (writer_.graph[id].dtype == type) return id;
      if (below(50) == 0) return writer_.load(std::string(short_name(type)) + "_more", type);
    }
  }

  size_t recent() { return nodes_.size() - 1 - below(std::min<size_t>(nodes_.size(), 40)); }
  size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }
  void add(NodeId id) { nodes_.push_back(id); }

  std::mt19937 random_;
  GraphWriter writer_;
  std::vector<NodeId> nodes_;
};

TEST(SimplifyFuzz, KeepsEveryBit) {
  size_t before = 0, after = 0;
  for (uint32_t seed = 0; seed < case_count(1500); ++seed) {
    RandomGraph random(seed);
    const Graph& graph = random.graph();
    verify(graph);
    const Graph simple = simplify(graph);
    verify(simple);
    const std::vector<bool> live = graph.live();
    before += static_cast<size_t>(std::ranges::count(live, true));
    after += simple.count();
    for (int sample = 0; sample < 20; ++sample) {
      const std::vector<Element> params = random.values();
      const auto expected = evaluate_nodes(graph, params), actual = evaluate_nodes(simple, params);
      for (size_t r = 0; r < graph.results.size(); ++r) {
        const Element& x = expected[graph.results[r].blocks[0].node.index];
        const Element& y = actual[simple.results[r].blocks[0].node.index];
        ASSERT_TRUE(x.same_as(y)) << "seed " << seed << ", result " << r << ": " << x.integer << " " << x.real
                                  << " became " << y.integer << " " << y.real << "\n"
                                  << print(graph) << "\n"
                                  << print(simple);
      }
    }
  }
  EXPECT_LT(after, before);
}

TEST(SimplifyFuzz, KeepsEveryBitOfCastsOfCasts) {
  size_t shorter = 0;
  for (const DType from : kTypes) {
    for (const DType middle : kTypes) {
      for (const DType to : kTypes) {
        for (const bool is_computed : {false, true}) {  // a product of 16-bit floats is a float32 until it is rounded
          GraphWriter w;
          NodeId x = w.load("x", from);
          if (is_computed) x = w.op(Op::Mul, {x, x});
          w.result(w.cast(to, w.cast(middle, x)));
          const Graph simple = simplify(w.graph);
          shorter += simple.count() < w.graph.count();
          for (const Element& value : special_values(from)) {
            const Element expected = evaluate_nodes(w.graph, {value}).back();
            const Element actual = evaluate_nodes(simple, {value}).back();
            ASSERT_TRUE(expected.same_as(actual))
                << print(w.graph) << print(simple) << value.integer << " " << value.real;
          }
        }
      }
    }
  }
  EXPECT_GT(shorter, 300u);
}

TEST(SimplifyFuzz, IsIdempotent) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Graph once = simplify(RandomGraph(seed).graph());
    ASSERT_EQ(print(simplify(once)), print(once)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace ingot::ir
