#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/shape/partition.h"
#include "frontend/frontend.h"
#include "ir/graph.h"

// A program is what a lowered op leaves behind for its calls: host arithmetic, conditions, results, and the accesses of
// its kernels. It is small, and everything a call needs beside compiled kernels, so a process that finds it on disk
// runs no parser, no lowering and no plan.

namespace ingot::runtime {

struct Program {
  struct Check {
    ir::Condition condition;  ///< without its span,
    std::string place;        ///< which is kept as text: "--> file:line:column", the line, the caret
  };
  struct HostPlace {
    ir::HostId id;
    std::string place;  ///< where the author computes it
  };
  struct RequiredView {
    uint32_t step;  ///< as ir::RequiredView has it
    std::string place;
  };
  struct Result {
    std::string name;
    ir::DType dtype;
    std::vector<ir::HostId> shape;
    uint32_t layout = 0;  ///< the step that gives its strides
    /// The parameter that it is written into, as ir::Result has it.
    std::optional<uint32_t> mutates = {};
    /// The parameter that it is, as ir::Result has it.
    std::optional<uint32_t> forwards = {};
    /// The parameters with respect to which it has a gradient, as ir::Result has them.
    uint64_t gradients = 0;
    uint64_t reads = 0;  ///< the parameters that its elements are made of, in any way; bits as of `gradients`
    ir::Use use = ir::Use::Returned;
    /// What it is a sum of, as ir::Result has it.
    std::vector<ir::Scatter> scatters = {};
    std::optional<uint32_t> beside = {};

    bool is_kept() const { return use == ir::Use::Residual; }
  };

  std::string name;
  ir::HostPool host;  ///< only what the rest refers to
  codegen::Outlines outlines;
  std::vector<Check> checks;
  std::vector<Result> results;
  ir::Returns returns = ir::Returns::Tensor;
  std::vector<ir::LayoutStep> steps;
  std::vector<RequiredView> required_views;
  std::vector<HostPlace> host_places;  ///< of numbers whose arithmetic may fail
  /// Whether there are other layouts than contiguous ones although all inputs are row-major.
  bool permutes = false;
  /// Parameters (bits, the first 64) whose numbers take part in shapes, offsets or strides: another number is another
  /// bound call, though never another kernel.
  uint64_t shape_numbers = 0;
  /// Whether random numbers are drawn: kernels then read a seed, as a parameter behind those of the op.
  bool draws = false;
  /// Digest of the graph: two programs of one digest have the same kernels.
  std::string digest;
  /// The graph that `outlines` were made of, in its own pool; absent where the program comes from disk.
  std::shared_ptr<const ir::Graph> graph;
};

/// What the program keeps for gradients with respect to these parameters.
frontend::Residuals kept_by(const Program& program, uint64_t gradients);

/// Whether some of its results are sums of values scattered.
bool has_sums(const Program& program);

/// The parameters that the results are made of; bits as of Result::reads.
uint64_t read_params(const Program& program);

/// The parameters with respect to which a result that is no mutation has a gradient; bits as of Result::gradients.
uint64_t differentiable_params(const Program& program);

/// The parameters (bits) that the program mutates.
uint64_t written_params(const Program& program);

/// `graph` has been simplified and its calls inlined. Errors: Error(Author) for a mutated parameter past the 64th.
Program make_program(std::shared_ptr<const ir::Graph> graph);

}  // namespace ingot::runtime
