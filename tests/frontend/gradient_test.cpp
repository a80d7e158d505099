#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "frontend/frontend.h"
#include "frontend/library/library.h"
#include "ir/graph.h"

namespace ingot::frontend {
namespace {

/// Those that PyTorch has no derivative of, or that only stand in functions with one of their own; and `where`, whose
/// arms differentiate.cpp guards.
const std::set<ir::Op> kWithoutRule = {
    ir::Op::Nextafter,         ir::Op::ScaledErfc,         ir::Op::AirySeries,         ir::Op::ChebyshevRecurrence,
    ir::Op::HermiteRecurrence, ir::Op::LaguerreRecurrence, ir::Op::LegendreRecurrence, ir::Op::Where};

TEST(Gradient, EveryFloatingPrimitiveHasARule) {
  for (const ir::OpInfo& row : ir::primitives()) {
    const bool is_float = row.accepts.floating && row.rule != ir::Rule::Compare && row.rule != ir::Rule::Logical;
    std::string name(row.name);
    name.erase(0, name.find_first_not_of('_'));
    const bool has_rule = find_library_function("_" + name + "_backward") != nullptr;
    EXPECT_EQ(has_rule, is_float && !kWithoutRule.contains(row.op)) << row.id;
  }
}

ir::Graph lowered(const Definition& definition, const std::vector<std::vector<int64_t>>& shapes) {
  Signature signature;
  for (const std::vector<int64_t>& shape : shapes) {
    ArgumentFact fact;
    fact.rank = static_cast<uint8_t>(shape.size());
    for (size_t d = 0; d < shape.size(); ++d) fact.ones |= uint64_t{shape[d] == 1} << d;
    signature.arguments.push_back(fact);
  }
  const Actuals actuals{[&](uint32_t param, uint32_t dim) { return shapes[param][dim]; },
                        [](uint32_t) { return ir::HostValue::of(int64_t{0}); }};
  return lower(definition, signature, actuals);
}

size_t count(const ir::Graph& graph, ir::Op op) {
  size_t found = 0;
  const std::vector<bool> live = graph.live();
  for (uint32_t i = 0; i < graph.count(); ++i) found += live[i] && graph[{i}].op == op;
  return found;
}

std::shared_ptr<const Definition> gradient(const std::string& text, std::vector<bool> wanted) {
  return backward(define(text), std::move(wanted), 1);
}

TEST(Gradient, OnlyWhatIsAskedForIsComputed) {
  const std::string text = "def f(x, w):\n    return x.exp() * w\n";
  const ir::Graph of_w = lowered(*gradient(text, {false, true}), {{4, 5}, {5}, {4, 5}});
  EXPECT_EQ(of_w.results.size(), 1u);
  EXPECT_EQ(count(of_w, ir::Op::Reduce), 1u);
  const ir::Graph of_x = lowered(*gradient(text, {true, false}), {{4, 5}, {5}, {4, 5}});
  EXPECT_EQ(count(of_x, ir::Op::Reduce), 0u);
}

TEST(Gradient, BlocksOfAnArgumentArePartsOfItsGradient) {
  const ir::Graph graph =
      lowered(*gradient("def f(x):\n    a, b = x.chunk(2, -1)\n    return a * b\n", {true}), {{4, 12}, {4, 6}});
  EXPECT_EQ(graph.results[0].parts.size(), 2u);
  EXPECT_EQ(count(graph, ir::Op::Add), 0u);
}

TEST(Gradient, IsKnownOfEachResultBeforehand) {
  const auto definition = define("def f(x, y):\n    return x * 2, (x > y).float(), x.detach() + y, y.argmax(-1)\n");
  const ir::Graph graph = lowered(*definition, {{4, 5}, {4, 5}});
  std::vector<uint64_t> found;
  for (const ir::Result& result : graph.results) found.push_back(result.gradients);
  EXPECT_EQ(found, (std::vector<uint64_t>{0b01, 0, 0b10, 0}));
}

}  // namespace
}  // namespace ingot::frontend
