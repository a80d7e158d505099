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
          for (const PartitionStrategy strategy : {PartitionStrategy::Whole, PartitionStrategy::StoresApart,
                                                   PartitionStrategy::PerPhase, PartitionStrategy::FusedColumns}) {
            if (strategy == PartitionStrategy::FusedColumns && (n <= 128 || n > 8192)) continue;  // never chosen
            const Prepared prepared = prepared_for(graph, {{rows, n}, strides}, strategy);
            for (const Target& target : targets)
              for (size_t k = 0; k < prepared.layouts.size(); ++k) {
                if (strategy == PartitionStrategy::FusedColumns && !target.cuda()) continue;
                const KernelOutline& outline = prepared.outline.kernels[k];
                const Schedule chosen = schedule(prepared.graph, outline, prepared.layouts[k], target, {});
                const auto rule =
                    broken_rule(chosen, prepared.graph, outline, relevant_to(target, prepared.layouts[k]), target);
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

/// The loop of this level in the map of the kept or of the reduced axes.
MappedLoop& loop_of(Schedule& schedule, bool is_reduced, Scope scope) {
  LoopMap& loop_map = *std::ranges::find(schedule.loop_maps, is_reduced, &LoopMap::is_reduced);
  return *std::ranges::find(loop_map.loops, scope, &MappedLoop::scope);
}
uint32_t& kept(Schedule& schedule, Scope scope) { return loop_of(schedule, false, scope).count; }
uint32_t& reduced(Schedule& schedule, Scope scope) { return loop_of(schedule, true, scope).count; }

/// Makes a loop over chunks the outermost loop of a row on the CPU.
void add_chunks(Schedule& schedule, Scope scope, uint32_t chunk_length) {
  std::vector<MappedLoop>& loops = std::ranges::find(schedule.loop_maps, true, &LoopMap::is_reduced)->loops;
  loops[0].count = chunk_length / schedule.reduced().accumulators();
  loops.insert(loops.begin(), {scope});
}

const char* const kPastEndRule =
    "threads compute past a row's end only in whole vectors that registers cache, without gathers of elements, "
    "integer divisions and lazy `where`s";

const std::vector<Mistake>& mistakes() {
  const ir::SizesAndStrides row = contiguous({5, 1000}), odd = contiguous({5000, 75}), across = {{64, 500}, {1, 64}};
  static const std::vector<Mistake> all = {
      {"each access has a schedule", row, [](Schedule& s) { s.accesses.pop_back(); }},
      {"the number of accumulators follows from the row's length if the order of additions matters", row,
       [](Schedule& s) { reduced(s, Scope::Serial) *= 2; }},
      {"the number of accumulators follows from the row's length if the order of additions matters", row,
       [](Schedule& s) { reduced(s, Scope::Vector) /= 2; }, kCpu},
      {"the chunk length follows from the row's length", row, [](Schedule& s) { add_chunks(s, Scope::Serial, 128); },
       kCpu},
      {"the counts of loops are powers of two", row, [](Schedule& s) { reduced(s, Scope::Block) = 48; }},
      {"a block has whole warps, whose threads exchange values, and at most 1024 threads", row,
       [](Schedule& s) { reduced(s, Scope::Block) = 16; }},
      {"a split row has one phase, which loads its elements once", row,
       [](Schedule& s) { reduced(s, Scope::Grid) = 2, reduced(s, Scope::Block) /= 2; }},
      {"a second launch combines the chunks of a row", row, [](Schedule& s) { s.finalize_maps = s.loop_maps; }},
      {"the target has clusters of so many blocks", row,
       [](Schedule& s) {
         reduced(s, Scope::Cluster) = 16, reduced(s, Scope::Block) /= 4, reduced(s, Scope::Vector) /= 4;
       }},
      {"the target has clusters of so many blocks",
       row,
       [](Schedule& s) { reduced(s, Scope::Cluster) = 2, reduced(s, Scope::Block) /= 2; },
       {Target::Kind::Cuda, 80}},
      {"the sums of the speculative phase can be computed one phase early", row,
       [](Schedule& s) { s.speculative_phase = 1; }},
      {"the steps cover the longest row of the layout", row, [](Schedule& s) { s.residency.steps -= 1; }},
      {"in a step without guard, every row of the layout has elements for all threads", row,
       [](Schedule& s) { s.residency.unguarded_steps = s.residency.steps; }},
      {"only a kernel with fused column partials prefetches rows", row,
       [](Schedule& s) { s.residency.prefetches = true; }},
      {"the first step of a row is cached in registers, even if later ones are in shared memory", row,
       [](Schedule& s) { s.residency.shared_steps = s.residency.steps; }},
      {kPastEndRule, odd, [](Schedule& s) { s.residency.computes_past_end = true; }},
      {kPastEndRule, row, [](Schedule& s) { s.residency.computes_past_end = true, s.accesses[0].how = How::Single; }},
      {"blocked accumulators are vectors, of several runs, whose elements are loaded in steps", odd,
       [](Schedule& s) {
         s.residency.has_blocked_accumulators = true, s.residency.steps = 2, s.residency.unguarded_steps = 0;
       }},
      {"the rows of a batch are register-cached, element by element", odd,
       [](Schedule& s) { s.residency.steps = 0, s.residency.unguarded_steps = 0; }},
      {"a batch has the rows of one warp", odd, [](Schedule& s) { s.residency.batch *= 2; }},
      {"access 1: a batch stores all elements of its rows together, and none of rows that do not exist", odd,
       [](Schedule& s) { s.accesses[1].how = How::Single; }},
      {"access 0: its layout allows the access to be made this way", odd,
       [](Schedule& s) { s.accesses[0].how = How::Vector; }},
      {"access 2: a load ahead of all phases is of one element for each element of the row", row,
       [](Schedule& s) { s.accesses[2].is_loaded_ahead = true; }},
      {"rows across have no batches, prefetches, chunks of columns, speculative phase, or steps of other kinds", across,
       [](Schedule& s) { s.residency.batch = 1; }},
      {"the steps cover the longest row of the layout, with equally many for each accumulator", across,
       [](Schedule& s) { s.residency.steps = 1; }},
      {"2 to 32 adjacent threads have adjacent vectors of rows, or more if each thread has rows of its own", across,
       [](Schedule& s) {
         s.residency.steps = 0;
         reduced(s, Scope::Serial) *= reduced(s, Scope::Block) / 2;
         kept(s, Scope::Block) = 64, reduced(s, Scope::Block) = 2;
       }},
      {"the number of adjacent rows is a multiple of the vector's width", across,
       [](Schedule& s) { kept(s, Scope::Vector) = 32; }},
      {"threads, clusters, batches and steps are for CUDA", row,
       [](Schedule& s) { loop_of(s, true, Scope::Vector).scope = Scope::Block; }, kCpu},
      {"a split row has one phase", row, [](Schedule& s) { add_chunks(s, Scope::Grid, 0); }, kCpu},
      {"adjacent rows in a vector are several rows", row,
       [](Schedule& s) { loop_of(s, false, Scope::Serial) = {Scope::Vector, 8}; }, kCpu},
      {"blocked accumulators on the CPU are those of adjacent rows of one chunk", row,
       [](Schedule& s) { s.residency.has_blocked_accumulators = true; }, kCpu},
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
    Schedule forced = schedule(prepared.graph, outline, prepared.layouts[0], mistake.target, {});
    mistake.change(forced);
    std::string message;
    try {
      build(prepared.graph, outline, prepared.layouts[0], forced, mistake.target, {});
    } catch (const Error& error) {
      message = error.message();
    }
    EXPECT_EQ(message, "a schedule breaks a rule: " + mistake.rule);
  }
}

}  // namespace
}  // namespace ingot::codegen
