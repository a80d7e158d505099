// Kernels that reduce, run on this machine and compared with a reference, mostly on small integers, whose sums are
// exact.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <set>

#include "tests/codegen/reduce_testing.h"

namespace ingot::codegen {
namespace {

/// The expected results of `multi_phase_case`.
struct Expected {
  std::vector<float> largest, sums;
  std::vector<int64_t> indices;
  std::vector<float> differences;
};

Expected expected_of(Floats x, const ir::DimMarks& reduced) {
  const ir::Sizes& sizes = x.extents.sizes;
  ir::Sizes rows = sizes, lengths = sizes;
  for (size_t d = 0; d < sizes.size(); ++d) (reduced[d] ? rows : lengths)[d] = 1;
  Expected expected;
  std::map<std::vector<int64_t>, float> largest_of_row;
  for_each_index(rows, [&](const std::vector<int64_t>& row) {
    float largest = -std::numeric_limits<float>::infinity();
    int64_t argmax = -1, i = 0;
    const auto for_each_in_row = [&](const auto& f) {
      for_each_index(lengths, [&](std::vector<int64_t> index) {
        for (size_t d = 0; d < row.size(); ++d) index[d] += row[d];
        f(x.at(index));
      });
    };
    for_each_in_row([&](float value) {
      if (value > largest) largest = value, argmax = i;
      ++i;
    });
    float sum = 0;
    for_each_in_row([&](float value) { sum += value - largest; });
    expected.largest.push_back(largest);
    expected.indices.push_back(argmax);
    expected.sums.push_back(sum);
    largest_of_row[row] = largest;
  });
  for_each_index(sizes, [&](const std::vector<int64_t>& index) {
    std::vector<int64_t> row = index;
    for (size_t d = 0; d < row.size(); ++d)
      if (reduced[d]) row[d] = 0;
    expected.differences.push_back(x.at(index) - largest_of_row.at(row));
  });
  return expected;
}

class Reduce : public testing::TestWithParam<Target> {};

TEST_P(Reduce, SeveralPhasesAreCorrect) {
  std::mt19937 random(7);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 41) - 20); };
  struct Shape {
    ir::Sizes sizes;
    std::vector<size_t> order;
    int64_t pad;
    ir::DimMarks reduced;
    PartitionStrategy strategy = PartitionStrategy::Whole;
    bool use_many_rows_kernels = false;
  };
  std::vector<Shape> shapes;
  // Short unaligned rows, of which a warp handles many at once: the rows of several warps, and some more.
  for (const int64_t n : {1, 2, 3, 6, 9, 17, 28, 29, 31, 33, 47, 63, 65, 75, 111, 127, 129})
    for (const int64_t rows : {3, 70}) shapes.push_back({{rows, n}, {0, 1}, 0, {0, 1}, {}, true});
  shapes.push_back({{4099, 9}, {0, 1}, 0, {0, 1}});
  shapes.push_back({{50, 75}, {0, 1}, 2, {0, 1}, {}, true});
  shapes.push_back({{9, 7, 3, 5}, {0, 1, 2, 3}, 0, {0, 0, 1, 1}, {}, true});
  for (const int64_t n : {1, 2, 3, 4, 5, 8, 17, 32, 63, 64, 65, 100, 128, 255, 256, 257, 512, 1000, 1023, 1024, 2049}) {
    shapes.push_back({{3, n}, {0, 1}, 0, {0, 1}});
    shapes.push_back({{2, n}, {0, 1}, 4, {0, 1}});
    shapes.push_back({{n, 35}, {0, 1}, 0, {1, 0}});
    if (n <= 256) shapes.push_back({{n, 132}, {0, 1}, 0, {1, 0}});
  }
  // Also lengths that are multiples of an eighth of a power of two, and one element more; and a few long rows, as the
  // policy maps them. ScheduleBits compares other schedules of short rows with the policy's.
  for (const int64_t n : {40, 41, 192, 193, 897, 1280, 2561, 7168, 20481, 65540, 98305})
    for (const int64_t pad : {0, 1}) shapes.push_back({{2, n}, {0, 1}, pad, {0, 1}});
  shapes.push_back({{1, 3000}, {0, 1}, 0, {0, 1}});
  shapes.push_back({{4, 6, 5}, {0, 1, 2}, 0, {1, 0, 1}});
  shapes.push_back({{4, 6, 8}, {0, 1, 2}, 0, {1, 0, 1}});
  shapes.push_back({{5, 6, 64}, {0, 1, 2}, 0, {1, 0, 1}});
  shapes.push_back({{9, 6, 192}, {0, 1, 2}, 0, {1, 0, 1}});
  shapes.push_back({{40, 6, 8}, {2, 0, 1}, 0, {1, 0, 1}});
  shapes.push_back({{4, 60, 8}, {0, 1, 2}, 0, {0, 1, 0}});
  shapes.push_back({{5, 60, 68}, {0, 1, 2}, 0, {0, 1, 0}});
  shapes.push_back({{5, 33, 68}, {0, 1, 2}, 4, {0, 1, 0}});
  shapes.push_back({{30, 5, 68}, {0, 1, 2}, 0, {1, 0, 0}});
  shapes.push_back({{3, 4, 5, 36}, {0, 1, 2, 3}, 0, {1, 0, 1, 0}});
  shapes.push_back({{4, 6, 50}, {1, 0, 2}, 0, {0, 0, 1}});
  for (const PartitionStrategy strategy :
       {PartitionStrategy::PerPhase, PartitionStrategy::StoresApart, PartitionStrategy::Whole}) {
    shapes.push_back({{4, 6, 50}, {0, 1, 2}, 0, {1, 1, 1}, strategy});
    shapes.push_back({{4, 6, 64}, {0, 1, 2}, 0, {1, 1, 1}, strategy});
    shapes.push_back({{70, 130}, {0, 1}, 0, {1, 1}, strategy});
    for (const int64_t n : {1, 2, 64, 1025, 32768}) shapes.push_back({{n}, {0}, 0, {1}, strategy});
  }
  std::vector<ReduceCase> cases;
  for (const Shape& shape : shapes) {
    const std::string name = "case" + std::to_string(cases.size());
    cases.push_back(multi_phase_case(name, tensor(shape.sizes, shape.order, shape.pad, whole), shape.reduced));
    cases.back().strategy = shape.strategy;
    cases.back().use_many_rows_kernels = shape.use_many_rows_kernels;
    ir::verify(cases.back().graph);
  }
  const KernelLibrary library = library_of(cases, GetParam());
  ASSERT_TRUE(library.is_loaded());
  for (size_t c = 0; c < cases.size(); ++c) {
    const std::vector<Bytes> results = run(cases[c], GetParam(), library, random);
    const Expected expected = expected_of(cases[c].x, shapes[c].reduced);
    ASSERT_EQ(results.size(), 4u);
    const auto what = [&] {
      const Prepared prepared = cases[c].prepared();
      return print(cases[c].graph) + prepared.layouts[0].text() + "\n" +
             schedule_text(prepared.graph, prepared.outline, prepared.layouts, GetParam(), {});
    };
    for (size_t r = 0; r < expected.largest.size(); ++r) {
      const auto at = static_cast<int64_t>(r);
      ASSERT_EQ(element<float>(results[0], at), expected.largest[r]) << "row " << r << "\n" << what();
      ASSERT_EQ(element<int64_t>(results[1], at), expected.indices[r]) << "row " << r << "\n" << what();
      ASSERT_EQ(element<float>(results[2], at), expected.sums[r]) << "row " << r << "\n" << what();
    }
    for (size_t e = 0; e < expected.differences.size(); ++e)
      ASSERT_EQ(element<float>(results[3], static_cast<int64_t>(e)), expected.differences[e]) << "element " << e << "\n"
                                                                                              << what();
  }
}

/// An op on pairs, x and y of shape [rows, n, 2], where x0 is x[..., 0] and so on. Its results are sums over n: of the
/// products y0 * y1 for which x0 is positive, and of x1. If `has_several_phases`, its results are instead x0 * x1 minus
/// the maximum of these products in the row, and the sum of these differences.
ReduceCase pairs_case(const std::string& name, const Floats& x, bool has_several_phases) {
  Sketch sketch{name};
  const uint32_t first = sketch.add_param("x", DType::F32, 3), second = sketch.add_param("y", DType::F32, 3);
  ir::Graph& graph = sketch.graph;
  std::vector<ir::HostId> domain = graph.params[first].shape;
  domain.pop_back();
  const auto product = [&](uint32_t param) {
    return graph.add(Op::Mul, DType::F32, {sketch.corner(param, 0), sketch.corner(param, 1)});
  };
  const auto row = [&](ReduceKind kind, ir::NodeId operand) {
    const ir::HostId zero = graph.host.integer(0), one = graph.host.integer(1);
    const ir::NodeId reduction = graph.reduce(DType::F32, {kind, domain, {0, 1}}, operand);
    return graph.read(DType::F32,
                      {{ir::SourceRef::Kind::Reduce, 0}, {zero, zero}, {{domain[0], {{0, one}}}, {one, {}}}, {}},
                      {reduction});
  };
  const auto result = [&](ir::NodeId node) {
    std::vector<ir::HostId> rows = {domain[0], graph.host.integer(1)};
    sketch.result("out" + std::to_string(graph.results.size()), DType::F32, node, rows);
  };
  if (has_several_phases) {
    const ir::NodeId values = product(first);
    const ir::NodeId difference = graph.add(Op::Sub, DType::F32, {values, row(ReduceKind::Max, values)});
    result(row(ReduceKind::Sum, difference));
    sketch.result("difference", DType::F32, difference, domain);
  } else {
    const ir::NodeId zero = sketch.constant(DType::F32, 0.0);
    const ir::NodeId valid = graph.add(Op::Gt, DType::Bool, {sketch.corner(first, 0), zero});
    result(row(ReduceKind::Sum, graph.add(Op::Where, DType::F32, {valid, product(second), zero})));
    result(row(ReduceKind::Sum, sketch.corner(first, 1)));
  }
  ReduceCase test_case{name, std::move(graph), x};
  test_case.graph.name = name;
  ir::verify(test_case.graph);
  return test_case;
}

TEST_P(Reduce, GroupsOfNeighboursAreCorrect) {
  std::mt19937 random(3);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 21) - 10); };
  std::vector<ReduceCase> cases;
  for (const int64_t n : {1, 2, 3, 31, 64, 100, 1000, 1024, 3000, 9001})
    for (const int64_t rows : {1, 5})
      for (const bool has_several_phases : {false, true})
        cases.push_back(pairs_case("case" + std::to_string(cases.size()), tensor({rows, n, 2}, {0, 1, 2}, 0, whole),
                                   has_several_phases));
  const KernelLibrary library = library_of(cases, GetParam());
  ASSERT_TRUE(library.is_loaded());
  for (size_t c = 0; c < cases.size(); ++c) {
    const bool has_several_phases = c % 2 == 1;
    const std::vector<Bytes> results = run(cases[c], GetParam(), library, random);
    Floats x = cases[c].x;
    for (int64_t r = 0; r < x.extents.sizes[0]; ++r) {
      float largest = -std::numeric_limits<float>::infinity(), chosen = 0, second = 0, sum = 0;
      const int64_t n = x.extents.sizes[1];
      for (int64_t i = 0; i < n; ++i) {
        const float a = x.at({r, i, 0}), b = x.at({r, i, 1});
        largest = std::max(largest, a * b);
        sum += a * b;
        chosen += a > 0 ? a * b : 0;
        second += b;
      }
      const Prepared prepared = cases[c].prepared();
      const std::string what = schedule_text(prepared.graph, prepared.outline, prepared.layouts, GetParam(), {});
      ASSERT_EQ(element<float>(results[0], r), has_several_phases ? sum - static_cast<float>(n) * largest : chosen)
          << what;
      if (!has_several_phases) {
        ASSERT_EQ(element<float>(results[1], r), second) << what;
      }
      for (int64_t i = 0; has_several_phases && i < n; ++i)
        ASSERT_EQ(element<float>(results[1], r * n + i), x.at({r, i, 0}) * x.at({r, i, 1}) - largest) << i << what;
    }
  }
}

TEST_P(Reduce, QuotientsAreCorrectlyRounded) {
  std::mt19937 random(17);
  constexpr int64_t kRows = 4, kColumns = 1000;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> values = {0.0f,          -0.0f,  1.0f,    -1.0f, kInf, -kInf,
                               std::nanf(""), 1e-45f, -1e-39f, 3e38f, 0.5f, 1e-20f};
  const auto any = [&] { return std::bit_cast<float>(static_cast<uint32_t>(random())); };
  while (values.size() < kRows * kColumns / 2) values.push_back(any());
  std::uniform_real_distribution<float> some(-3, 3);
  while (values.size() < kRows * kColumns) values.push_back(some(random));
  size_t next = 0;
  const Floats x = tensor({kRows, kColumns}, {0, 1}, 0, [&] { return values[next++]; });
  ReduceGraphBuilder op(2, {0, 1});
  for (const float from : {1.0f, -1.0f, 0.0f}) {
    const ir::NodeId quotient = op.node(Op::Div, op.x(), op.node(Op::Sub, op.constant(from), op.x()));
    op.result(quotient, false);
    op.result(op.read(op.reduce(ReduceKind::Sum, quotient)), true);
  }
  ReduceCase test_case{"quotients", std::move(op.graph()), x};
  test_case.graph.name = test_case.name;
  const std::vector<ReduceCase> cases = {test_case};
  const KernelLibrary library = library_of(cases, GetParam());
  ASSERT_TRUE(library.is_loaded());
  const std::vector<Bytes> results = run(test_case, GetParam(), library, random);
  for (size_t r = 0; const float from : {1.0f, -1.0f, 0.0f}) {
    for (size_t i = 0; i < values.size(); ++i) {
      const float expected = values[i] / (from - values[i]);
      const auto actual = element<float>(results[r], static_cast<int64_t>(i));
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(actual)) << values[i];
      else
        ASSERT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected)) << values[i] << " from " << from;
    }
    r += 2;
  }
}

/// An op whose phases share a function of the elements: e / sum(e) + x with e = exp(x - max(x)). Its last phase needs x
/// in addition to the cached e.
ReduceCase cached_with_input_case(const std::string& name, const Floats& x) {
  ReduceGraphBuilder op(2, {0, 1});
  const ir::NodeId e = op.node(Op::Exp, op.node(Op::Sub, op.x(), op.read(op.reduce(ReduceKind::Max, op.x()))));
  op.result(op.node(Op::Add, op.node(Op::Div, e, op.read(op.reduce(ReduceKind::Sum, e))), op.x()), false);
  ReduceCase test_case{name, std::move(op.graph()), x};
  test_case.graph.name = name;
  return test_case;
}
/// An op whose phases share functions of the elements: sin(x) * t + exp(x) with t = sum(exp(x) * s + sin(x)) and
/// s = sum(exp(x)). Its second phase needs x again after the first phase has cached exp(x).
ReduceCase cached_in_turn_case(const std::string& name, const Floats& x) {
  ReduceGraphBuilder op(2, {0, 1});
  const ir::NodeId e = op.node(Op::Exp, op.x()), sine = op.node(Op::Sin, op.x());
  const ir::NodeId s = op.read(op.reduce(ReduceKind::Sum, e));
  const ir::NodeId terms = op.node(Op::Add, op.node(Op::Mul, e, s), sine);
  const ir::NodeId t = op.read(op.reduce(ReduceKind::Sum, terms));
  op.result(op.node(Op::Add, op.node(Op::Mul, sine, t), e), false);
  ReduceCase test_case{name, std::move(op.graph()), x};
  test_case.graph.name = name;
  return test_case;
}

// A phase must not store to memory that a later phase loads.
TEST_P(Reduce, ABatchHasRoomForInputsAndResults) {
  std::mt19937 random(23);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 41) - 20); };
  std::vector<ReduceCase> cases;
  for (const int64_t n : {3, 9, 33, 63, 75})
    for (const int64_t rows : {2, 37}) {
      ReduceGraphBuilder op(2, {0, 1});
      const ir::NodeId y = op.tensor("y"), z = op.tensor("z");
      const ir::NodeId doubled = op.node(Op::Add, op.x(), y), s = op.read(op.reduce(ReduceKind::Sum, doubled));
      const ir::NodeId m = op.read(op.reduce(ReduceKind::Max, op.node(Op::Sub, op.x(), s)));
      op.result(doubled, false);
      op.result(m, true);
      op.result(op.node(Op::Add, z, m), false);
      op.result(op.node(Op::Mul, z, s), false);
      op.result(op.node(Op::Sub, z, s), false);
      // Byte results need batches of many rows: longer rows would not fit.
      if (n < 30) op.result(op.graph().add(Op::Lt, DType::Bool, {op.x(), op.first_of_row()}), false);
      const std::string name = "case" + std::to_string(cases.size());
      cases.push_back({name, std::move(op.graph()), tensor({rows, n}, {0, 1}, 0, whole), {}, true});
      cases.back().graph.name = name;
      ir::verify(cases.back().graph);
      const Prepared prepared = cases.back().prepared();
      const Schedule chosen = schedules(prepared.graph, prepared.outline, prepared.layouts, GetParam(), {})[0];
      EXPECT_EQ(chosen.residency.batch > 0, GetParam().cuda()) << print(chosen, prepared.outline.kernels[0]);
    }
  const KernelLibrary library = library_of(cases, GetParam());
  ASSERT_TRUE(library.is_loaded());
  for (const ReduceCase& test_case : cases) {
    const std::vector<Bytes> results = run(test_case, GetParam(), library, random);
    Floats x = test_case.x;
    const int64_t n = x.extents.sizes[1];
    for (int64_t r = 0; r < x.extents.sizes[0]; ++r) {
      float sum = 0, maximum = -std::numeric_limits<float>::infinity();
      for (int64_t i = 0; i < n; ++i) sum += 2 * x.at({r, i});
      for (int64_t i = 0; i < n; ++i) maximum = std::max(maximum, x.at({r, i}) - sum);
      ASSERT_EQ(element<float>(results[1], r), maximum);
      for (int64_t i = 0; i < n; ++i) {
        const std::string location = fmt::format("{}, {} of {}", r, i, n);
        const int64_t at = r * n + i;
        const float value = x.at({r, i});
        ASSERT_EQ(element<float>(results[0], at), 2 * value) << location;
        ASSERT_EQ(element<float>(results[2], at), value + maximum) << location;
        ASSERT_EQ(element<float>(results[3], at), value * sum) << location;
        ASSERT_EQ(element<float>(results[4], at), value - sum) << location;
        if (results.size() == 5) continue;
        ASSERT_EQ(element<bool>(results[5], at), value < x.at({r, 0})) << location;
      }
    }
  }
}

TEST_P(Reduce, CachedValuesAreCorrect) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<ReduceCase> cases;
  for (const int64_t n : {20, 1023, 1024, 4096, 20000}) {
    const std::vector<size_t> along = {0, 1}, across = {1, 0};
    for (const std::vector<size_t>& order : {along, across}) {
      const Floats x = tensor({2, n}, order, 0, [&] { return normal(random); });
      const std::string name = std::to_string(n) + (order == along ? "" : "across");
      cases.push_back(cached_with_input_case("beside" + name, x));
      cases.push_back(cached_in_turn_case("after" + name, x));
    }
  }
  for (const int64_t n : {9, 75}) {
    const Floats x = tensor({2, n}, {0, 1}, 0, [&] { return normal(random); });
    cases.push_back(cached_with_input_case("beside_many" + std::to_string(n), x));
    cases.push_back(cached_in_turn_case("after_many" + std::to_string(n), x));
    for (const size_t back : {1, 2}) cases[cases.size() - back].use_many_rows_kernels = true;
  }
  const KernelLibrary library = library_of(cases, GetParam());
  ASSERT_TRUE(library.is_loaded());
  for (size_t c = 0; c < cases.size(); ++c) {
    const std::vector<Bytes> results = run(cases[c], GetParam(), library, random);
    Floats x = cases[c].x;
    const int64_t n = x.extents.sizes[1];
    for (int64_t r = 0; r < 2; ++r) {
      const auto sum = [&](auto f) {
        double total = 0;
        for (int64_t i = 0; i < n; ++i) total += f(double{x.at({r, i})});
        return total;
      };
      double m = -std::numeric_limits<double>::infinity();
      for (int64_t i = 0; i < n; ++i) m = std::max(m, double{x.at({r, i})});
      const double s = sum([&](double v) { return std::exp(v - m); }), all = sum([](double v) { return std::exp(v); });
      const double t = sum([&](double v) { return std::exp(v) * all + std::sin(v); });
      for (int64_t i = 0; i < n; ++i) {
        const double v = x.at({r, i});
        const double expected = c % 2 == 0 ? std::exp(v - m) / s + v : std::sin(v) * t + std::exp(v);
        ASSERT_NEAR(element<float>(results[0], r * n + i), expected, 1e-5 * (1 + std::abs(c % 2 == 0 ? v : t)))
            << cases[c].name << " at " << r << ", " << i;
      }
    }
  }
}

TEST_P(Reduce, PositionsCountAlongTheDomain) {
  struct Shape {
    ir::Sizes sizes;
    std::vector<size_t> order;
    ir::DimMarks reduced;
    PartitionStrategy strategy = PartitionStrategy::Whole;
    bool use_many_rows_kernels = false;
  };
  const std::vector<Shape> shapes = {{{70, 9}, {0, 1}, {0, 1}, {}, true},
                                     {{3, 129}, {0, 1}, {0, 1}},
                                     {{2, 4096}, {0, 1}, {0, 1}},
                                     {{2, 2561}, {0, 1}, {0, 1}},
                                     {{300, 35}, {0, 1}, {1, 0}},
                                     {{64, 132}, {1, 0}, {0, 1}},
                                     {{4, 6, 64}, {0, 1, 2}, {1, 0, 1}},
                                     {{5, 60, 68}, {0, 1, 2}, {0, 1, 0}},
                                     {{40, 6, 8}, {2, 0, 1}, {1, 0, 1}},
                                     {{4, 6, 50}, {0, 1, 2}, {1, 1, 1}, PartitionStrategy::PerPhase},
                                     {{70, 130}, {0, 1}, {1, 1}, PartitionStrategy::Whole}};
  std::vector<ReduceCase> cases;
  for (const Shape& shape : shapes) {
    ReduceGraphBuilder op(shape.sizes.size(), shape.reduced);
    ir::HostPool& host = op.graph().host;
    std::vector<ir::AccessDim> dims(shape.sizes.size());
    ir::HostId step = host.integer(1);
    for (size_t d = dims.size(); d-- > 0; step = host.make(ir::HostOp::Mul, {step, op.shape()[d]}))
      dims[d] = {op.shape()[d], {{0, step}}};
    const ir::NodeId position = op.graph().add(Op::Cast, DType::F32, {op.graph().index(std::move(dims))});
    const ir::NodeId moved = op.node(Op::Add, op.x(), position), last = op.read(op.reduce(ReduceKind::Max, moved));
    op.result(last, true);
    op.result(op.node(Op::Sub, moved, last), false);
    ReduceCase test_case{"case" + std::to_string(cases.size()), std::move(op.graph()),
                         tensor(shape.sizes, shape.order, 0, [] { return 0.0f; })};
    test_case.graph.name = test_case.name;
    test_case.strategy = shape.strategy;
    test_case.use_many_rows_kernels = shape.use_many_rows_kernels;
    ir::verify(test_case.graph);
    cases.push_back(std::move(test_case));
  }
  const KernelLibrary library = library_of(cases, GetParam());
  ASSERT_TRUE(library.is_loaded());
  std::mt19937 random(11);
  for (size_t c = 0; c < cases.size(); ++c) {
    const std::vector<Bytes> results = run(cases[c], GetParam(), library, random);
    ASSERT_EQ(results.size(), 2u);
    const ir::Sizes& sizes = shapes[c].sizes;
    const ir::Sizes steps = ir::contiguous_strides(sizes);
    int64_t e = 0;
    for_each_index(sizes, [&](const std::vector<int64_t>& index) {
      // The distance of an element's position from the last one of its row.
      int64_t distance = 0, row = 0, at_end = 0;
      for (size_t d = 0; d < sizes.size(); ++d) {
        const int64_t end = shapes[c].reduced[d] ? sizes[d] - 1 : index[d];
        distance += (index[d] - end) * steps[d];
        at_end += end * steps[d];
        if (!shapes[c].reduced[d]) row = row * sizes[d] + index[d];
      }
      ASSERT_EQ(element<float>(results[0], row), static_cast<float>(at_end)) << cases[c].name;
      ASSERT_EQ(element<float>(results[1], e++), static_cast<float>(distance)) << cases[c].name << " " << e;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Reduce, testing::Values(kCpu, kCuda), name_of_target);

}  // namespace
}  // namespace ingot::codegen
