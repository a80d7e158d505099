#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "frontend/frontend.h"
#include "frontend/library/library.h"
#include "ir/graph.h"

namespace ingot::frontend {
namespace {

/// Primitives without a derivative rule: PyTorch has no derivative for them, or they occur only inside functions that
/// have a rule themselves. `where` has no rule, because differentiate.cpp propagates through it.
const std::set<ir::Op> kWithoutRule = {
    ir::Op::Nextafter,         ir::Op::ScaledErfc,         ir::Op::AirySeries,         ir::Op::ChebyshevRecurrence,
    ir::Op::HermiteRecurrence, ir::Op::LaguerreRecurrence, ir::Op::LegendreRecurrence, ir::Op::Where};

TEST(Gradient, HasARuleForEveryFloatingPrimitive) {
  for (const ir::OpInfo& row : ir::primitives()) {
    const bool is_float = row.accepts.floating && row.rule != ir::Rule::Compare && row.rule != ir::Rule::Logical;
    std::string name(row.name);
    name.erase(0, name.find_first_not_of('_'));
    const bool has_rule = find_library_function("_" + name + "_backward") != nullptr;
    EXPECT_EQ(has_rule, is_float && !kWithoutRule.contains(row.op)) << row.id;
  }
}

ir::Graph lowered(const Definition& definition, const std::vector<std::vector<int64_t>>& shapes,
                  uint64_t gradients = 0) {
  Signature signature;
  signature.gradients = gradients;
  for (const std::vector<int64_t>& shape : shapes) {
    ArgumentSpec spec;
    spec.rank = static_cast<uint8_t>(shape.size());
    for (size_t d = 0; d < shape.size(); ++d) spec.ones |= uint64_t{shape[d] == 1} << d;
    signature.arguments.push_back(spec);
  }
  const SymbolValues symbol_values{[&](uint32_t param, uint32_t dim) { return shapes[param][dim]; },
                                   [](uint32_t) { return ir::HostValue::of(int64_t{0}); }};
  return lower(definition, signature, symbol_values);
}

size_t count(const ir::Graph& graph, ir::Op op) {
  size_t total = 0;
  const std::vector<bool> live = graph.live();
  for (uint32_t i = 0; i < graph.count(); ++i) total += live[i] && graph[{i}].op == op;
  return total;
}

std::shared_ptr<const Definition> gradient(const std::string& text, std::vector<bool> requested) {
  return backward(define(text), std::move(requested), 1);
}

TEST(Gradient, ComputesOnlyRequestedGradients) {
  const std::string text = "def f(x, w):\n    return x.exp() * w\n";
  const ir::Graph w_gradient = lowered(*gradient(text, {false, true}), {{4, 5}, {5}, {4, 5}});
  EXPECT_EQ(w_gradient.results.size(), 1u);
  EXPECT_EQ(count(w_gradient, ir::Op::Reduce), 1u);
  const ir::Graph x_gradient = lowered(*gradient(text, {true, false}), {{4, 5}, {5}, {4, 5}});
  EXPECT_EQ(count(x_gradient, ir::Op::Reduce), 0u);
}

TEST(Gradient, ConcatenatesTheGradientsOfChunks) {
  const ir::Graph graph =
      lowered(*gradient("def f(x):\n    a, b = x.chunk(2, -1)\n    return a * b\n", {true}), {{4, 12}, {4, 6}});
  EXPECT_EQ(graph.results[0].blocks.size(), 2u);
  EXPECT_EQ(count(graph, ir::Op::Add), 0u);
}

TEST(Gradient, RecordsForEachResultWhichGradientsExist) {
  const auto definition = define("def f(x, y):\n    return x * 2, (x > y).float(), x.detach() + y, y.argmax(-1)\n");
  const ir::Graph graph = lowered(*definition, {{4, 5}, {4, 5}});
  std::vector<uint64_t> gradients;
  for (const ir::Result& result : graph.results) gradients.push_back(result.gradients);
  EXPECT_EQ(gradients, (std::vector<uint64_t>{0b01, 0, 0b10, 0}));
}

/// The graph of an op for recorded calls (Signature::gradients) that need gradients with respect to all arguments, so
/// its last results are the residuals.
ir::Graph with_residuals(const std::string& text, const std::vector<std::vector<int64_t>>& shapes) {
  static std::vector<std::shared_ptr<const Definition>> definitions;  // graphs refer to their sources
  definitions.push_back(define(text));
  return lowered(*definitions.back(), shapes, ~uint64_t{0});
}

std::vector<std::string> residual_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Result& result : graph.results)
    if (result.use == ir::Use::Residual) names.push_back(result.name);
  return names;
}

TEST(Gradient, SavesRowStatistics) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(residual_names(with_residuals("x.softmax(1)", {{4, 50}})), (Names{"row_max", "row_sum"}));
  EXPECT_EQ(
      residual_names(with_residuals("def f(x):\n    m = x.mean(1, keepdim=True)\n    return (x - m) * m\n", {{4, 50}})),
      Names{"row_value"});
  EXPECT_EQ(residual_names(with_residuals("(x * w).sum() / w.sum()", {{4, 50}, {4, 50}})),
            (Names{"row_sum", "row_value"}));
  for (const char* text : {"x * 2", "x.sum(1)", "x - x.mean(1, keepdim=True)"})
    EXPECT_EQ(residual_names(with_residuals(text, {{4, 50}})), Names{}) << text;
}

/// The gradient compares a saved extreme with the sums from which it was taken, so the sums are saved as well.
TEST(Gradient, SavesTheSumsThatASavedExtremeWasTakenFrom) {
  EXPECT_EQ(residual_names(with_residuals("x.sum(0).amax()", {{40, 50}})),
            (std::vector<std::string>{"row_sum", "row_max"}));
}

TEST(Gradient, TreatsSizesThatAnAssertEquatesAsOne) {
  const std::string text = "    return (x * x).sum(0), y.sum(0) + x.size(0) - y.size(0)\n";
  const auto printed_graph = [&](const std::string& before) {
    return print(with_residuals("def f(x, y):\n" + before + text, {{40, 50}, {40, 50}}));
  };
  const std::string known = printed_graph("    assert x.size(0) == y.size(0)\n");
  EXPECT_EQ(known.find("x.size(0) - y.size(0)"), std::string::npos) << known;
  EXPECT_NE(printed_graph("").find("x.size(0)"), std::string::npos);
  const ir::Graph graph =
      with_residuals("def f(x, y):\n    assert x.size(0) == y.size(0)\n    return x + 1\n", {{40}, {40}});
  ASSERT_EQ(graph.conditions.size(), 1u);
  EXPECT_EQ(graph.conditions[0].kind, ir::Condition::Kind::Equal);
}

TEST(Gradient, ReadsResidualsInsteadOfRows) {
  const auto forward = define("x.softmax(1)");
  const std::vector<std::string> names = residual_names(lowered(*forward, {{4, 50}}, 1));
  const auto gradient = backward(forward, {true}, 1, {}, false, {.gradients = 1, .names = names});
  const ir::Graph graph = lowered(*gradient, {{4, 50}, {4, 50}, {4, 1}, {4, 1}});
  EXPECT_EQ(count(graph, ir::Op::Reduce), 1u);  // over the incoming gradient
  EXPECT_EQ(graph.params[2].name, "row_max");
  const auto without_residuals = backward(forward, {true}, 1);
  EXPECT_EQ(count(lowered(*without_residuals, {{4, 50}, {4, 50}}), ir::Op::Reduce), 3u);
}

TEST(Gradient, RecomputesRowsIfTheResidualsDiffer) {
  const auto forward = define("x.softmax(1)");
  const auto gradient = backward(forward, {true}, 1, {}, false, {.gradients = 1, .names = {"row_mean"}});
  const ir::Graph graph = lowered(*gradient, {{4, 50}, {4, 50}, {4, 1}});
  EXPECT_EQ(count(graph, ir::Op::Reduce), 3u);
}

TEST(Gradient, GivesACustomBackwardItsOwnStorage) {
  const std::string text =
      "def f(x, w):\n    return x * w.sum(-1, keepdim=True)\n"
      "def f_backward(grad, x, w):\n    w += 1\n    grad *= 2\n    return grad * w.sum(-1, keepdim=True), grad * x\n";
  const ir::Graph graph = with_residuals(text, {{4, 50}, {4, 50}});
  ir::verify(graph);
  for (const ir::Result& result : graph.results) EXPECT_FALSE(result.mutates);
}

/// The gradient, with respect to the table, of an op on a table [9, 4, 3] and int64 indices [5], whose result has the
/// shape `result_shape`.
ir::Graph gather_gradient(const std::string& text, std::vector<int64_t> result_shape, bool may_scatter) {
  const std::vector<std::vector<int64_t>> shapes{{9, 4, 3}, {5}, std::move(result_shape)};
  Signature signature;
  signature.may_scatter = may_scatter;
  for (const auto& shape : shapes) {
    ArgumentSpec& spec = signature.arguments.emplace_back();
    spec.rank = static_cast<uint8_t>(shape.size());
    for (size_t d = 0; d < shape.size(); ++d) spec.ones |= uint64_t{shape[d] == 1} << d;
  }
  signature.arguments[1].dtype = ir::DType::I64;
  const SymbolValues symbol_values{[&](uint32_t param, uint32_t dim) { return shapes[param][dim]; },
                                   [](uint32_t) { return ir::HostValue::of(int64_t{0}); }};
  ir::Graph graph = lower(*backward(define(text), {true, false}, 1), signature, symbol_values);
  ir::verify(graph);
  return graph;
}

TEST(Gradient, MakesARepeatedGatherAScatterAdd) {
  const ir::Graph graph = gather_gradient("def f(t, k):\n    return t[k] * 2\n", {5, 4, 3}, true);
  ASSERT_EQ(graph.results.size(), 3u);
  const ir::Result& sum = graph.results[0];
  ASSERT_EQ(sum.scatters.size(), 1u);
  EXPECT_FALSE(sum.addend);
  EXPECT_EQ(sum.gradients, graph.results[1].gradients);
  EXPECT_EQ(sum.scatters[0].scattered_dims, std::vector<uint32_t>{0});
  EXPECT_EQ(sum.scatters[0].copied_dims, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(graph.results[sum.scatters[0].values].shape.size(), 3u);
  EXPECT_EQ(graph.results[sum.scatters[0].positions].shape.size(), 1u);
  EXPECT_EQ(count(graph, ir::Op::Reduce), 0u);
}

TEST(Gradient, CopiesDimsThatAGatherKeeps) {
  const ir::Graph graph = gather_gradient("def f(t, k):\n    return t[:, k, 1:]\n", {9, 5, 2}, true);
  ASSERT_EQ(graph.results[0].scatters.size(), 1u);
  EXPECT_EQ(graph.results[0].scatters[0].scattered_dims, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(graph.results[0].scatters[0].copied_dims, std::vector<uint32_t>{0});
}

TEST(Gradient, AddsReadsWithoutAGatherToTheScatterAdd) {
  const ir::Graph graph = gather_gradient("def f(t, k):\n    return t[k] * t[:5] + t[k - 1]\n", {5, 4, 3}, true);
  EXPECT_EQ(graph.results[0].scatters.size(), 2u);
  ASSERT_TRUE(graph.results[0].addend);
  EXPECT_EQ(graph.results[*graph.results[0].addend].use, ir::Use::Summed);
}

TEST(Gradient, MakesNoScatterAddIfNoElementIsReadTwice) {
  const ir::Graph graph =
      gather_gradient("def f(t, k):\n    return t[:5].gather(1, k[:, None, None])\n", {5, 1, 1}, true);
  EXPECT_EQ(graph.results.size(), 1u);
  EXPECT_EQ(count(graph, ir::Op::Reduce), 0u);
}

TEST(Gradient, ComparesIndicesOfASmallGatherWithoutScatterAdds) {
  const ir::Graph graph = gather_gradient("def f(t, k):\n    return t[k] * 2\n", {5, 4, 3}, false);
  EXPECT_EQ(graph.results.size(), 1u);
  EXPECT_EQ(count(graph, ir::Op::Reduce), 1u);
  EXPECT_EQ(std::ranges::count(graph.conditions, ir::Condition::Kind::Affordable, &ir::Condition::kind), 1);
}

TEST(Gradient, SumsDimsWithoutAnIndexFirst) {
  const std::string text = "def f(t, k):\n    return t[0, 0, k % 3, None].expand(5, 7)\n";
  EXPECT_EQ(count(gather_gradient(text, {5, 7}, false), ir::Op::Reduce), 2u)
      << "one reduction along the expanded dim, then one that compares the indices";
  EXPECT_EQ(count(gather_gradient(text, {5, 7}, true), ir::Op::Reduce), 1u);
}

}  // namespace
}  // namespace ingot::frontend
