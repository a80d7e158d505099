#pragma once

#include <map>
#include <utility>
#include <vector>

#include "codegen/kernel/assembly.h"
#include "codegen/kernel/memory.h"

namespace ingot::codegen {

/// How a target gets at memory and at what it checks.
class Access {
 public:
  virtual ~Access() = default;

  /// An element of a load, of the type in which it lies in memory; or of float16 its float32.
  virtual ValueId load(uint32_t access) = 0;
  /// The indices of a gather, made ones of its tensor. Where there is a `guard`, they are checked only if it holds.
  virtual std::vector<ValueId> wrap(uint32_t access, const std::vector<ValueId>& indices, ValueId guard) = 0;
  virtual ValueId gather(uint32_t access, const std::vector<ValueId>& wrapped) = 0;
  /// None where it is always 0.
  virtual std::optional<ValueId> position(uint32_t access) = 0;
  /// A quotient of float32, if the target has a way of its own for it.
  virtual std::optional<ValueId> quotient(ValueId, ValueId) { return std::nullopt; }
  /// A divisor that must not be zero; `division`: the kernel's number of it.
  virtual ValueId divisor(ValueId value, uint32_t division) = 0;
};

/// A value of a reduction, by its number.
using ReducedValue = std::pair<ir::NodeId, uint32_t>;

/// Nodes to be computed, of the type in which they are wanted, where the values of some reductions are known.
struct Job {
  struct Root {
    ir::NodeId node;
    ir::DType dtype;
  };
  std::vector<Root> roots;
  const std::map<ReducedValue, ValueId>* reduced = nullptr;
  uint32_t phase = 0;                        ///< what is computed of elements in one phase is not known in another
  std::map<ir::NodeId, ValueId> known = {};  ///< but these
};
std::vector<ir::NodeId> roots_of(const Job& job);

/// Of a job's masked groups that are foreseen, by their leaders: the conditions, in a job of their own, and whether
/// each must hold.
struct Foreseeing {
  Job job;
  std::vector<std::pair<uint32_t, bool>> groups;
};
Foreseeing foreseeing(const KernelContext& context, const Job& job);
/// All parts of a kernel that reduces nothing.
Job job_of_parts(const ir::Graph& graph, const KernelOutline& outline);

/// What the kernel computes, as the target's own operations: the graph's nodes with what their spelling needs made
/// plain (16-bit floats through float32, numbers that eager treats in a way of their own). Gives a value for each root.
std::vector<ValueId> compute(const KernelContext& context, Assembly& assembly, Memory& memory, Access& access,
                             const Job& job);

}  // namespace ingot::codegen
