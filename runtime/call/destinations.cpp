#include "runtime/call/destinations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/call/aliasing.h"
#include "runtime/call/dtypes.h"

namespace ingot::runtime {

namespace {

using ArgumentKind = frontend::ArgumentSpec::Kind;
using UseKind = codegen::AccessUse::Kind;

std::string shape_text(std::span<const int64_t> sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

[[noreturn]] void throw_call_error(const Program& program, std::string message, std::string hint) {
  throw_author(Span{}, fmt::format("{}: {}", program.name, message), std::move(hint));
}

std::string name_of(const Destination& destination, const CallKey& key) {
  return destination.kind == Destination::Kind::Out ? out_name(key.outs, destination.index)
                                                    : parameter_name(key, destination.index);
}

bool is_read(const codegen::AccessUse& use, size_t param) {
  return (use.kind == UseKind::Load || use.kind == UseKind::Gather) && !use.in_workspace && use.tensor == param;
}

bool is_read(const codegen::Outline& outline, size_t param) {
  return std::ranges::any_of(outline.kernels, [&](const codegen::KernelOutline& kernel) {
    return std::ranges::any_of(kernel.accesses, [&](const auto& use) { return is_read(use, param); });
  });
}

/// Checks dtype and shape. The `out=` tensor is never resized or cast, unlike with PyTorch's own functions. Lowering
/// ensures that a mutated parameter has the result's dtype and shape.
void check_fit(const Program& program, const CallKey& key, const Destination& destination,
               const Program::Result& result, const ir::SizesAndStrides& extents) {
  const at::Tensor& tensor = *destination.tensor(key);
  const std::string name = name_of(destination, key);
  if (destination.kind == Destination::Kind::Parameter && !std::ranges::equal(tensor.sizes(), extents.sizes))
    throw_internal(
        fmt::format("{}: the shape of the mutated parameter {} differs from the result's", program.name, name));
  if (tensor.scalar_type() != scalar_type(result.dtype))
    throw_call_error(program,
                     fmt::format("the result is {}, but {} is {}", ir::name_of(result.dtype), name,
                                 ir::name_of(*dtype_of(tensor.scalar_type()))),
                     "pass an out with exactly the result's dtype");
  if (!std::ranges::equal(tensor.sizes(), extents.sizes))
    throw_call_error(program,
                     fmt::format("the result has shape {}, but {} has {}", shape_text(extents.sizes), name,
                                 shape_text(tensor.sizes())),
                     "pass an out with exactly the result's shape; it is never resized");
}

/// Rejects every tensor with internal overlap. Eager PyTorch rejects only expanded tensors. For other overlaps, its
/// result depends on the order of its loops.
void check_internal_overlap(const Program& program, const CallKey& key, const Destination& destination) {
  if (!overlaps_itself(*destination.tensor(key))) return;
  throw_call_error(
      program,
      fmt::format("unsupported operation: {} is written, and more than one of its elements refers to a single memory "
                  "location, as those of expanded tensors do",
                  name_of(destination, key)),
      "pass a tensor without overlap, for example a .clone()");
}

/// Rejects overlap with arguments. An `out=` tensor may be exactly an input. If a mutated parameter overlaps another
/// argument, its value depends on the order of the op's steps.
void check_overlap_with_arguments(const Program& program, const CallKey& key, const Destination& destination) {
  const bool is_out = destination.kind == Destination::Kind::Out;
  for (size_t p = 0; p < key.arguments.size(); ++p) {
    if (key.arguments[p].kind != ArgumentKind::Tensor || (!is_out && p == destination.index)) continue;
    const Overlap overlap = overlap_of(*destination.tensor(key), *key.arguments[p].tensor);
    if (overlap == Overlap::None) continue;
    if (is_out && overlap == Overlap::Partial)
      throw_call_error(program,
                       fmt::format("{} overlaps {} in part", name_of(destination, key), parameter_name(key, p)),
                       "pass a separate tensor as out, or exactly an input that is read element by element");
    if (!is_out && is_read(program.outlines.whole, p))
      throw_call_error(program,
                       fmt::format("{} is written in place, and {} is in the same memory", name_of(destination, key),
                                   parameter_name(key, p)),
                       fmt::format("the value of {0} would depend on the order of the op's steps: pass {0}.clone()",
                                   key.definition->parameters()[p].name));
  }
}

void check_overlap_between(const Program& program, const CallKey& key, std::span<const Destination> destinations) {
  for (size_t i = 0; i < destinations.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const at::Tensor *a = destinations[j].tensor(key), *b = destinations[i].tensor(key);
      if (a == nullptr || b == nullptr || overlap_of(*a, *b) == Overlap::None) continue;
      throw_call_error(program,
                       fmt::format("{} and {} overlap", name_of(destinations[j], key), name_of(destinations[i], key)),
                       "each result needs its own memory");
    }
  }
}

/// Whether a thread reads each element of the domain only before store `access` writes it. This holds in a kernel
/// without reductions. In a kernel that reduces, that holds only for the element stores of its last phase.
bool stores_last(const codegen::KernelOutline& kernel, size_t access) {
  if (!kernel.reduces()) return true;
  const codegen::KernelOutline::OutputBlockRef& block = kernel.output_blocks[access - kernel.first_store()];
  return !block.is_per_row && block.phase + 1 == kernel.phases();
}

/// Whether every kernel that reads `param` reads only elements that the same thread stores into `result`. Output blocks
/// do not overlap, so no other kernel, and no other thread, writes these elements.
bool reads_in_place(const codegen::Outline& outline, std::span<const codegen::KernelGeometry> geometries, size_t param,
                    size_t result) {
  for (size_t k = 0; k < geometries.size(); ++k) {
    const auto& uses = outline.kernels[k].accesses;
    const auto& accesses = geometries[k].accesses;
    const auto is_stored = [&](const codegen::AccessGeometry& load) {
      for (size_t a = 0; a < uses.size(); ++a)
        if (uses[a].kind == UseKind::Store && !uses[a].in_workspace && uses[a].tensor == result &&
            accesses[a].offset == load.offset && accesses[a].strides == load.strides)
          return stores_last(outline.kernels[k], a);
      return false;
    };
    for (size_t a = 0; a < uses.size(); ++a)
      if (is_read(uses[a], param) && (uses[a].kind == UseKind::Gather || !is_stored(accesses[a]))) return false;
  }
  return true;
}

/// Whether a failing call may already have written a part of its results.
bool may_fail_midway(const codegen::Outline& outline) {
  return std::ranges::any_of(outline.kernels, [](const codegen::KernelOutline& kernel) {
    return std::ranges::count(kernel.accesses, UseKind::Gather, &codegen::AccessUse::kind) > 0 ||
           !kernel.divisions.empty();
  });
}

}  // namespace

const at::Tensor* Destination::tensor(const CallKey& key) const {
  if (kind == Kind::New) return nullptr;
  return kind == Kind::Out ? &key.outs[index] : key.arguments[index].tensor;
}

std::vector<Destination> destinations_of(const Program& program, const CallKey& key) {
  std::vector<Destination> destinations;
  uint32_t returned = 0;
  for (const Program::Result& result : program.results) {
    if (result.mutates)
      destinations.push_back({Destination::Kind::Parameter, *result.mutates});
    else if (result.use != ir::Use::Returned)
      destinations.push_back({Destination::Kind::New});  // a residual, or a summand of another result
    else
      destinations.push_back({key.outs.empty() ? Destination::Kind::New : Destination::Kind::Out, returned++});
  }
  if (!key.outs.empty() && key.outs.size() != returned)
    throw_call_error(
        program,
        fmt::format("the op returns {} tensor{}, and out has {}", returned, returned == 1 ? "" : "s", key.outs.size()),
        "pass one tensor for each result");
  return destinations;
}

void check_destinations(const Program& program, const CallKey& key, std::span<const Destination> destinations,
                        std::span<const ir::SizesAndStrides> results) {
  for (size_t r = 0; r < destinations.size(); ++r) {
    const Destination& destination = destinations[r];
    if (destination.kind == Destination::Kind::New) continue;
    check_fit(program, key, destination, program.results[r], results[r]);
    check_internal_overlap(program, key, destination);
    check_overlap_with_arguments(program, key, destination);
  }
  check_overlap_between(program, key, destinations);
}

bool can_write_in_place(const codegen::Outline& outline, const CallKey& key,
                        std::span<const codegen::KernelGeometry> geometries,
                        std::span<const Destination> destinations) {
  for (size_t r = 0; r < destinations.size(); ++r) {
    const at::Tensor* tensor = destinations[r].tensor(key);
    for (size_t p = 0; tensor != nullptr && p < key.arguments.size(); ++p)
      if (key.arguments[p].kind == ArgumentKind::Tensor && is_read(outline, p) &&
          overlap_of(*tensor, *key.arguments[p].tensor) != Overlap::None && !reads_in_place(outline, geometries, p, r))
        return false;
  }
  return true;
}

bool choose_in_place(const Program& program, const codegen::Outline& outline, const CallKey& key,
                     std::span<const codegen::KernelGeometry> geometries, bool checks_indices,
                     std::span<Destination> destinations) {
  bool any_shared = false;
  for (size_t r = 0; r < destinations.size(); ++r) {
    Destination& destination = destinations[r];
    const at::Tensor* tensor = destination.tensor(key);
    if (tensor == nullptr) continue;
    if (program.results[r].forwards || !program.results[r].scatters.empty()) {
      destination.needs_copy = true;
      continue;
    }
    bool is_shared = false;
    for (size_t p = 0; p < key.arguments.size(); ++p) {
      if (key.arguments[p].kind != ArgumentKind::Tensor || !is_read(outline, p)) continue;
      if (overlap_of(*tensor, *key.arguments[p].tensor) == Overlap::None) continue;
      is_shared = true;
      if (reads_in_place(outline, geometries, p, r)) continue;
      if (destination.kind == Destination::Kind::Out)
        throw_call_error(
            program,
            fmt::format("out is also argument {}, and an element of the result depends on other elements of it", p + 1),
            "pass a separate tensor as out");
      destination.needs_copy = true;
    }
    // Eager's indexing and division fail before anything is written, so this call must, too.
    if (destination.kind == Destination::Kind::Parameter && checks_indices && may_fail_midway(outline))
      destination.needs_copy = true;
    any_shared |= is_shared && !destination.needs_copy;
  }
  return any_shared;
}

}  // namespace ingot::runtime
