#pragma once

#include <span>
#include <vector>

#include "codegen/shape/layout.h"
#include "ir/eager_layout.h"
#include "runtime/call/call_key.h"
#include "runtime/records/program.h"

// Where results go: into new memory, into what `out=` gives, or into a parameter that the op mutates. Eager PyTorch has
// computed an op in full before its last step writes, and refuses memory whose elements have no order; what a kernel
// writes while it reads must come to the same.

namespace ingot::runtime {

struct Destination {
  enum class Kind : uint8_t { New, Out, Parameter } kind = Kind::New;
  uint32_t index = 0;  ///< which out, which parameter
  /// New memory takes the values first; they are copied when all kernels are done.
  bool by_copy = false;

  /// The caller's tensor; null where the result is new.
  const at::Tensor* tensor(const CallKey& key) const;
};

/// One for each result. Errors: Error(Author) where `out=` gives another number of tensors than the op returns.
std::vector<Destination> destinations_of(const Program& program, const CallKey& key);

/// Refuses what cannot take its result: another dtype or shape, elements that share memory, memory of another argument.
/// `results`: the results' sizes.
void check_destinations(const Program& program, const CallKey& key, std::span<const Destination> destinations,
                        std::span<const ir::Extents> results);

/// With `geometries` made for writing straight into every destination: sets `by_copy` where that would come to other
/// values, or might leave half of them behind an error, and says whether any kernel reads memory that one writes.
/// Errors: Error(Author) for an out that is an input which is read beyond the element that is written.
bool settle_in_place(const Program& program, const codegen::Outline& outline, const CallKey& key,
                     std::span<const codegen::KernelGeometry> geometries, bool checks_indices,
                     std::span<Destination> destinations);

}  // namespace ingot::runtime
