#pragma once

#include <span>
#include <vector>

#include "codegen/shape/layout.h"
#include "ir/eager_layout.h"
#include "runtime/call/call_key.h"
#include "runtime/records/program.h"

// Where results are stored: in new memory, in the tensors of `out=`, or in a parameter that the op mutates. Eager
// PyTorch computes an op in full before its last step writes, and rejects overlapping elements. A kernel that writes
// while it reads must give the same results.

namespace ingot::runtime {

struct Destination {
  enum class Kind : uint8_t { New, Out, Parameter } kind = Kind::New;
  uint32_t index = 0;  ///< index of the `out=` tensor, or of the parameter
  /// Kernels write new memory first, which is copied when all kernels are done.
  bool needs_copy = false;

  /// The caller's tensor; null if the result is new.
  const at::Tensor* tensor(const CallKey& key) const;
};

/// One destination for each result. Errors: Error(Author) if `out=` gives another number of tensors than the op
/// returns.
std::vector<Destination> destinations_of(const Program& program, const CallKey& key);

/// Rejects tensors into which their results cannot be written: another dtype or shape, elements that share memory,
/// memory of another argument. `results`: the results' sizes.
void check_destinations(const Program& program, const CallKey& key, std::span<const Destination> destinations,
                        std::span<const ir::SizesAndStrides> results);

/// Whether each kernel of an outline that reads the memory of a result reads only elements that the same thread writes
/// later, so that the results can be written in place.
bool can_write_in_place(const codegen::Outline& outline, const CallKey& key,
                        std::span<const codegen::KernelGeometry> geometries, std::span<const Destination> destinations);

/// Decides which results are written in place. `geometries` are computed as if all of them were. `checks_indices`:
/// kernels report indices out of range. Sets `needs_copy` if a write in place would change values, or might leave
/// partial results after an error. Returns whether any kernel reads memory that a kernel writes. Errors: Error(Author)
/// if an `out=` tensor is also an input, and an element of the result depends on other elements of this input.
bool choose_in_place(const Program& program, const codegen::Outline& outline, const CallKey& key,
                     std::span<const codegen::KernelGeometry> geometries, bool checks_indices,
                     std::span<Destination> destinations);

}  // namespace ingot::runtime
