// Small calls of ops that reduce, with every kind of schedule that their layouts allow. All schedules give the same
// bits, and no kernel accesses memory outside its tensors.

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "tests/codegen/forced.h"

namespace ingot::codegen {
namespace {

constexpr auto kFused = PartitionStrategy::FusedColumns;
constexpr auto kWhole = PartitionStrategy::Whole;

constexpr std::string_view kSoftmax = "F.softmax(x, -1)";
constexpr std::string_view kLayerNorm = "F.layer_norm(x, (x.size(-1),), weight, bias)";
constexpr std::string_view kCrossEntropy = "F.cross_entropy(logits, target, reduction='none')";
constexpr std::string_view kSeveralPhases = R"(
def op(x):
    largest, index = x.max(-1, keepdim=True)
    difference = x - largest
    return difference, index, difference.sum(-1), sin(x) * difference.exp().sum(-1, keepdim=True) + exp(difference)
)";
constexpr std::string_view kPairs =
    "(where(x[..., 0] > 0, x[..., 0] * x[..., 1], 0.0).sum(-1), x[..., 1].sum(-1), x[..., 0] * x[..., 1])";
constexpr std::string_view kFusedColumns = R"(
def op(x):
    largest = x.amax(-1, keepdim=True)
    total = (x - largest).sum(-1, keepdim=True)
    return x + total, total, x.sum(0), (x * (x - largest)).sum(0), (x + total).amax(0)
)";
constexpr std::string_view kMaskedGather = R"(
def op(table, i, x):
    value = where(i > 2, table[i - 3] * x, -x)
    return value.sum(-1), value
)";
constexpr std::string_view kSpeculative = R"(
def op(x):
    largest = x.amax(-1, keepdim=True)
    total = where(largest * x[..., :1] > 0, exp(x), exp(x - largest)).sum(-1, keepdim=True)
    return total, x - total
)";

const std::vector<ForcedOp>& table() {
  static const std::vector<ForcedOp> rows = {
      {"softmax", kSoftmax, {"f32 5x1000"}},
      {"softmax_odd", kSoftmax, {"f32 3x1023"}},
      {"softmax_short", kSoftmax, {"f32 70x9"}},
      {"softmax_half", kSoftmax, {"f16 4x520"}},
      {"softmax_across", kSoftmax, {"f32 40x200 / 1x40"}},
      {"layer_norm", kLayerNorm, {"f32 3x768", "f32 768", "f32 768"}},
      {"layer_norm_bf16", kLayerNorm, {"bf16 5x264", "bf16 264", "bf16 264"}},
      {"var", "x.var(-1)", {"f32 4x1500"}},
      {"var_f64", "x.var(-1)", {"f64 3x130"}},
      {"argmax", "x.argmax(-1)", {"f32 6x777"}},
      {"argmax_i64", "x.argmin(-1)", {"i64 2x66"}},
      {"phases", kSeveralPhases, {"f32 3x640"}},
      {"phases_odd", kSeveralPhases, {"f32 35x75"}},
      {"phases_padded", kSeveralPhases, {"f32 7x301 / 304x1"}},
      {"phases_across", kSeveralPhases, {"f32 33x68 / 1x33"}},
      {"sum", "(x.sum(-1), (x + x).prod(-1))", {"f32 3x1400"}},
      {"sum_bool", "((x > 3).sum(-1), (x > 3).any(-1), (x > 5).all(-1))", {"u8 5x333"}},
      {"sum_ragged", "x.sum(-1)", {"bf16 130x401"}},
      {"sum_one", "x.sum(-1)", {"f32 3x1"}},
      {"two_axes", "x.sum((0, 2))", {"f32 12x6x50"}},
      {"two_axes_phases", "x / x.exp().sum((0, 2), keepdim=True)", {"f32 8x5x32"}},
      {"all", "x / x.sum()", {"f32 30x40"}, kWhole},
      {"columns", "x.sum(0)", {"f32 1200x40"}},
      {"columns_phases", "x - x.mean(0) * x.amax(0)", {"bf16 300x64"}},
      {"columns_of_3d", "x.var(1)", {"f32 3x130x36"}},
      {"cross_entropy", kCrossEntropy, {"f32 6x900", "i64 6"}},
      {"cross_entropy_bf16", kCrossEntropy, {"bf16 9x520", "i64 9"}},
      {"speculative", kSpeculative, {"f32 6x1024"}},
      {"pairs", kPairs, {"f32 5x600x2"}},
      {"fused_columns", kFusedColumns, {"f32 150x260"}, kFused},
      {"fused_columns_odd", kFusedColumns, {"f32 131x333"}, kFused},
      {"columns_alone", "(x * x - 1, (x * x).sum(0), x.amax(0))", {"f32 140x264"}, kFused},
      {"masked_gather", kMaskedGather, {"f32 10", "i64 5x400", "f32 5x400"}},
      {"misaligned", kSoftmax, {"f32 4x516 @ 4"}},
      // The tensors end and begin at guard pages, and a row of these slices has no element to sample.
      {"no_elements",
       "def op(x, y): return torch.var_mean(x[:, 4:], 1)[1], torch.var_mean(y[:, 4:], 1)[1]",
       {"f32 3x4", "f32 3x4"}},
      {"no_elements_reversed",
       "def op(x, y): return torch.var_mean(x.flip(1)[:, 4:], 1)[1], torch.var_mean(y.flip(1)[:, 4:], 1)[1]",
       {"f32 3x4", "f32 3x4"}},
  };
  return rows;
}

/// The features that a schedule uses. The test checks that the schedules of the table use every feature.
std::set<std::string> features_of(const Schedule& schedule) {
  const Residency& residency = schedule.residency;
  const LoopMap& reduced = schedule.reduced();
  std::set<std::string> features;
  const auto add = [&](bool holds, const char* feature) {
    if (holds) features.insert(feature);
  };
  add(schedule.is_across(), schedule.lanes() > 1 ? "across by vectors" : "across");
  add(schedule.is_split(), schedule.is_across() ? "split across" : "split");
  add(residency.steps > 0, "register-cached");
  add(residency.unguarded_steps > 0, "unguarded");
  add(residency.computes_past_end, "computes past the end");
  add(residency.shared_steps > 0, reduced.count(Scope::Cluster) > 1 ? "shared in a cluster" : "shared");
  add(reduced.count(Scope::Cluster) > 1, "cluster");
  add(residency.batch > 0, reduced.count(Scope::Block) > 1 ? "batch of several threads a row" : "batch");
  add(schedule.speculative_phase > 0, residency.has_blocked_accumulators ? "speculative blocked" : "speculative");
  add(residency.has_blocked_accumulators, "blocked");
  add(schedule.column_chunks() > 0, residency.prefetches ? "column partials, prefetched" : "column partials");
  add(!residency.cached.empty(), "cached values");
  add(schedule.has_partial_vectors, "partial vectors");
  for (const AccessSchedule& access : schedule.accesses) {
    features.insert(print(AccessSchedule{.how = access.how}));
    add(access.is_loaded_ahead, "loaded ahead");
    add(access.is_masked, "masked");
  }
  return features;
}

const std::vector<const char*> kCpuFeatures = {
    "across by vectors", "blocked", "cached values", "masked", "split", "split across", "transposed in a buffer"};
const std::vector<const char*> kCudaFeatures = {"a warp's rows together, by vectors through shared memory",
                                                "across",
                                                "across by vectors",
                                                "batch",
                                                "batch of several threads a row",
                                                "blocked",
                                                "cached values",
                                                "cluster",
                                                "column partials",
                                                "column partials, prefetched",
                                                "computes past the end",
                                                "element by element",
                                                "loaded ahead",
                                                "masked",
                                                "partial vectors",
                                                "register-cached",
                                                "shared",
                                                "shared in a cluster",
                                                "speculative",
                                                "speculative blocked",
                                                "split",
                                                "split across",
                                                "unaligned vector, out of two aligned ones",
                                                "unguarded",
                                                "vector",
                                                "with its group"};

/// Runs the calls of the table, on the CPU target with all their schedules, and compares the bits.
void expect_same_bits(const Target& target, KernelLibrary::Machine machine, const MakeBuffer& make_buffer) {
  Coverage coverage;
  std::vector<std::unique_ptr<ForcedCall>> calls;
  std::vector<const Kernel*> launches;
  std::set<std::string> features;
  for (const ForcedOp& op : table()) {
    if (op.strategy == kFused && !target.cuda()) continue;
    calls.push_back(std::make_unique<ForcedCall>(
        op, target, make_buffer, [&](const auto& all) { return target.cuda() ? coverage.select(all) : all; }));
    std::ranges::copy(calls.back()->launches(), std::back_inserter(launches));
    for (const auto& kernels : calls.back()->kernels())
      for (const ForcedKernel& kernel : kernels) features.merge(features_of(kernel.schedule));
  }
  for (const char* feature : target.cuda() ? kCudaFeatures : kCpuFeatures)
    EXPECT_TRUE(features.contains(feature)) << feature;
  const KernelLibrary library(launches, target, machine);
  ASSERT_TRUE(library.is_loaded());
  for (const std::unique_ptr<ForcedCall>& call : calls) {
    const std::vector<Bytes> expected = call->results(0, library);
    for (size_t run = 1; run < call->runs(); ++run)
      EXPECT_TRUE(call->results(run, library) == expected) << call->text_of_run(run);
  }
}

TEST(ScheduleBits, AreTheSameOnTheCpu) { expect_same_bits(kCpu, KernelLibrary::Machine::Host, GuardedBuffer::maker()); }

TEST(ScheduleBits, AreTheSameForCuda) { expect_same_bits(kCuda, KernelLibrary::Machine::Host, GuardedBuffer::maker()); }

// script/gpu-check also runs this test under compute-sanitizer.
TEST(ScheduleBits, AreTheSameOnAGpu) {
  if (std::system("nvidia-smi -L > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no GPU here";
  expect_same_bits(kCuda, KernelLibrary::Machine::Gpu, [](size_t bytes) { return std::make_unique<GpuBuffer>(bytes); });
}

}  // namespace
}  // namespace ingot::codegen
