#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "frontend/frontend.h"
#include "frontend/tensor/budget.h"
#include "frontend/tensor/diagnostics.h"
#include "frontend/tensor/tape.h"
#include "frontend/tensor/value.h"
#include "ir/graph.h"

// Lowering evaluates an op for one signature: static values are computed, tensors become nodes. The whole front end
// uses the builder to make nodes, request static values, state conditions and report errors.

namespace ingot::frontend {

/// Thrown when evaluation needs the values of these symbols; `lower` catches it and restarts with them known.
struct SpecializationRequest {
  std::vector<ir::HostId> symbols;  ///< Size and Scalar nodes of the throwing graph's pool
  /// Whether the request is made only because of the values: small sizes, or a number that is 0 (ir::Static).
  bool only_if_special = false;
};

/// Thrown when evaluation needs to know whether tensors share storage; `lower` restarts with the answer known.
struct AliasRequest {
  uint32_t number;  ///< the index of the alias query
  ir::AliasFact fact;
};

/// Replacements in the finished graph of a gradient: the parameters that hold the residuals.
struct ResidualBindings {
  std::map<ir::NodeId, ir::NodeId> nodes;  ///< for a node, the load of the parameter that has its values
  /// For a value of a reduction (the Reduce node, and which of its values), the parameter.
  std::map<std::pair<ir::NodeId, uint32_t>, uint32_t> reduced;
};

/// An ir::ScatterAdd, whose values and positions are not yet results of the graph but tensors.
struct TensorScatterAdd {
  Tensor values, positions;
  std::vector<uint32_t> scattered_dims, copied_dims;
};

/// The terms of a sum that the caller of the graph computes (ir::Result::scatters).
struct ScatteredSum {
  std::vector<TensorScatterAdd> scatter_adds;
  std::optional<Tensor> addend;  ///< a tensor to add to the sum, of the dtype of the values
};

/// The output of one lowering, and the budget it has spent so far.
struct Lowered {
  ir::Graph graph;
  Diagnostics diagnostics;
  Budget budget{diagnostics};
  /// The conditions that the graph states already.
  std::set<std::tuple<ir::Condition::Kind, ir::HostId, ir::HostId>> required;
  std::optional<Tape> tape;  ///< set if the results are to be differentiated
  int64_t random_count = 0;  ///< the number of samples of random numbers so far
  ResidualBindings residual_bindings;
  /// By the position of a returned value, which holds zeros: the sum that the result is to be.
  std::map<size_t, ScatteredSum> scattered_sums;
  uint32_t alias_queries = 0;                 ///< the number of alias queries so far
  std::map<uint32_t, ir::AliasFact> aliases;  ///< the known answers, by the index of the query
};

/// A handle on one lowering. Copies refer to the same lowering. They differ only in `native`,
/// `has_low_precision_output` and `gradients`, which depend on the function that is being evaluated.
class Builder {
 public:
  Builder(Lowered& lowered, const Signature& signature, const SymbolValues& symbol_values);

  ir::Graph& graph;
  const Signature& signature;
  const SymbolValues& symbol_values;
  Diagnostics& diagnostics;
  Budget& budget;
  std::optional<Tape>& tape;
  ResidualBindings& residual_bindings;
  std::map<size_t, ScatteredSum>& scattered_sums;
  /// Whether new ops belong to a function that PyTorch implements as one kernel. Then `/` is IEEE division, numbers
  /// stay unrounded, numerics = eager rounds only at the function's boundary, and eager's layouts are recorded there.
  bool native = false;
  /// Whether new ops belong to the derivative of an op on 16-bit floats. The dtypes do not show this, because the
  /// operands of the derivative are in float32.
  bool has_low_precision_output = false;
  /// The parameters with respect to which gradients of the evaluated op are requested: a bit mask as Result::gradients.
  uint64_t gradients;

  bool on_cuda() const { return signature.device == Device::Cuda; }

  /// Fails with an author's error at the current location of evaluation.
  [[noreturn]] void fail(std::string message, std::string hint = {}) const {
    diagnostics.fail(std::move(message), std::move(hint));
  }

  // Host expressions. All host arithmetic of the front end uses `host`, which locates Python's errors.
  ir::HostId host(ir::HostOp op, std::vector<ir::HostId> args, uint32_t b = 0);
  ir::HostId add(ir::HostId x, ir::HostId y) { return host(ir::HostOp::Add, {x, y}); }
  ir::HostId sub(ir::HostId x, ir::HostId y) { return host(ir::HostOp::Sub, {x, y}); }
  ir::HostId mul(ir::HostId x, ir::HostId y) { return host(ir::HostOp::Mul, {x, y}); }
  ir::HostId integer(int64_t value) { return graph.host.integer(value); }
  /// The value of a number. If it depends on symbols, requests their values (throws SpecializationRequest). Fails for
  /// any other value; `what` names the use of the number in this error: "the bound of a range".
  ir::HostValue static_number(const Value& value, std::string_view what);
  ir::HostValue static_number(ir::HostId id);
  int64_t static_int(const Value& value, std::string_view what);
  bool static_bool(const Value& value, std::string_view what);

  /// States a condition on the arguments. If both operands are constants, the condition is checked here; only one of
  /// kind Affordable stays in the graph if it does not hold. `message` may contain {0} and {1}, the values of a and b.
  void require(ir::Condition::Kind kind, ir::HostId a, ir::HostId b, std::string message = {});
  /// States a condition of a kind that depends on `a` alone.
  void require(ir::Condition::Kind kind, ir::HostId a, std::string message = {}) {
    require(kind, a, a, std::move(message));
  }

  /// The graph's random seed, which the first sample of random numbers adds to the graph.
  ir::NodeId seed();
  /// The index of the next sample (a tensor of random numbers). Samples are numbered in the order of evaluation. An op,
  /// its gradient and its source in eager take the same samples in the same order, so the indices agree.
  int64_t next_random_index() { return lowered_.random_count++; }

  /// The index of the next alias query: does a tensor share storage with its input?
  uint32_t next_alias_query() { return lowered_.alias_queries++; }
  /// The answer to an alias query, if it is known.
  std::optional<bool> shares_memory(uint32_t query) const;
  /// Restarts evaluation with the answer to an alias query known, unless there were too many such restarts. `step` is
  /// the tensor's layout step.
  void request_alias(uint32_t query, uint32_t layout_step);

  /// Records an author's name for a tensor and its nodes; no effect on other values.
  void name(const Value& value, std::string_view name);
  /// Records that the expression evaluated here yields a tensor's node; no effect on other values.
  void record_expression(const Value& value);
  /// Records the location of a new node in the op's source, and checks the graph's limits.
  ir::NodeId with_location(ir::NodeId node);
  /// Above 5,000 nodes, requests all sizes to be static; above 50,000 nodes, fails.
  void check_limits();

  /// At the end of its lifetime, restores the graph, its conditions, the tape and the count of random samples. Contents
  /// of storages are not restored: during a trial, only storages that are new may be written.
  class Trial {
   public:
    explicit Trial(const Builder& builder);
    ~Trial();
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

   private:
    Lowered& lowered_;
    ir::Graph graph_;
    std::set<std::tuple<ir::Condition::Kind, ir::HostId, ir::HostId>> required_;
    std::optional<Tape> tape_;
    int64_t random_count_;
  };

 private:
  Lowered& lowered_;
};

}  // namespace ingot::frontend
