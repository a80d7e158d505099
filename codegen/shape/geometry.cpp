#include "codegen/shape/geometry.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

// Computes geometries. An access is described by its strides over the kernel's domain, so dims can be merged or
// reordered by comparing strides alone.

namespace ingot::codegen {
namespace {

/// The strides of the implicit iota that an Index node reads.
constexpr int64_t kPositions[] = {1};

/// Evaluates accesses with the sizes of a call.
class AccessReader {
 public:
  AccessReader(std::span<const ir::HostValue> host, std::span<const int64_t> extents)
      : host_(host), extents_(extents) {}

  int64_t value(ir::HostId id) const { return host_[id.index].as_int(); }

  /// The access over all dims of the domain; `strides` are the strides of its tensor.
  AccessGeometry read(const ir::Access& access, std::span<const int64_t> strides) const {
    AccessGeometry result;
    for (size_t d = 0; d < access.offsets.size(); ++d) result.offset += value(access.offsets[d]) * strides[d];
    result.strides.assign(extents_.size(), 0);
    const size_t shift = extents_.size() - access.dims.size();
    for (size_t j = 0; j < access.dims.size(); ++j)
      if (value(access.dims[j].size) != 1) result.strides[shift + j] = stride(access.dims[j].terms, strides);
    for (const ir::IndirectIndex& index : access.indirect) {
      result.gather_strides.push_back(stride(index.terms, strides));
      result.gather_extents.push_back(value(index.extent));
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

/// Keeps only the given axes, in the given order.
void select_axes(KernelGeometry& geometry, const std::vector<size_t>& axes) {
  const auto select = [&]<typename T>(std::vector<T>& values) {
    std::vector<T> selected;
    for (const size_t axis : axes) selected.push_back(values[axis]);
    values = std::move(selected);
  };
  select(geometry.extents);
  select(geometry.dims);
  for (AccessGeometry& access : geometry.accesses) select(access.strides);
}

int64_t product(std::span<const int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>{});
}

/// Drops dims of size 1. Orders the other dims by decreasing stride of the access `order`; reduced dims come last, in
/// the domain's order. All dims keep the domain's order if `order` is null.
void drop_and_order(KernelGeometry& geometry, const ir::DimMarks& reduced, const AccessGeometry* order) {
  std::vector<size_t> axes, reduced_axes;
  for (size_t d = 0; d < geometry.extents.size(); ++d)
    if (geometry.extents[d] != 1) (!reduced.empty() && reduced[d] ? reduced_axes : axes).push_back(d);
  if (order != nullptr)
    std::ranges::stable_sort(axes, std::greater{}, [&](size_t d) { return std::abs(order->strides[d]); });
  geometry.reduced_axes = static_cast<uint32_t>(reduced_axes.size());
  axes.insert(axes.end(), reduced_axes.begin(), reduced_axes.end());
  select_axes(geometry, axes);
}

/// Merges adjacent axes if every access traverses them like a single axis. Reduced axes merge with reduced axes only.
void merge(KernelGeometry& geometry) {
  const size_t first_reduced = geometry.extents.size() - geometry.reduced_axes;
  std::vector<size_t> merged;
  uint32_t reduced = 0;
  for (size_t d = geometry.extents.size(); d-- > 0;) {
    const size_t inner = merged.empty() ? d : merged.back();
    const bool are_both_reduced_or_kept = (d < first_reduced) == (inner < first_reduced);
    const bool can_merge = !merged.empty() && are_both_reduced_or_kept &&
                           std::ranges::all_of(geometry.accesses, [&](const AccessGeometry& access) {
                             return access.strides[d] == access.strides[inner] * geometry.extents[inner];
                           });
    if (can_merge) {
      geometry.extents[inner] *= geometry.extents[d];
      geometry.dims[inner].insert(geometry.dims[inner].begin(), geometry.dims[d].begin(), geometry.dims[d].end());
    } else {
      merged.push_back(d);
      reduced += d >= first_reduced;
    }
  }
  std::ranges::reverse(merged);
  select_axes(geometry, merged);
  geometry.reduced_axes = reduced;
}

/// The access whose strides order the axes of a kernel that reduces: the load that varies along most dims.
size_t largest_load(const KernelOutline& kernel, const KernelGeometry& geometry) {
  const auto varying_dims = [&](size_t a) {
    return std::ranges::count_if(geometry.accesses[a].strides, std::identity());
  };
  size_t largest = 0;
  for (size_t a = 0; a < kernel.accesses.size(); ++a)
    if (kernel.accesses[a].has_tensor() && varying_dims(a) > varying_dims(largest)) largest = a;
  return largest;
}

/// A store to a contiguous workspace with one element per row.
AccessGeometry store_of_rows(const std::vector<int64_t>& extents, const ir::DimMarks& reduced) {
  AccessGeometry result;
  result.strides.assign(extents.size(), 0);
  int64_t stride = 1;
  for (size_t d = extents.size(); d-- > 0;) {
    if (reduced[d]) continue;
    if (extents[d] != 1) result.strides[d] = stride;
    stride *= extents[d];
  }
  return result;
}

}  // namespace

int64_t KernelGeometry::rows() const { return product(std::span(extents).first(extents.size() - reduced_axes)); }

std::vector<ir::SizesAndStrides> workspace_extents(const Outline& outline, std::span<const ir::HostValue> host) {
  std::vector<ir::SizesAndStrides> result;
  for (const Workspace& workspace : outline.workspaces) {
    ir::SizesAndStrides& extents = result.emplace_back();
    for (size_t d = 0; d < workspace.domain.size(); ++d)
      extents.sizes.push_back(workspace.reduced[d] ? 1 : host[workspace.domain[d].index].as_int());
    extents.strides = ir::contiguous_strides(extents.sizes);
  }
  return result;
}

KernelGeometry geometry(const KernelOutline& kernel, std::span<const ir::HostValue> host, const Shapes& shapes) {
  KernelGeometry result;
  for (const ir::HostId size : kernel.domain) {
    result.dims.push_back({static_cast<uint32_t>(result.dims.size())});
    result.extents.push_back(host[size.index].as_int());
  }
  result.numel = product(result.extents);
  const AccessReader reader(host, result.extents);
  for (const AccessUse& use : kernel.accesses) {
    const bool is_store = use.kind == AccessUse::Kind::Store;
    if (use.kind == AccessUse::Kind::Index) {
      result.accesses.push_back(reader.read(use.access, kPositions));
    } else if (is_store && use.in_workspace) {
      result.accesses.push_back(store_of_rows(result.extents, kernel.reduced));
    } else {
      const auto& tensors = use.in_workspace ? shapes.workspaces : is_store ? shapes.results : shapes.params;
      result.accesses.push_back(reader.read(use.access, tensors[use.tensor].strides));
      result.accesses.back().is_empty = !is_store && std::ranges::count(tensors[use.tensor].sizes, 0) > 0;
    }
  }
  const auto store = std::ranges::find(kernel.accesses, AccessUse::Kind::Store, &AccessUse::kind);
  const size_t order_access =
      kernel.reduces() ? largest_load(kernel, result) : static_cast<size_t>(store - kernel.accesses.begin());
  const AccessGeometry order = result.accesses[order_access];
  drop_and_order(result, kernel.reduced, kernel.column_reductions.empty() ? &order : nullptr);
  merge(result);
  result.length = product(std::span(result.extents).last(result.reduced_axes));
  return result;
}

}  // namespace ingot::codegen
