#pragma once

#include <map>
#include <utility>
#include <vector>

#include "codegen/kernel/assembly.h"
#include "codegen/kernel/memory.h"

namespace ingot::codegen {

/// Emits a target's memory accesses and checks.
class Access {
 public:
  virtual ~Access() = default;

  /// Loads an element, in its type in memory; float16 may come as float32.
  virtual ValueId load(uint32_t access) = 0;
  /// Converts the indices of a gather to valid ones. If there is a `guard`, they are checked only where it holds.
  virtual std::vector<ValueId> wrap(uint32_t access, const std::vector<ValueId>& indices, ValueId guard) = 0;
  virtual ValueId gather(uint32_t access, const std::vector<ValueId>& wrapped) = 0;
  /// The position of an Index access; nothing if it is always 0.
  virtual std::optional<ValueId> position(uint32_t access) = 0;
  /// A float32 quotient, if the target computes it in a special way.
  virtual std::optional<ValueId> quotient(ValueId, ValueId) { return std::nullopt; }
  /// A divisor that must not be zero; `division` is its number among the kernel's divisions.
  virtual ValueId divisor(ValueId value, uint32_t division) = 0;
};

/// A reduction node and the number of one of its values.
using ReducedValue = std::pair<ir::NodeId, uint32_t>;

/// A lowering request: nodes to compute, in which types, and the reduction results that are known.
struct Job {
  struct Root {
    ir::NodeId node;
    ir::DType dtype;
  };
  std::vector<Root> roots;
  const std::map<ReducedValue, ValueId>* reduced = nullptr;
  uint32_t phase = 0;                        ///< values of elements computed in one phase are not available in another
  std::map<ir::NodeId, ValueId> known = {};  ///< except these
};
std::vector<ir::NodeId> roots_of(const Job& job);

/// Hoisted predicates of a request: a request for the conditions, and for each masked access group (given by its
/// leader) whether the condition must hold or must not.
struct Foreseeing {
  Job job;
  std::vector<std::pair<uint32_t, bool>> groups;
};
Foreseeing foreseeing(const KernelContext& context, const Job& job);
/// A request for all output blocks of a kernel without reductions.
Job job_of_parts(const ir::Graph& graph, const KernelOutline& outline);

/// Lowers what the kernel computes to the target's operations: expands whatever has no direct spelling (16-bit floats
/// through float32, scalars that eager treats specially). Returns a value per root.
std::vector<ValueId> compute(const KernelContext& context, Assembly& assembly, Memory& memory, Access& access,
                             const Job& job);

}  // namespace ingot::codegen
