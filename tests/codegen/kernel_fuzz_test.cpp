// Random kernels on random layouts, generated for both targets, run on this machine and compared with an evaluation of
// the graph, element by element. Guard pages surround their memory.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "codegen/kernel/build.h"
#include "tests/case_count.h"
#include "tests/codegen/allowed_schedules.h"
#include "tests/codegen/random_kernels.h"

namespace ingot::codegen {
namespace {

constexpr unsigned kKernels = 120;

/// Evaluates the graph at one index of the domain. Operands of a `where` arm may be skipped if the arm is not
/// selected, so an index out of range in such an arm may or may not be reported.
class Evaluator {
 public:
  Evaluator(const Case& test_case, const Prepared& prepared)
      : case_(test_case), kernel_(prepared.outline.kernels[0]), host_(prepared.host) {}

  /// Whether an index is out of range: in any arm of a `where`, and in a selected arm.
  struct OutOfRange {
    bool in_any_arm = false, in_selected_arm = false;
  };

  double at(NodeId result, const std::vector<int64_t>& index, OutOfRange& out_of_range) const {
    std::vector<double> values(case_.graph.count());
    std::vector<bool> bad_nodes(case_.graph.count()), is_visited(case_.graph.count());
    for (const NodeId id : nodes_of(case_.graph, kernel_)) {
      if (id > result) continue;
      bool is_bad = false;
      values[id.index] = node(id, index, values, is_bad);
      bad_nodes[id.index] = is_bad;
    }
    for (std::vector<NodeId> pending = {result}; !pending.empty();) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (is_visited[id.index]) continue;
      is_visited[id.index] = true;
      out_of_range.in_selected_arm |= bad_nodes[id.index];
      const std::vector<NodeId>& args = case_.graph[id].args;
      const bool is_where = case_.graph[id].op == Op::Where;
      for (size_t k = 0; k < args.size(); ++k)
        if (!is_where || k == 0 || k == (values[args[0].index] != 0 ? 1u : 2u)) pending.push_back(args[k]);
    }
    out_of_range.in_any_arm |= std::ranges::count(bad_nodes, true) > 0;
    return values[result.index];
  }

 private:
  int64_t host(ir::HostId id) const { return host_[id.index].as_int(); }

  double node(NodeId id, const std::vector<int64_t>& index, const std::vector<double>& values, bool& bad) const {
    const ir::Node& node = case_.graph[id];
    const auto arg = [&](size_t k) { return values[node.args[k].index]; };
    switch (node.op) {
      case Op::Load:
      case Op::Gather:
        return element(id, index, values, bad);
      case Op::Scalar:
        return host_[case_.graph.host_of(id).index].as_double();
      case Op::Index:
        return static_cast<double>(coordinates(case_.graph.access(id), index)[0]);
      case Op::Cast:
        return arg(0);
      case Op::Add:
        return arg(0) + arg(1);
      case Op::Sub:
        return arg(0) - arg(1);
      case Op::Mul:
        return arg(0) * arg(1);
      case Op::Maximum:
        return std::max(arg(0), arg(1));
      case Op::Lt:
        return arg(0) < arg(1);
      case Op::Gt:
        return arg(0) > arg(1);
      case Op::Where:
        return arg(0) != 0 ? arg(1) : arg(2);
      default:
        ADD_FAILURE();
        return 0;
    }
  }

  /// The coordinates of an access, before the gathered indices are added.
  std::vector<int64_t> coordinates(const ir::Access& access, const std::vector<int64_t>& index) const {
    std::vector<int64_t> coordinate;
    for (const ir::HostId offset : access.offsets) coordinate.push_back(host(offset));
    const size_t shift = index.size() - access.dims.size();
    for (size_t j = 0; j < access.dims.size(); ++j)
      for (const ir::Term& term : access.dims[j].terms)
        coordinate[term.dim] += host(term.coef) * (host(access.dims[j].size) == 1 ? 0 : index[shift + j]);
    return coordinate;
  }

  double element(NodeId id, const std::vector<int64_t>& index, const std::vector<double>& values, bool& bad) const {
    const ir::Node& node = case_.graph[id];
    const ir::Access& access = case_.graph.access(id);
    std::vector<int64_t> coordinate = coordinates(access, index);
    for (size_t l = 0; l < access.indirect.size(); ++l) {
      auto value = static_cast<int64_t>(values[node.args[l].index]);
      const int64_t extent = host(access.indirect[l].extent);
      if (value < -extent || value >= extent) bad = true;
      if (value < 0) value += extent;
      value = std::clamp<int64_t>(value, 0, extent - 1);
      for (const ir::Term& term : access.indirect[l].terms) coordinate[term.dim] += host(term.coef) * value;
    }
    int64_t offset = 0;
    for (size_t d = 0; d < coordinate.size(); ++d)
      offset += coordinate[d] * case_.tensors.params[access.source.index].strides[d];
    const std::byte* at = case_.memory[access.source.index]->data() + offset * ir::size_of(node.dtype);
    if (node.dtype == DType::F32) {
      float value;
      std::memcpy(&value, at, sizeof(value));
      return value;
    }
    if (node.dtype == DType::U8) return static_cast<double>(*at);
    if (ir::is_narrow_float(node.dtype)) {
      uint16_t bits;
      std::memcpy(&bits, at, sizeof(bits));
      // The tensors hold integers from -20 on (random_kernels.h). Finds the one with these bits.
      double value = -20;
      while (half_bits(static_cast<float>(value), node.dtype) != bits) ++value;
      return value;
    }
    int64_t value;
    std::memcpy(&value, at, sizeof(value));
    return static_cast<double>(value);
  }

  const Case& case_;
  const KernelOutline& kernel_;
  std::span<const ir::HostValue> host_;
};

struct Variant {
  Schedule schedule;
  Kernel kernel;
};

/// The kernels of a case: with the chosen schedule, and with some of the others that its layout allows.
std::vector<Variant> variants_of(const Case& test_case, const Prepared& prepared, const Target& target) {
  constexpr size_t kVariants = 4;
  const KernelOutline& outline = prepared.outline.kernels.at(0);
  const Schedule chosen = schedule(test_case.graph, outline, prepared.layouts[0], target, {});
  std::vector<Schedule> schedules = allowed_schedules(test_case.graph, outline, prepared.layouts[0], target);
  std::erase(schedules, chosen);
  std::mt19937 random(static_cast<uint32_t>(test_case.graph.count()));
  std::ranges::shuffle(schedules, random);
  schedules.insert(schedules.begin(), chosen);
  schedules.resize(std::min(schedules.size(), kVariants));
  std::vector<Variant> variants;
  for (const Schedule& candidate : schedules) {
    const std::string suffix = "_" + std::to_string(variants.size());
    variants.push_back({candidate, build(test_case.graph, outline, prepared.layouts[0], candidate, target,
                                         {.check_indices = true})[0]});
    variants.back().kernel.launch.entry += suffix;
  }
  return variants;
}

/// Counts kernels of kinds that only some layouts allow. `spread` and `repeated`: see AccessSchedule::How. `widened`
/// and `masked`: see AccessSchedule. `lazy`: see Schedule. `small_steps`: kernels with an AccessLayout::inner_step.
struct Coverage {
  int tiles = 0, transposed_short_rows = 0, spread = 0, repeated = 0, widened = 0, small_steps = 0, lazy = 0,
      masked = 0;

  void add(const Schedule& schedule, const KernelLayout& layout) {
    const auto has = [&](AccessSchedule::How how) {
      return std::ranges::count(schedule.accesses, how, &AccessSchedule::how) > 0;
    };
    tiles += schedule.is_tile();
    transposed_short_rows += schedule.joins_short_rows() && has(AccessSchedule::How::Staged);
    spread += has(AccessSchedule::How::Spread);
    repeated += has(AccessSchedule::How::Repeated);
    widened += std::ranges::count(schedule.accesses, true, &AccessSchedule::is_widened) > 0;
    lazy += !schedule.lazy.empty();
    masked += std::ranges::count(schedule.accesses, true, &AccessSchedule::is_masked) > 0;
    small_steps +=
        std::ranges::any_of(layout.accesses, [](const AccessLayout& access) { return access.inner_step != 0; });
  }
};

/// Runs a kernel on the case's memory; returns the status that it wrote.
int run(const Case& test_case, const Prepared& prepared, const Kernel& kernel, Entry* entry,
        RandomKernelMaker& random) {
  const KernelGeometry& geometry = prepared.geometries[0];
  std::vector<std::byte*> data;
  for (const AccessUse& use : prepared.outline.kernels[0].accesses) {
    const auto& memory = use.kind == AccessUse::Kind::Store ? test_case.results : test_case.memory;
    data.push_back(use.has_tensor() ? memory[use.tensor]->data() : nullptr);
  }
  for (size_t r = 0; r < test_case.results.size(); ++r) {
    const auto bytes = static_cast<size_t>(geometry.numel * ir::size_of(test_case.graph.results[r].dtype));
    std::memset(test_case.results[r]->data(), 0x7b, bytes);  // a value that no kernel here computes
  }
  int status = 0;
  const Arguments arguments(kernel.launch, prepared.outline.kernels[0], geometry, data, prepared.host, &status);
  const int64_t units = kernel.launch.units(geometry.extents);
  if (kernel.target.cuda()) {
    if (geometry.numel > 0) entry(arguments.addresses(), 0, units);
    return status;
  }
  for (int64_t begin = 0; begin < units;) {
    const int64_t end = std::min<int64_t>(units, begin + 1 + random.pick(static_cast<int>(units)));
    entry(arguments.addresses(), begin, end);
    begin = end;
  }
  return status;
}

void expect_matches_graph(const Case& test_case, const Prepared& prepared, int status, const std::string& what) {
  const Evaluator evaluator(test_case, prepared);
  Evaluator::OutOfRange out_of_range;
  std::vector<int64_t> index(test_case.domain.size());
  for (int64_t e = 0; e < prepared.geometries[0].numel; ++e) {
    int64_t rest = e;
    for (size_t d = index.size(); d-- > 0; rest /= test_case.domain[d]) index[d] = rest % test_case.domain[d];
    float value;
    std::memcpy(&value, test_case.results[0]->data() + e * 4, 4);
    ASSERT_EQ(value, evaluator.at(test_case.graph.results[0].blocks[0].node, index, out_of_range))
        << "element " << e << ", " << what;
    if (test_case.results.size() == 1) continue;
    const DType dtype = test_case.graph.results[1].dtype;
    const double second = evaluator.at(test_case.graph.results[1].blocks[0].node, index, out_of_range);
    const uint16_t expected =
        dtype == DType::F16 ? half_bits(static_cast<float>(second), dtype) : static_cast<uint16_t>(second);
    uint16_t bits = 0;
    std::memcpy(&bits, test_case.results[1]->data() + e * ir::size_of(dtype), static_cast<size_t>(ir::size_of(dtype)));
    ASSERT_EQ(bits, expected) << "element " << e << ", " << what;
  }
  if (status == 0) {
    ASSERT_FALSE(out_of_range.in_selected_arm) << what;
  } else {
    ASSERT_TRUE(out_of_range.in_any_arm) << what;
  }
}

void run_all(const std::vector<Case>& cases, const Target& target, uint32_t seed) {
  std::vector<std::vector<Variant>> variants_of_cases;
  for (const Case& test_case : cases)
    variants_of_cases.push_back(variants_of(test_case, prepare(test_case.graph, test_case.tensors), target));
  std::vector<const Kernel*> kernels;
  for (const std::vector<Variant>& variants : variants_of_cases)
    for (const Variant& variant : variants) kernels.push_back(&variant.kernel);
  const KernelLibrary library(kernels, target);
  ASSERT_TRUE(library.is_loaded());
  RandomKernelMaker random(seed);
  Coverage coverage;
  for (size_t c = 0; c < cases.size(); ++c) {
    const Case& test_case = cases[c];
    const Prepared prepared = prepare(test_case.graph, test_case.tensors);
    for (const auto& [schedule, kernel] : variants_of_cases[c]) {
      coverage.add(schedule, relevant_to(target, prepared.layouts[0]));
      Entry* const entry = library.find(kernel.launch.entry);
      ASSERT_NE(entry, nullptr);
      const int status = run(test_case, prepared, kernel, entry, random);
      expect_matches_graph(test_case, prepared, status,
                           "seed " + std::to_string(seed) + "\n" + print(test_case.graph) + prepared.layouts[0].text() +
                               "\n" + text_of(kernel));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  if (cases.size() < kKernels) return;
  EXPECT_GT(coverage.tiles, 2);
  EXPECT_GT(coverage.lazy, 20);
  EXPECT_GT(coverage.masked, 10);
  if (!target.cuda()) {
    EXPECT_GT(coverage.tiles, 8);
    EXPECT_GT(coverage.small_steps, 15);
    EXPECT_GT(coverage.transposed_short_rows, 5);
    EXPECT_GT(coverage.widened, 10);
    EXPECT_GT(coverage.spread, 3);
    EXPECT_GT(coverage.repeated, 3);
  }
}

class KernelFuzz : public testing::TestWithParam<uint32_t> {};

TEST_P(KernelFuzz, BothTargetsMatchTheGraph) {
  const uint32_t seed = GetParam();
  std::vector<Case> cases;
  for (unsigned k = 0; k < case_count(kKernels); ++k) {
    RandomKernelMaker maker(seed * 1000 + k);
    cases.push_back(maker.make("kernel" + std::to_string(k)));
    ir::verify(cases.back().graph);
  }
  run_all(cases, kCpu, seed);
  run_all(cases, kCuda, seed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, KernelFuzz, testing::Values(1u, 2u),
                         [](const auto& seed) { return "seed_" + std::to_string(seed.param); });

}  // namespace
}  // namespace ingot::codegen
