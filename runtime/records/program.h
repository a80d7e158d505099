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

// A program is the compiled form of an op for its calls: host arithmetic, conditions, results, and the accesses of its
// kernels. A program is small, and holds everything that a call needs besides compiled kernels. A process that finds it
// on disk therefore does no lowering or planning.

namespace ingot::runtime {

struct Program {
  struct Check {
    ir::Condition condition;  ///< without its span
    std::string location;     ///< the span as text: "--> file:line:column", the line, the caret
  };
  struct HostLocation {
    ir::HostId id;
    std::string location;  ///< of the code that computes the number, in the op's source
  };
  struct RequiredView {
    uint32_t step;  ///< index of the view's layout step, as in ir::RequiredView
    std::string location;
  };
  struct Result {
    std::string name;
    ir::DType dtype;
    std::vector<ir::HostId> shape;
    uint32_t layout = 0;  ///< the layout step that computes its strides
    /// The parameter into which it is written, as in ir::Result.
    std::optional<uint32_t> mutates = {};
    /// The parameter that is returned as this result, as in ir::Result.
    std::optional<uint32_t> forwards = {};
    /// The parameters with respect to which it has a gradient, as in ir::Result.
    uint64_t gradients = 0;
    uint64_t reads = 0;  ///< the parameters on which its elements depend, in any way; bits as in `gradients`
    ir::Use use = ir::Use::Returned;
    /// The summands of the result, as in ir::Result.
    std::vector<ir::ScatterAdd> scatters = {};
    std::optional<uint32_t> addend = {};

    bool is_residual() const { return use == ir::Use::Residual; }
  };

  std::string name;
  ir::HostPool host;  ///< only expressions that other members refer to
  codegen::Outlines outlines;
  std::vector<Check> checks;
  std::vector<Result> results;
  ir::Returns returns = ir::Returns::Tensor;
  std::vector<ir::LayoutStep> layout_steps;
  std::vector<RequiredView> required_views;
  std::vector<HostLocation> host_locations;  ///< of numbers whose arithmetic may fail
  /// Whether results may have other layouts than contiguous ones although all inputs are row-major.
  bool may_have_other_layouts = false;
  /// Parameters (bits, the first 64) whose numbers take part in shapes, offsets or strides. Another number needs
  /// another bound call, but never another kernel.
  uint64_t numbers_in_shapes = 0;
  /// Whether the op samples random numbers: kernels then read a seed, as a parameter after those of the op.
  bool uses_random = false;
  /// The digest of the graph: programs with equal digests have the same kernels.
  std::string digest;
  /// The lowered graph, in its own pool, from which partitions are made; absent if the program comes from disk.
  std::shared_ptr<const ir::Graph> graph;
};

/// The residuals that the program saves for gradients with respect to these parameters.
frontend::Residuals residuals_of(const Program& program, uint64_t gradients);

/// Whether some of its results are sums of scattered values.
bool has_scatter_sums(const Program& program);

/// The parameters on which the results depend; bits as in Result::reads.
uint64_t read_params(const Program& program);

/// The parameters with respect to which a result has a gradient, without results that are written into a parameter;
/// bits as in Result::gradients.
uint64_t differentiable_params(const Program& program);

/// The parameters (bits) that the program mutates.
uint64_t written_params(const Program& program);

/// Makes the program. `graph` has been simplified and its calls inlined. Errors: Error(Author) for a mutated parameter
/// past the 64th.
Program make_program(std::shared_ptr<const ir::Graph> graph);

}  // namespace ingot::runtime
