// The rules that schedules of kernels that reduce must satisfy: the policy breaks none, whatever the sizes, and the
// builder names the rule that a forced schedule breaks.

#include "codegen/schedule/valid.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "codegen/kernel/build.h"
#include "tests/codegen/ops.h"
#include "tests/codegen/support.h"

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;

constexpr const char* kSeveralPhases = R"(
def op(x):
    largest = x.amax(-1, keepdim=True)
    return x - largest, (x - largest).sum(-1)
)";

Prepared prepared_for(const ir::Graph& graph, const ir::SizesAndStrides& x,
                      std::optional<PartitionStrategy> strategy = {}) {
  Tensors tensors;
  tensors.params.assign(graph.params.size(), x);
  return prepare(graph, std::move(tensors), false, strategy);
}

TEST(ScheduleRules, ThePolicyBreaksNone) {
  std::vector<std::shared_ptr<const frontend::Definition>> definitions;
  for (const char* text : {kSeveralPhases, "F.softmax(x, -1)", "x.sum(-1)", "x.argmax(-1)", "x.sum(0)", "x - x.var(0)",
                           "(x * x).sum(-1) + x.sum(-1)", "(x.sum(-1), x.sum(0), x * x.amax(-1, keepdim=True))"})
    definitions.push_back(frontend::define(text));
  std::vector<Target> targets = {kCpu};
  for (const int architecture : {75, 80, 86, 90, 100}) targets.push_back({Target::Kind::Cuda, architecture});
  for (const auto& definition : definitions) {
    const ir::Graph graph = graph_of(*definition, {2});
    for (const int64_t n :
         {0, 1, 2, 31, 33, 75, 100, 129, 512, 1000, 1023, 1025, 4096, 5001, 20000, 65540, 131072, 300000})
      for (const int64_t rows : {1, 3, 40, 3000, 50000})
        for (const ir::Sizes& strides : {ir::Sizes{n, 1}, ir::Sizes{1, rows}, ir::Sizes{n + 1, 1}})
          for (const PartitionStrategy strategy :
               {PartitionStrategy::Whole, PartitionStrategy::PerPhase, PartitionStrategy::FusedColumns}) {
            if (strategy == PartitionStrategy::FusedColumns && (n <= 128 || n > 8192)) continue;  // never chosen
            const Prepared prepared = prepared_for(graph, {{rows, n}, strides}, strategy);
            for (const Target& target : targets)
              for (size_t k = 0; k < prepared.layouts.size(); ++k) {
                if (strategy == PartitionStrategy::FusedColumns && !target.cuda()) continue;
                const KernelOutline& outline = prepared.outline.kernels[k];
                const Schedule chosen = schedule(graph, outline, prepared.layouts[k], target, {});
                const auto rule = broken_rule(chosen, graph, outline, relevant_to(target, prepared.layouts[k]), target);
                ASSERT_FALSE(rule.has_value()) << *rule << "\n" << prepared.layouts[k].text() << print(chosen, outline);
              }
          }
  }
}

/// A change that makes a schedule break a rule.
struct Mistake {
  std::string rule;
  ir::SizesAndStrides x;
  std::function<void(Schedule&)> change;
  Target target = kCuda;
};

const std::vector<Mistake>& mistakes() {
  const ir::SizesAndStrides row = contiguous({5, 1000}), odd = contiguous({5000, 75}), across = {{64, 500}, {1, 64}};
  const auto steps = [](Schedule& schedule, uint32_t count) { schedule.rows.steps = count; };
  static const std::vector<Mistake> all = {
      {"each access has a schedule", row, [](Schedule& s) { s.accesses.pop_back(); }},
      {"the number of accumulators follows from the row's length", row, [](Schedule& s) { s.rows.accumulators *= 2; }},
      {"the number of accumulators follows from the row's length", row, [](Schedule& s) { s.rows.accumulators /= 2; },
       kCpu},
      {"the chunk length follows from the row's length", row, [](Schedule& s) { s.rows.chunk_length = 64; }, kCpu},
      {"accumulators, threads, blocks of a cluster, chunks and lanes are powers of two", row,
       [](Schedule& s) { s.rows.threads = 48; }},
      {"a split row has several chunks, and any other row has one", row, [](Schedule& s) { s.rows.chunks = 2; }},
      {"a block has whole warps, whose threads exchange values, and at most 1024 threads", row,
       [](Schedule& s) { s.threads = 16; }},
      {"a split row has one phase, which loads its elements once", row,
       [](Schedule& s) { s.rows.chunks = 2, s.rows.is_split = true; }},
      {"the target has clusters of so many blocks", row, [](Schedule& s) { s.rows.cluster = 16; }},
      {"the target has clusters of so many blocks",
       row,
       [](Schedule& s) { s.rows.cluster = 2; },
       {Target::Kind::Cuda, 80}},
      {"the sums of the speculative phase can be computed one phase early", row,
       [](Schedule& s) { s.rows.speculative_phase = 1; }},
      {"each element of a thread's vector has an accumulator of its own", row,
       [](Schedule& s) { s.rows.threads = s.threads = 512; }},
      {"the steps cover the longest row of the layout", row, [=](Schedule& s) { steps(s, s.rows.steps - 1); }},
      {"in a step without guard, every row of the layout has elements for all threads", row,
       [](Schedule& s) { s.rows.unguarded_steps = s.rows.steps; }},
      {"only a kernel with fused column partials prefetches rows", row, [](Schedule& s) { s.rows.prefetches = true; }},
      {"the first step of a row is cached in registers, even if later ones are in shared memory", row,
       [](Schedule& s) { s.rows.shared_steps = s.rows.steps; }},
      {"blocked accumulators are vectors, of several runs, whose elements are loaded in steps", odd,
       [](Schedule& s) { s.rows.has_blocked_accumulators = true, s.rows.steps = 2, s.rows.unguarded_steps = 0; }},
      {"the rows of a batch are register-cached, element by element", odd,
       [=](Schedule& s) { steps(s, 0), s.rows.unguarded_steps = 0; }},
      {"a batch has the rows of one warp", odd, [](Schedule& s) { s.rows.batch *= 2; }},
      {"access 1: a batch stores all elements of its rows together, and none of rows that do not exist", odd,
       [](Schedule& s) { s.accesses[1].how = How::Single; }},
      {"access 0: its layout allows the access to be made this way", odd,
       [](Schedule& s) { s.accesses[0].how = How::Vector; }},
      {"access 2: a load ahead of all phases is of one element for each element of the row", row,
       [](Schedule& s) { s.accesses[2].is_loaded_ahead = true; }},
      {"rows that are adjacent in a vector are loaded again in each phase, by one block", across,
       [=](Schedule& s) { steps(s, 100); }},
      {"each warp has one thread for each of 32 adjacent vectors of rows", across, [](Schedule& s) { s.threads /= 2; }},
      {"the number of adjacent rows is a multiple of the vector's width", across, [](Schedule& s) { s.lanes = 32; }},
      {"threads, clusters, batches and steps are for CUDA", row, [](Schedule& s) { s.rows.threads = 32; }, kCpu},
      {"a split row has chunks, and one phase", row, [](Schedule& s) { s.rows.is_split = true; }, kCpu},
      {"adjacent rows in a vector are several rows", row, [](Schedule& s) { s.lanes = 8; }, kCpu},
      {"access 0: its layout allows the access to be made this way", row,
       [](Schedule& s) { s.accesses[0].how = How::Staged; }, kCpu},
  };
  return all;
}

TEST(ScheduleRules, AreNamedIfTheyAreBroken) {
  const auto definition = frontend::define(kSeveralPhases);
  const ir::Graph graph = graph_of(*definition, {2});
  for (const Mistake& mistake : mistakes()) {
    const Prepared prepared = prepared_for(graph, mistake.x);
    const KernelOutline& outline = prepared.outline.kernels[0];
    Schedule forced = schedule(graph, outline, prepared.layouts[0], mistake.target, {});
    mistake.change(forced);
    std::string message;
    try {
      build(graph, outline, prepared.layouts[0], forced, mistake.target, {});
    } catch (const Error& error) {
      message = error.message();
    }
    EXPECT_EQ(message, "a schedule breaks a rule: " + mistake.rule);
  }
}

}  // namespace
}  // namespace ingot::codegen
