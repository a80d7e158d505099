#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "codegen/shape/layout.h"

// Strides over the kernel's domain are all that is left of an access here, so two dims may be merged, or swapped, by
// looking at numbers alone.

namespace ingot::codegen {
namespace {

class Reader {
 public:
  Reader(std::span<const ir::HostValue> host, std::span<const int64_t> extents) : host_(host), extents_(extents) {}

  int64_t value(ir::HostId id) const { return host_[id.index].as_int(); }

  /// The access over all dims of the domain; `strides` are those of its tensor.
  AccessGeometry read(const ir::Access& access, std::span<const int64_t> strides) const {
    AccessGeometry result;
    for (size_t d = 0; d < access.offsets.size(); ++d) result.offset += value(access.offsets[d]) * strides[d];
    result.strides.assign(extents_.size(), 0);
    const size_t shift = extents_.size() - access.dims.size();
    for (size_t j = 0; j < access.dims.size(); ++j)
      if (value(access.dims[j].size) != 1) result.strides[shift + j] = stride(access.dims[j].terms, strides);
    for (const ir::Lead& lead : access.leads) {
      result.lead_strides.push_back(stride(lead.terms, strides));
      result.lead_extents.push_back(value(lead.extent));
    }
    return result;
  }

 private:
  int64_t stride(const std::vector<ir::Term>& terms, std::span<const int64_t> strides) const {
    int64_t sum = 0;
    for (const ir::Term& term : terms) sum += value(term.coef) * strides[term.dim];
    return sum;
  }

  std::span<const ir::HostValue> host_;
  std::span<const int64_t> extents_;
};

void keep_axes(KernelGeometry& geometry, const std::vector<size_t>& axes) {
  const auto keep = [&](std::vector<int64_t>& values) {
    std::vector<int64_t> kept;
    for (const size_t axis : axes) kept.push_back(values[axis]);
    values = std::move(kept);
  };
  keep(geometry.extents);
  for (AccessGeometry& access : geometry.accesses) keep(access.strides);
}

/// Dims of size 1 go; the others are ordered by the distance between neighbours in the first store's memory.
void drop_and_order(KernelGeometry& geometry, const AccessGeometry& store) {
  std::vector<size_t> axes;
  for (size_t d = 0; d < geometry.extents.size(); ++d)
    if (geometry.extents[d] != 1) axes.push_back(d);
  std::ranges::stable_sort(axes, std::greater{}, [&](size_t d) { return std::abs(store.strides[d]); });
  keep_axes(geometry, axes);
}

void merge(KernelGeometry& geometry) {
  std::vector<size_t> kept;
  for (size_t d = geometry.extents.size(); d-- > 0;) {
    const size_t inner = kept.empty() ? d : kept.back();
    const bool together = !kept.empty() && std::ranges::all_of(geometry.accesses, [&](const AccessGeometry& access) {
      return access.strides[d] == access.strides[inner] * geometry.extents[inner];
    });
    if (together)
      geometry.extents[inner] *= geometry.extents[d];
    else
      kept.push_back(d);
  }
  std::ranges::reverse(kept);
  keep_axes(geometry, kept);
}

}  // namespace

KernelGeometry geometry(const KernelOutline& kernel, std::span<const ir::HostValue> host,
                        std::span<const ir::Extents> params, std::span<const ir::Extents> results) {
  KernelGeometry result;
  for (const ir::HostId size : kernel.domain) result.extents.push_back(host[size.index].as_int());
  result.numel = std::accumulate(result.extents.begin(), result.extents.end(), int64_t{1}, std::multiplies<>{});
  const Reader reader(host, result.extents);
  for (const AccessUse& use : kernel.accesses) {
    if (use.kind == AccessUse::Kind::Index) {
      AccessGeometry& coordinate = result.accesses.emplace_back();
      coordinate.strides.assign(result.extents.size(), 0);
      if (use.tensor < result.extents.size()) coordinate.strides.end()[-1 - int64_t{use.tensor}] = 1;
    } else {
      const auto& tensors = use.kind == AccessUse::Kind::Store ? results : params;
      result.accesses.push_back(reader.read(use.access, tensors[use.tensor].strides));
    }
  }
  const auto store = std::ranges::find(kernel.accesses, AccessUse::Kind::Store, &AccessUse::kind);
  drop_and_order(result, result.accesses[static_cast<size_t>(store - kernel.accesses.begin())]);
  merge(result);
  return result;
}

}  // namespace ingot::codegen
