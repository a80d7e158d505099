#include <algorithm>
#include <set>
#include <string>

#include "tests/frontend/tensor_testing.h"

// Random numbers: the indices of samples (one sample is one call of a random function), and the positions of their
// elements.

namespace ingot::frontend {
namespace {

/// The index of the sample of each RandomWord node that the results need.
std::multiset<int64_t> sample_indices_of(const ir::Graph& graph) {
  std::multiset<int64_t> indices;
  const std::vector<bool> live = graph.live();
  for (uint32_t i = 0; i < graph.count(); ++i)
    if (live[i] && graph[{i}].op == ir::Op::RandomWord)
      indices.insert(graph.host.value(graph.host_of(graph[{i}].args[1])).as_int());
  return indices;
}

using SampleIndices = std::multiset<int64_t>;

TEST(Random, NumbersSamplesInOrderOfEvaluation) {
  const LoweringCase call({"f32:100x64"}), with_number({"f32:100x64", "float=0.5"});
  EXPECT_EQ(sample_indices_of(call.lower("torch.rand_like(x)")), (SampleIndices{0}));
  EXPECT_EQ(sample_indices_of(call.lower("torch.rand_like(x) + torch.rand_like(x)")), (SampleIndices{0, 1}));
  EXPECT_EQ(sample_indices_of(call.lower("def f(x):\n    u = torch.rand_like(x)\n    return u * u.t().t()")),
            (SampleIndices{0}));
  EXPECT_EQ(sample_indices_of(call.lower("torch.randn_like(x) + torch.rand_like(x)")), (SampleIndices{0, 0, 1}));
  // A dropout with p = 0 uses no random numbers, but its sample is counted, as if p were known only at run time.
  EXPECT_EQ(sample_indices_of(call.lower("F.dropout(x, 0.0) + F.dropout(x, 0.5)")), (SampleIndices{1}));
  EXPECT_EQ(sample_indices_of(with_number.lower("def f(x, p: float): return F.dropout(x, p) + F.dropout(x, p)")),
            (SampleIndices{0, 1}));
}

TEST(Random, AddsASeedOnlyToOpsWithRandomNumbers) {
  const LoweringCase call({"f32:100x64"});
  EXPECT_FALSE(call.lower("F.dropout(x, 0.5, training=False)").seed);
  EXPECT_FALSE(call.lower("F.rrelu(x)").seed);
  const ir::Graph graph = call.lower("def f(seed): return F.dropout(seed, 0.5)");
  ASSERT_TRUE(graph.seed);
  EXPECT_EQ(*graph.seed, 1u);
  EXPECT_EQ(graph.params[1].name, "seed_");
  // Also if the sample is not used: the op's source in eager takes a seed for it too.
  EXPECT_TRUE(call.lower("def f(x):\n    torch.rand_like(x)\n    return x * 2").seed);
}

TEST(Random, ViewsKeepASinglePositionIndex) {
  for (const char* text :
       {"torch.rand_like(x)", "torch.rand_like(x).t()", "torch.rand_like(x)[3:, ::2].flip(0)",
        "torch.rand_like(x).flatten() + x.flatten()", "torch.rand_like(x).unsqueeze(0).expand(5, -1, -1)",
        "torch.rand(x.numel()).view_as(x) * x", "torch.rand_like(x).diagonal()", "torch.rand_like(x).sum(0)"}) {
    const ir::Graph graph = LoweringCase({"f32:100x64"}).lower(text);
    size_t indices = 0;
    const std::vector<bool> live = graph.live();
    for (uint32_t i = 0; i < graph.count(); ++i) {
      if (!live[i]) continue;
      indices += graph[{i}].op == ir::Op::Index;
      EXPECT_FALSE(graph[{i}].op == ir::Op::FloorDivide || graph[{i}].op == ir::Op::Remainder) << text << "\n"
                                                                                               << ir::print(graph);
    }
    EXPECT_EQ(indices, 1u) << text << "\n" << ir::print(graph);
  }
}

}  // namespace
}  // namespace ingot::frontend
