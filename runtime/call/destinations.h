#pragma once

#include <span>
#include <vector>

#include "codegen/shape/layout.h"
#include "ir/eager_layout.h"
#include "runtime/call/call_key.h"
#include "runtime/records/program.h"

// Where results are stored: in new memory, in the tensors of `out=`, or in a parameter that the op mutates. Eager
// PyTorch computes an op in full before its last step writes, and refuses overlapping elements. A kernel that writes
// while it reads must give the same results.

namespace ingot::runtime {

struct Destination {
  enum class Kind : uint8_t { New, Out, Parameter } kind = Kind::New;
  uint32_t index = 0;  ///< index of the out, or of the parameter
  /// Kernels write new memory first; it is copied when all kernels are done.
  bool by_copy = false;

  /// The caller's tensor; null where the result is new.
  const at::Tensor* tensor(const CallKey& key) const;
};

/// One destination for each result. Errors: Error(Author) where `out=` gives another number of tensors than the op
/// returns.
std::vector<Destination> destinations_of(const Program& program, const CallKey& key);

/// Refuses tensors that cannot take their results: another dtype or shape, elements that share memory, memory of
/// another argument. `results`: the results' sizes.
void check_destinations(const Program& program, const CallKey& key, std::span<const Destination> destinations,
                        std::span<const ir::Extents> results);

/// Decides which results are written in place. `geometries` assume that all are. Sets `by_copy` where a write in place
/// would change values, or might leave partial results after an error. Returns whether any kernel reads memory that a
/// kernel writes.
/// Errors: Error(Author) for an out that is also an input which is read beyond the written element.
bool resolve_in_place(const Program& program, const codegen::Outline& outline, const CallKey& key,
                      std::span<const codegen::KernelGeometry> geometries, bool checks_indices,
                      std::span<Destination> destinations);

}  // namespace ingot::runtime
