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

// Lowering evaluates an op for one signature: what is static is computed, what is a tensor becomes nodes. The builder
// is what every room of the front end makes nodes with, asks for static values, states conditions and fails through.

namespace ingot::frontend {

/// Thrown when evaluation needs the value of these symbols; `lower` catches it and starts again with them known.
struct SpecializationRequest {
  std::vector<ir::HostId> symbols;  ///< Size and Scalar nodes of the pool that asked
  bool specialized = false;         ///< asked by `touch`: only because the sizes are small (ir::Static::touched)
};

/// Thrown when evaluation needs to know whether tensors share memory; `lower` starts again with that known.
struct NeedAliases {
  uint32_t number;  ///< of the question
  ir::AliasFact fact;
};

/// What stands in a graph that is done for what was computed before: parameters that hold the same.
struct ResidualBindings {
  std::map<ir::NodeId, ir::NodeId> nodes;                       ///< for each, the load of a parameter
  std::map<std::pair<ir::NodeId, uint32_t>, uint32_t> reduced;  ///< for a value of a reduction, the parameter
};

/// As ir::Scatter has it, of tensors.
struct Scattered {
  Tensor values, positions;
  std::vector<uint32_t> through, along;
};

/// What a result is a sum of.
struct ScatteredSum {
  std::vector<Scattered> parts;
  std::optional<Tensor> beside;  ///< what is added to it, of the dtype of the values
};

/// What one lowering makes, and what it has spent so far.
struct Lowered {
  ir::Graph graph;
  Diagnostics diagnostics;
  Budget budget{diagnostics};
  /// The conditions that the graph states already.
  std::set<std::tuple<ir::Condition::Kind, ir::HostId, ir::HostId>> required;
  std::optional<Tape> tape;  ///< where the results are to be differentiated
  int64_t draws = 0;         ///< how many tensors of random numbers there are so far
  ResidualBindings residual_bindings;
  std::map<size_t, ScatteredSum> sums;        ///< of what the op returns, where it has been made of zeros
  uint32_t alias_questions = 0;               ///< how many tensors there are so far that may share memory
  std::map<uint32_t, ir::AliasFact> aliases;  ///< what is known of them, by number
};

/// A handle on what is being lowered. Copies are the same lowering; they differ only in whether the ops that are made
/// through them are those of a native library function.
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
  std::map<size_t, ScatteredSum>& sums;
  /// Whether the ops are those of a function that PyTorch has as one kernel: then `/` is IEEE division, numbers stay
  /// unrounded, numerics = eager rounds at the boundary alone, and eager's layouts are recorded there.
  bool native = false;
  /// Whether they are those of a derivative of 16-bit floats, which has its operands in float32.
  bool low_precision_output = false;
  /// The parameters of which gradients are asked of what is evaluated.
  uint64_t gradients;

  bool on_cuda() const { return signature.device == Device::Cuda; }

  /// An author's error where evaluation is.
  [[noreturn]] void fail(std::string message, std::string hint = {}) const {
    diagnostics.fail(std::move(message), std::move(hint));
  }

  // Host expressions. All arithmetic of the front end goes through `host`, which places Python's errors.
  ir::HostId host(ir::HostOp op, std::vector<ir::HostId> args, uint32_t b = 0);
  ir::HostId add(ir::HostId x, ir::HostId y) { return host(ir::HostOp::Add, {x, y}); }
  ir::HostId sub(ir::HostId x, ir::HostId y) { return host(ir::HostOp::Sub, {x, y}); }
  ir::HostId mul(ir::HostId x, ir::HostId y) { return host(ir::HostOp::Mul, {x, y}); }
  ir::HostId integer(int64_t value) { return graph.host.integer(value); }
  /// The value of a number; where it is made of symbols, asks for them (throws SpecializationRequest). `what` names the
  /// need in the error for a tensor: "the bound of a range".
  ir::HostValue static_number(const Value& value, std::string_view what);
  ir::HostValue static_number(ir::HostId id);
  int64_t static_int(const Value& value, std::string_view what);
  bool static_bool(const Value& value, std::string_view what);

  /// States what must hold of the arguments; where both are constants it is decided here. `message` may hold {0} and
  /// {1}, the values of a and b.
  void require(ir::Condition::Kind kind, ir::HostId a, ir::HostId b, std::string message = {});

  /// What random numbers are drawn from: the graph's seed, which it has from the first draw on.
  ir::NodeId seed();
  /// The number of the next draw. It is counted as evaluation goes, so that an op, its gradient and its text in eager,
  /// which go through the same calls in the same order, number their draws alike.
  int64_t next_draw() { return lowered_.draws++; }

  /// The number of a question whether a tensor shares the memory of what it is made of,
  uint32_t next_alias_question() { return lowered_.alias_questions++; }
  /// and its answer, where it is known.
  std::optional<bool> shares_memory(uint32_t question) const;
  /// Starts evaluation again with the answer known, unless that was done too often. `step` is where the tensor lies.
  void ask_for_alias(uint32_t question, uint32_t step);

  /// Records an author's name for a tensor and its nodes; no effect on other values.
  void name(const Value& value, std::string_view name);
  /// Records that what is evaluated here comes to a tensor's node; no effect on other values.
  void mention(const Value& value);
  /// Places a new node in the author's text, and checks the graph's limits.
  ir::NodeId placed(ir::NodeId node);
  /// Past 5,000 nodes all sizes are asked to be static; past 50,000 it is an error.
  void check_limits();

  /// What is lowered for as long as it lives is undone at its end.
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
    int64_t draws_;
  };

 private:
  Lowered& lowered_;
};

}  // namespace ingot::frontend
