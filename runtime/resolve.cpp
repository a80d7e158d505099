#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/aliasing.h"
#include "runtime/bound_call.h"
#include "runtime/dtypes.h"
#include "runtime/host_run.h"

namespace ingot::runtime {

namespace {

using ArgumentKind = frontend::ArgumentFact::Kind;

ir::Extents extents_of(const at::Tensor& tensor) { return {tensor.sizes().vec(), tensor.strides().vec()}; }

/// Whether no result has an element, so that nothing will be gathered.
bool computes_nothing(const Program& program, std::span<const ir::HostValue> slots) {
  return std::ranges::all_of(program.results, [&](const Program::Result& result) {
    return std::ranges::any_of(result.shape, [&](ir::HostId size) { return slots[size.index].as_int() == 0; });
  });
}

/// Computes the host program and checks what it may be used for. Where arithmetic fails, a condition that came before
/// it is the better message.
std::vector<ir::HostValue> checked_host(const Program& program, const Facts& facts) {
  std::vector<ir::HostValue> slots(program.host.count());
  std::string failure;
  const size_t done = run_host(program.host, facts, slots, failure);
  for (const Program::Check& check : program.checks) {
    const ir::HostId a = check.condition.a, b = check.condition.b;
    if (std::max(a.index, b.index) >= done || holds(check.condition, slots[a.index], slots[b.index])) continue;
    const bool gathers = check.condition.kind == ir::Condition::Kind::NonEmpty;
    if (!gathers || (failure.empty() && !computes_nothing(program, slots)))
      throw_check(program, check, slots[a.index], slots[b.index]);
  }
  if (!failure.empty()) throw_arithmetic(program, failure);
  return slots;
}

std::string shape_text(std::span<const int64_t> sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

/// The tensors of `out=` must be what the results would have been, but for their strides.
void check_outs(const Program& program, const Facts& facts, std::span<const ir::Extents> results) {
  if (facts.outs.size() != results.size())
    throw_author(Span{}, fmt::format("{}: the op returns {} tensor{}, and out gives {}", program.name, results.size(),
                                     results.size() == 1 ? "" : "s", facts.outs.size()));
  for (size_t i = 0; i < results.size(); ++i) {
    const at::Tensor& out = facts.outs[i];
    const std::string which = results.size() == 1 ? "out" : fmt::format("out[{}]", i);
    const ir::DType dtype = program.results[i].dtype;
    if (out.scalar_type() != scalar_type(dtype))
      throw_author(Span{},
                   fmt::format("{}: the result is {}, but {} is {}", program.name, ir::name_of(dtype), which,
                               ir::name_of(*dtype_of(out.scalar_type()))),
                   "give an out of exactly the result's dtype");
    if (!std::ranges::equal(out.sizes(), results[i].sizes))
      throw_author(Span{},
                   fmt::format("{}: the result has shape {}, but {} has {}", program.name, shape_text(results[i].sizes),
                               which, shape_text(out.sizes())),
                   "give an out of exactly the result's shape; it is never resized");
    if (overlaps_itself(out))
      throw_author(
          Span{},
          fmt::format("{}: {} is an expanded tensor: several of its elements are one in memory", program.name, which),
          "pass a tensor of its own, such as .clone() gives");
  }
}

/// Whether every kernel that reads `param` reads, for each element that it stores into `result`, that very element.
bool reads_in_place(const Program& program, std::span<const codegen::KernelGeometry> geometries, size_t param,
                    size_t result) {
  using Kind = codegen::AccessUse::Kind;
  size_t readers = 0, writers = 0;
  for (size_t k = 0; k < geometries.size(); ++k) {
    const auto& uses = program.outline.kernels[k].accesses;
    const codegen::AccessGeometry* store = nullptr;
    size_t stores = 0;
    bool reads = false;
    for (size_t a = 0; a < uses.size(); ++a)
      if (uses[a].kind == Kind::Store && uses[a].tensor == result) store = &geometries[k].accesses[a], ++stores;
    for (size_t a = 0; a < uses.size(); ++a) {
      if ((uses[a].kind != Kind::Load && uses[a].kind != Kind::Gather) || uses[a].tensor != param) continue;
      reads = true;
      const codegen::AccessGeometry& load = geometries[k].accesses[a];
      if (uses[a].kind == Kind::Gather || stores != 1) return false;
      if (load.offset != store->offset || load.strides != store->strides) return false;
    }
    readers += reads;
    writers += stores;
  }
  return readers == 0 || (readers == 1 && writers == 1);
}

void check_in_place(const Program& program, const Facts& facts, std::span<const codegen::KernelGeometry> geometries,
                    bool& aliases) {
  for (size_t r = 0; r < facts.outs.size(); ++r) {
    for (size_t p = 0; p < facts.actuals.size(); ++p) {
      if (facts.actuals[p].kind != ArgumentKind::Tensor) continue;
      if (overlap_of(facts.outs[r], *facts.actuals[p].tensor) == Overlap::None) continue;
      aliases = true;
      if (reads_in_place(program, geometries, p, r)) continue;
      throw_author(Span{},
                   fmt::format("{}: out is also argument {}, which is read beyond the element that is written",
                               program.name, p + 1),
                   "pass a tensor of its own as out");
    }
  }
}

uintptr_t address_of(const at::Tensor& tensor) {
  return tensor.device().is_meta() ? 0 : reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
}

/// New results begin where PyTorch's allocators begin, at a multiple of 64 bytes or more.
std::vector<uintptr_t> addresses_of(const codegen::KernelOutline& kernel, const Facts& facts) {
  std::vector<uintptr_t> addresses;
  for (const codegen::AccessUse& use : kernel.accesses) {
    uintptr_t address = 0;
    if (use.kind == codegen::AccessUse::Kind::Store) {
      if (!facts.outs.empty()) address = address_of(facts.outs[use.tensor]);
    } else if (use.has_tensor()) {
      address = address_of(*facts.actuals[use.tensor].tensor);
    }
    addresses.push_back(address);
  }
  return addresses;
}

}  // namespace

Resolved resolve(const Program& program, const Facts& facts) {
  Resolved resolved;
  resolved.host = checked_host(program, facts);
  bool all_contiguous = true;
  for (const Actual& actual : facts.actuals) {
    ir::Extents& extents = resolved.params.emplace_back();
    if (actual.kind != ArgumentKind::Tensor) continue;
    extents = extents_of(*actual.tensor);
    all_contiguous &= actual.tensor->is_contiguous();
  }

  std::vector<uint32_t> layouts;
  for (const Program::Result& result : program.results) {
    ir::Extents& extents = resolved.results.emplace_back();
    for (const ir::HostId size : result.shape) extents.sizes.push_back(resolved.host[size.index].as_int());
    layouts.push_back(result.layout);
  }
  if (!facts.outs.empty()) {
    check_outs(program, facts, resolved.results);
    for (size_t r = 0; r < facts.outs.size(); ++r) resolved.results[r] = extents_of(facts.outs[r]);
  } else if (all_contiguous && !program.permutes) {
    for (ir::Extents& extents : resolved.results) extents.strides = ir::contiguous_strides(extents.sizes);
  } else {
    std::vector<ir::Sizes> strides = ir::eager_result_strides(program.steps, layouts, resolved.host, resolved.params);
    for (size_t r = 0; r < strides.size(); ++r) resolved.results[r].strides = std::move(strides[r]);
  }

  for (const codegen::KernelOutline& kernel : program.outline.kernels)
    resolved.geometries.push_back(codegen::geometry(kernel, resolved.host, resolved.params, resolved.results));
  bool aliases = false;
  check_in_place(program, facts, resolved.geometries, aliases);
  for (size_t k = 0; k < resolved.geometries.size(); ++k) {
    const codegen::KernelOutline& kernel = program.outline.kernels[k];
    resolved.layouts.push_back(codegen::classify(kernel, resolved.geometries[k], addresses_of(kernel, facts), aliases));
  }
  return resolved;
}

}  // namespace ingot::runtime
