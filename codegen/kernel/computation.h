#pragma once

#include <map>
#include <utility>
#include <vector>

#include "codegen/kernel/assembly.h"
#include "codegen/kernel/memory.h"

namespace ingot::codegen {

/// Emits a target's memory accesses and checks.
class AccessEmitter {
 public:
  virtual ~AccessEmitter() = default;

  /// Loads an element, in its type in memory. A float16 may be given as the equal float32.
  virtual ValueId load(uint32_t access) = 0;
  /// Wraps and clamps the indices of a gather, so that they are valid. Checks them where the target or the options
  /// require it; if the condition `entry_condition` is given, only if it holds.
  virtual std::vector<ValueId> wrap_indices(uint32_t access, const std::vector<ValueId>& indices,
                                            ValueId entry_condition) = 0;
  /// Loads the element at these valid indices.
  virtual ValueId gather(uint32_t access, const std::vector<ValueId>& wrapped) = 0;
  /// The position of an Index access; nothing if it is always 0.
  virtual std::optional<ValueId> position(uint32_t access) = 0;
  /// A float32 quotient, if the target computes it in a special way.
  virtual std::optional<ValueId> quotient(ValueId, ValueId) { return std::nullopt; }
  /// Returns the divisor of an integer division as it is; on the CPU, emits a check that reports a divisor of zero.
  /// `division` is the index of the division in KernelOutline::divisions.
  virtual ValueId checked_divisor(ValueId value, uint32_t /*division*/) { return value; }
};

/// A reduction node and the index of one of its values.
using ReducedValue = std::pair<ir::NodeId, uint32_t>;

/// The input of `compute`: the nodes to compute, their types, and the values that are available already.
struct Job {
  struct Root {
    ir::NodeId node;
    ir::DType dtype;
  };
  std::vector<Root> roots;                                   ///< the nodes to compute, and the type of each value
  const std::map<ReducedValue, ValueId>* reduced = nullptr;  ///< the results of the reductions of earlier phases
  uint32_t phase = 0;  ///< values of elements that one phase computed are not available in another
  std::map<ir::NodeId, ValueId> known = {};  ///< values that are available in this phase, because an earlier one cached
                                             ///< them
};
/// The nodes of the job's roots.
std::vector<ir::NodeId> roots_of(const Job& job);

/// Hoisted predicates of some masked access groups. The roots of the job are the conditions, one per group. For each
/// group, `groups` has its leader and whether the group is loaded if the condition holds (true) or if it does not.
struct HoistedPredicates {
  Job job;
  std::vector<std::pair<uint32_t, bool>> groups;
};
HoistedPredicates hoisted_predicates_of(const KernelContext& context, const Job& job);
/// The job of all output blocks of a kernel without reductions.
Job job_of_output_blocks(const ir::Graph& graph, const KernelOutline& outline);

/// Emits the target's operations for the job's nodes. Expands operations without a direct spelling: 16-bit floats are
/// computed in float32, and some scalars follow special rules of eager. Returns a value per root.
std::vector<ValueId> compute(const KernelContext& context, Assembly& assembly, Memory& memory, AccessEmitter& emitter,
                             const Job& job);

}  // namespace ingot::codegen
