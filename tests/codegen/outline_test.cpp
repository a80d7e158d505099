// The kernels into which an op is partitioned. Nodes that share rows are in one kernel. Nodes that read rows in another
// way are in a later kernel, and the outline records the reason.

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "tests/codegen/ops.h"

namespace ingot::codegen {
namespace {

struct Row {
  std::string text;
  std::vector<uint8_t> ranks;
  std::vector<uint32_t> phases;  ///< for each kernel, how often it traverses its elements
  size_t workspaces;
};

void expect_kernels(const Row& row, PartitionStrategy strategy) {
  const auto definition = frontend::define(row.text);
  const ir::Graph graph = graph_of(*definition, row.ranks);
  const Outline result = partition(graph, strategy).outline;
  std::vector<uint32_t> phases;
  for (const KernelOutline& kernel : result.kernels) phases.push_back(kernel.phases());
  EXPECT_EQ(phases, row.phases) << row.text;
  EXPECT_EQ(result.workspaces.size(), row.workspaces) << row.text;
}

TEST(Outline, FusesNodesThatShareRows) {
  const std::vector<Row> rows = {
      {"x + 1", {2}, {1}, 0},
      {"x.sum(1)", {2}, {1}, 0},
      {"x.sum(1) * y + 1", {2, 1}, {1}, 0},
      {"x.softmax(1)", {2}, {3}, 0},
      {"x.t().softmax(0)", {2}, {3}, 0},
      {"x.softmax(1).t()", {2}, {3}, 0},
      {"(x.sum(1), x.amax(1), x.mean(1, keepdim=True) - x)", {2}, {2}, 0},
      {"(x + y, (x + y).sum(1))", {2, 2}, {1}, 0},
      {"x.var(1)", {2}, {1}, 0},
      // No rows and no operands in common.
      {"(x.sum(1), y + 1)", {2, 2}, {1, 1}, 0},
      {"(x.sum(0), x.sum(1))", {2}, {1, 1}, 0},
      // The reduction is not read by rows.
      {"x.sum(1).sum()", {2}, {1, 1}, 1},
      {"(x - x.mean(1, keepdim=True)).sum(0)", {2}, {1, 1}, 1},
      {"x.sum(1)[2:]", {2}, {1, 1}, 1},
      {"x / x.sum()", {2}, {2}, 0},
      {"x.var()", {2}, {1}, 0},
      {"(x - x.mean()).square().sum()", {2}, {2}, 0},
      {"x.softmax(0)", {1}, {3}, 0},
  };
  for (const Row& row : rows) expect_kernels(row, PartitionStrategy::Whole);
}

TEST(Outline, DividesPhasesAmongKernels) {
  const std::vector<Row> rows = {
      {"x / x.sum()", {2}, {1, 1}, 1},
      {"x.var()", {2}, {1}, 0},
      {"(x - x.mean()).square().sum()", {2}, {1, 1}, 1},
      {"(x - x.mean(1, keepdim=True)).square().sum(1)", {2}, {1, 1}, 1},
      {"x.softmax(0)", {1}, {1, 1, 1}, 2},
      {"x.softmax(1)", {2}, {1, 1, 1}, 2},
      // Values with one element per row, and elements that wait for no reduction, need no other kernel.
      {"(x + 1, x.sum(1).sqrt(), x.amax(1))", {2}, {1}, 0},
      {"(x.sum(1) * 2, x / x.sum(1, keepdim=True), x - x.amax(1, keepdim=True))", {2}, {1, 1}, 2},
  };
  for (const Row& row : rows) expect_kernels(row, PartitionStrategy::PerPhase);
}

// How many values the kernels load from workspaces, and how many row values they compute for later kernels.
TEST(Outline, StoresRowValues) {
  struct StoredRow {
    std::string text;
    std::vector<uint8_t> ranks;
    std::vector<std::pair<size_t, size_t>> kernels;  ///< loads of workspaces, and row values
    PartitionStrategy strategy = PartitionStrategy::PerPhase;
  };
  const std::vector<StoredRow> rows = {
      {"x / x.sum(1, keepdim=True)", {2}, {{0, 0}, {1, 0}}},
      {"x * (1 / (x.sum(1, keepdim=True) + x.amax(1, keepdim=True)))", {2}, {{0, 1}, {1, 0}}},
      {"F.layer_norm(x, x.shape[1:])", {2}, {{0, 3}, {3, 0}}},  // mean, its rounding error, reciprocal of the deviation
      {"x * -x.sum(1, keepdim=True)", {2}, {{0, 0}, {1, 0}}},   // as cheap as the load of another value
      {"x * x.sum(1, keepdim=True).exp() + y[:, :1]", {2, 2}, {{0, 1}, {1, 0}}},
      {"x * (x.sum(1, keepdim=True) * y[:, :1])", {2, 2}, {{0, 1}, {1, 0}}},
      {"x * (x.sum(1, keepdim=True) * y)", {2, 2}, {{0, 0}, {1, 0}}},                        // varies along the rows
      {"x * x.sum(1, keepdim=True).exp() * x.sum(0).exp()", {2}, {{0, 1}, {0, 1}, {2, 0}}},  // of rows of two kinds
      {"(x - x.mean(1, keepdim=True)) / (x - x.mean(1, keepdim=True)).square().mean(1, keepdim=True).sqrt()",
       {2},
       {{0, 1}, {1, 1}, {2, 0}}},
      {"(x * x.sum(1, keepdim=True).exp(), x.sum(1).exp() + 1)", {2}, {{0, 1}, {1, 0}}},
      {"x + x.sum(1, keepdim=True).exp()[:1]", {2}, {{0, 0}, {1, 0}}},  // of another row
      // Phases that reduce are in one kernel, and compute what they read themselves.
      {"(x - x.mean(1, keepdim=True)) / (x - x.mean(1, keepdim=True)).square().mean(1, keepdim=True).sqrt()",
       {2},
       {{0, 2}, {2, 0}},
       PartitionStrategy::StoresApart},
      {"x.log_softmax(1)", {2}, {{0, 1}, {2, 0}}, PartitionStrategy::StoresApart},
      {"x.log_softmax(1)", {2}, {{0, 0}}, PartitionStrategy::Whole},
      // The author's own maximum of equal values is a reduction like any other.
      {"x - (x.sum(1, keepdim=True) * 2).expand(x.shape).amax(1, keepdim=True)", {2}, {{0, 0}, {1, 0}, {1, 0}}},
      {"(x.sum(1, keepdim=True) * 2).expand(x.shape).amax(1)", {2}, {{0, 0}, {1, 0}}},
  };
  for (const StoredRow& row : rows) {
    const auto definition = frontend::define(row.text);
    const ir::Graph graph = graph_of(*definition, row.ranks);
    std::vector<std::pair<size_t, size_t>> kernels;
    for (const KernelOutline& kernel : partition(graph, row.strategy).outline.kernels) {
      const auto loads = std::ranges::count_if(
          kernel.accesses, [](const AccessUse& use) { return use.in_workspace && use.kind == AccessUse::Kind::Load; });
      kernels.emplace_back(loads, kernel.row_values.size());
    }
    EXPECT_EQ(kernels, row.kernels) << row.text;
  }
}

TEST(Outline, PlacesLateReductionsWithOutputBlocks) {
  struct LateRow {
    std::string text;
    std::vector<std::pair<size_t, size_t>> kernels;  ///< for each kernel, the numbers of its reductions and of its
                                                     ///< output blocks
  };
  const std::vector<LateRow> rows = {
      {"((x * y).sum(), x * y / y.sum())", {{1, 0}, {1, 2}}},
      {"((x * y).sum() / y.sum(), x * y / y.sum())", {{1, 0}, {1, 2}}},
      {"((x * y).sum(), x.sum(), x * y / y.sum())", {{1, 0}, {2, 3}}},
      {"((x * y).sum(), x.amax(), x / y.sum())", {{2, 1}, {1, 2}}},
      {"((x * y).sum(), x / y.sum())", {{2, 1}, {0, 1}}},
      {"(x.sum(), x / x.amax() + y)", {{2, 1}, {0, 1}}},
      {"((x * y).sum(), x * y)", {{1, 2}}},
      {"x * y / (x * y).sum() + y.sum()", {{2, 0}, {0, 1}}},
      {"((x * y).sum(), x * y / (x * y).sum() + y.sum())", {{2, 1}, {0, 1}}},
      {"(x * y / y.sum(), (y - (x * y).sum()).sum())", {{2, 0}, {1, 2}}},
      {"((x * y).sum(0), x * y / y.sum(0))", {{2, 1}, {0, 1}}},
  };
  for (const LateRow& row : rows) {
    const auto definition = frontend::define(row.text);
    const ir::Graph graph = graph_of(*definition, {2, 2});
    std::vector<std::pair<size_t, size_t>> kernels;
    for (const KernelOutline& kernel : outline(graph, PartitionStrategy::PerPhase).kernels)
      kernels.emplace_back(kernel.reductions.size(), kernel.output_blocks.size());
    EXPECT_EQ(kernels, row.kernels) << row.text;
    EXPECT_EQ(outline(graph, PartitionStrategy::Whole).kernels.size(), 1u) << row.text;
  }
}

struct ColumnPartialsRow {
  std::string text;
  std::vector<uint8_t> ranks;
  /// For each kernel, the phases of the reductions for which it computes fused column partials.
  std::vector<std::vector<uint32_t>> column_reductions;
};

TEST(Outline, FusesColumnPartials) {
  const std::vector<ColumnPartialsRow> rows = {
      {"(x.sum(1), x.sum(0))", {2}, {{0}, {}}},
      {"(x.sum(0), x.sum(1))", {2}, {{0}, {}}},
      {"(x.softmax(1), x.sum(0), x.amax(0))", {2}, {{0, 0}, {}}},
      {"x.softmax(1).sum(0)", {2}, {{2}, {}}},
      {"(x.sum(1), x.var(0))", {2}, {{0, 0}, {}}},
      {"(x.sum(2), x.sum((0, 1)))", {3}, {{0}, {}}},
      {"x.sum(1) * (x - x.amax(1, keepdim=True)).sum(0).sum()", {2}, {{1}, {}, {}, {}}},
      // A kernel with output blocks over all elements traverses rows to compute partial results of the columns.
      {"(x * 2, x.sum(0))", {2}, {{0}, {}}},
      {"(x * y, (x + y).sum(0), x.amax(0))", {2, 2}, {{0, 0}, {}}},
      {"(x * 2, x.sum((0, 1)))", {3}, {{0}, {}}},
      {"(y * 2, x.sum(0))", {2, 2}, {}},
      {"(x.t() * 2, x.sum(0))", {2}, {}},
      {"x - x.sum(0)", {2}, {}},
      // No fused column partials: nothing is reduced or stored along the rows; the columns belong to other rows; the
      // rows are read in another way; or no operand is shared.
      {"x.sum(0)", {2}, {}},
      {"(x.sum(2), x.sum(0))", {3}, {}},
      {"(x.sum(0), (x + x.sum(0)).sum(1))", {2}, {}},
      {"(x.sum(1), y.sum(0))", {2, 2}, {}},
      {"(x.sum(1), (x - x.sum(1).flip(0)[:, None]).sum(0))", {2}, {}},
      {"(x.sum(1), x.argmax(0))", {2}, {}},
      // With more accumulators per column than a thread can hold, a separate kernel computes all of these reductions.
      {"(x.sum(1), x.sum(0), x.amax(0), x.amin(0), (x * x).sum(0), (x * 3).sum(0))", {2}, {{0, 0, 0, 0, 0}, {}}},
      {"(x.sum(1), x.sum(0), x.amax(0), x.amin(0), (x * x).sum(0), (x * 3).sum(0), (x * 5).sum(0))", {2}, {}},
      {"(x.sum(1), x.amax(0), x.argmax(0), x.sum(0))", {2}, {}},
      {"(x.sum(), x.sum(0))", {2}, {}},
      // Column results that are read per element, or reduced together with elements, need separate kernels.
      {"(x.sum(1), x - x.sum(0))", {2}, {{0}, {}, {}}},
      {"(x.sum(1), (x - x.mean(0)).square().sum(0))", {2}, {{0}, {}, {}}},
  };
  for (const ColumnPartialsRow& row : rows) {
    const auto definition = frontend::define(row.text);
    const ir::Graph graph = graph_of(*definition, row.ranks);
    const Outlines all = outlines(graph);
    EXPECT_EQ(all.fused_columns.has_value(), !row.column_reductions.empty()) << row.text;
    if (!all.fused_columns) continue;
    std::vector<std::vector<uint32_t>> column_reductions;
    for (const KernelOutline& kernel : all.fused_columns->kernels) {
      column_reductions.emplace_back();
      for (const KernelOutline::ReductionRef& ref : kernel.column_reductions)
        column_reductions.back().push_back(ref.phase);
    }
    EXPECT_EQ(column_reductions, row.column_reductions) << row.text;
  }
}

TEST(Outline, FusesColumnPartialsOnlyOfManyLongRows) {
  const auto definition = frontend::define("(x.softmax(2), x.sum((0, 1)))");
  const ir::Graph graph = graph_of(*definition, {3});
  const auto passes = [&](const ir::Sizes& sizes) {
    Tensors tensors;
    tensors.params = {contiguous(sizes)};
    const auto fuses = [&](bool on_cuda) {
      const Outline outline = prepare(graph, tensors, false, {}, on_cuda).outline;
      return !outline.kernels[0].column_reductions.empty();
    };
    EXPECT_FALSE(fuses(/*on_cuda=*/false));
    return fuses(true);
  };
  EXPECT_TRUE(passes({1, 2048, 4096}));
  EXPECT_TRUE(passes({8, 256, 4096}));
  EXPECT_FALSE(passes({1, 2047, 4096})) << "fewer than eight rows per chunk";
  EXPECT_TRUE(passes({1, 2047, 4097})) << "longer rows have fewer chunks";
  EXPECT_TRUE(passes({1, 1024, 8192}));
  EXPECT_FALSE(passes({1, 100'000, 8193}));
  EXPECT_FALSE(passes({1, 100'000, 128}));
  EXPECT_TRUE(passes({1, 32'768, 129}));
  EXPECT_FALSE(passes({0, 100'000, 4096}));
  EXPECT_FALSE(passes({1, 100'000, 0}));
}

/// The number of kernels of a call.
size_t kernels_of(const std::string& text, const ir::SizesAndStrides& x, bool on_cuda) {
  const auto definition = frontend::define(text);
  const ir::Graph graph = graph_of(*definition, {static_cast<uint8_t>(x.sizes.size())});
  Tensors tensors;
  tensors.params = {x};
  return prepare(graph, tensors, false, {}, on_cuda).outline.kernels.size();
}

TEST(Outline, HasAKernelPerPhaseForFewLongRowsOnTheCpu) {
  const auto kernels = [](const std::string& text, const ir::Sizes& sizes) {
    return kernels_of(text, contiguous(sizes), /*on_cuda=*/false);
  };
  EXPECT_EQ(kernels("x.softmax(0)", {1000}), 1u);
  EXPECT_EQ(kernels("x.softmax(0)", {32768}), 1u);
  EXPECT_EQ(kernels("x.softmax(0)", {32769}), 3u) << "threads share the row";
  EXPECT_EQ(kernels("x / x.sum()", {100, 100}), 1u);
  EXPECT_EQ(kernels("x / x.sum()", {1000, 100}), 2u);
  EXPECT_EQ(kernels("x.softmax(1)", {8, 300'000}), 3u);
  EXPECT_EQ(kernels("x.softmax(1)", {16, 10'000'000}), 1u) << "there are enough rows";
  EXPECT_EQ(kernels("x.sum(1).softmax(0)", {40'000, 10}), 4u);
}

TEST(Outline, HasAKernelPerPhaseForFewLongRowsOnCuda) {
  const auto kernels = [](const std::string& text, const ir::SizesAndStrides& x) {
    return kernels_of(text, x, /*on_cuda=*/true);
  };
  EXPECT_EQ(kernels("x.softmax(1)", contiguous({16, 4096})), 1u);
  EXPECT_EQ(kernels("x.softmax(1)", contiguous({1, 200'000})), 1u) << "a cluster holds the row";
  EXPECT_EQ(kernels("x.softmax(1)", contiguous({16, 4 << 20})), 3u);
  EXPECT_EQ(kernels("x.softmax(1)", contiguous({100'000, 4096})), 1u);
  EXPECT_EQ(kernels("x.softmax(0)", contiguous({16384, 4096})), 3u) << "32 blocks of adjacent columns";
  EXPECT_EQ(kernels("x.softmax(0)", contiguous({64, 4096})), 1u);
  EXPECT_EQ(kernels("x.softmax(1)", {{4096, 16384}, {1, 4096}}), 3u) << "as columns of contiguous memory";
  EXPECT_EQ(kernels("x / x.sum((0, 2), keepdim=True)", contiguous({64, 64, 65536})), 2u);
  EXPECT_EQ(kernels("x[torch.arange(x.shape[0]).flip(0)].softmax(0)", contiguous({200'000})), 3u) << "it gathers";
  EXPECT_EQ(kernels("rand_like(x).softmax(0)", contiguous({1 << 20})), 3u) << "nothing is loaded";
}

TEST(Outline, StoresElementsApartIfTheirOrderInMemoryIsAnotherOneOnCuda) {
  const auto kernels = [](const std::string& text, const ir::SizesAndStrides& x) {
    return kernels_of(text, x, /*on_cuda=*/true);
  };
  EXPECT_EQ(kernels("x.softmax(1)", {{65536, 512}, {1, 65536}}), 2u) << "a block holds the columns that it reads";
  EXPECT_EQ(kernels("x.softmax(0)", {{600, 40'000}, {1, 600}}), 2u) << "a block holds the row that it reads";
  EXPECT_EQ(kernels("x.softmax(1)", contiguous({65536, 512})), 1u);
  EXPECT_EQ(kernels("x.softmax(1).sum(1)", {{65536, 512}, {1, 65536}}), 1u) << "no element is stored";
  EXPECT_EQ(kernels("x.softmax(1)", {{128, 128}, {1, 128}}), 1u) << "a launch takes longer";
}

struct WorkspaceRow {
  std::string text;
  std::vector<uint8_t> ranks;
  SplitReason split_reason;
  std::string line;  ///< expected in the schedule's text
};

TEST(Outline, RecordsWhyAValueIsInAWorkspace) {
  const std::string other_rows = "its reader has other rows", reduced = "its reader is reduced over other rows",
                    per_phase = "each phase has a kernel, in which many blocks share a row",
                    later = "its reader also needs a later kernel";
  const std::vector<WorkspaceRow> rows = {
      {"x.sum(1)[i.long()]",
       {2, 1},
       SplitReason::Gathered,
       "access 1 stores x.sum(1) for a later kernel: it is read by a gather"},
      {"x.sum(1)[2:]", {2}, SplitReason::OtherRows, "access 1 stores x.sum(1) for a later kernel: " + other_rows},
      {"x.sum(1).flip(0)", {2}, SplitReason::OtherRows, "access 1 stores x.sum(1) for a later kernel: " + other_rows},
      {"y + x.amax(1)", {2, 2}, SplitReason::OtherRows, "access 1 stores x.amax(1) for a later kernel: " + other_rows},
      {"x.sum(1).sum()", {2}, SplitReason::OtherReduction, "access 1 stores x.sum(1) for a later kernel: " + reduced},
      {"(x - x.mean(1, keepdim=True)).sum(0)",
       {2},
       SplitReason::OtherReduction,
       "access 1 stores x.mean(1, keepdim=True) for a later kernel: " + reduced},
      {"x / x.sum()", {2}, SplitReason::PerPhase, "access 1 stores x.sum() for a later kernel: " + per_phase},
      {"(x - x.mean()).square().sum()",
       {2},
       SplitReason::PerPhase,
       "access 1 stores x.mean() for a later kernel: " + per_phase},
      {"x - x.sum(1, keepdim=True) - x.sum(0)",
       {2},
       SplitReason::LaterReads,
       "access 1 stores x.sum(1, keepdim=True) for a later kernel: " + later},
      {"def f(x): return x / x.sum(\n    1)[\n  2]",
       {2},
       SplitReason::OtherRows,
       "access 1 stores x.sum( for a later kernel: " + other_rows},
  };
  for (const WorkspaceRow& row : rows) {
    const auto definition = frontend::define(row.text);
    const ir::Graph graph = graph_of(*definition, row.ranks);
    Tensors tensors;
    for (const uint8_t rank : row.ranks)
      tensors.params.push_back(contiguous(rank == 1 ? ir::Sizes{100} : ir::Sizes{100, 100}));
    const bool is_per_phase = row.split_reason == SplitReason::PerPhase;
    const Prepared prepared =
        prepare(graph, tensors, false, is_per_phase ? PartitionStrategy::PerPhase : PartitionStrategy::Whole);
    ASSERT_EQ(prepared.outline.workspaces.size(), 1U) << row.text;
    EXPECT_EQ(prepared.outline.kernels[0].workspace_stores.at(0).split_reason, row.split_reason) << row.text;
    for (const Target& target : {kCuda, kCpu}) {
      const std::string text = schedule_text(prepared.graph, prepared.outline, prepared.layouts, target, {});
      EXPECT_NE(text.find("\n  " + row.line + "\n"), std::string::npos) << row.text << "\n" << text;
    }
  }
}

TEST(Outline, OutlinesManyReductionsQuickly) {
  const auto definition =
      frontend::define("def f(x):\n    for i in range(1000): x = x - x.sum() * 0.1\n    return x\n");
  const ir::Graph graph = graph_of(*definition, {2});
  const std::clock_t begin = std::clock();
  EXPECT_EQ(outline(graph, PartitionStrategy::PerPhase).kernels.size(), 1001U);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 40) << "an optimised build takes half a second";
#if defined(__OPTIMIZE__) && !defined(INGOT_SANITIZED)
  EXPECT_LT(seconds, 4);
#endif
}

}  // namespace
}  // namespace ingot::codegen
